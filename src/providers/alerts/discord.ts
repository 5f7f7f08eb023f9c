import { type AlertReceiver, withPathEnd } from './provider.ts';
import { attachmentMessage, safeMarkdown } from './slack.ts';

/** Discord: its webhooks take Slack's format under /slack. */
export const discord: AlertReceiver = {
  type: 'discord',
  build: (notice, receiver) => ({
    url: withPathEnd(receiver.address, '/slack'),
    json: attachmentMessage(notice, receiver, { good: 'good', alarm: 'danger' }, safeMarkdown),
  }),
};
