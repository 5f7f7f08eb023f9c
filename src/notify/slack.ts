import { withoutMentions } from '../api/incident-text.ts';
import { attachmentMessage } from './attachment.ts';
import type { AlertReceiver } from './provider.ts';

/** Slack: an incoming webhook, or the API's chat.postMessage with a bot token. */
export const slack: AlertReceiver = {
  type: 'slack',
  build: (notice, receiver) => ({
    url: receiver.address,
    json: attachmentMessage(notice, receiver, { good: 'good', alarm: 'danger' }, safe),
    bearer: receiver.token,
  }),
  /** The API answers 200 with `ok: false` and a code word. */
  refusal(body) {
    const code = /"ok"\s*:\s*false[\s\S]*"error"\s*:\s*"([a-z_]{1,60})"/.exec(body)?.[1];
    if (code) return code;
    return /"ok"\s*:\s*false/.test(body) ? 'ok: false' : undefined;
  },
};

/** Slack's three control characters; without them nothing forms a link or a mention. */
function safe(text: string): string {
  return withoutMentions(text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'));
}
