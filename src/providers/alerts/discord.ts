import type { AlertReceiver } from './provider.ts';
import { attachmentMessage, safeMarkdown } from './slack.ts';

/** Discord: its webhooks take Slack's format under /slack. */
export const discord: AlertReceiver = {
  type: 'discord',
  build: (notice, receiver) => ({
    url: slackEndpoint(receiver.address),
    json: attachmentMessage(notice, receiver, { good: 'good', alarm: 'danger' }, safeMarkdown),
  }),
};

/** The address with /slack at the end of its path, appended once. */
function slackEndpoint(address: string): string {
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (!url.pathname.endsWith('/slack')) url.pathname = `${url.pathname.replace(/\/$/, '')}/slack`;
  return url.href;
}
