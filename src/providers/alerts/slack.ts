import { withoutMentions } from '../../api/incident.ts';
import {
  type AlertReceiver,
  authorOf,
  isAlarm,
  type Notice,
  noticeFacts,
  type Receiver,
} from './provider.ts';

/** Slack: an incoming webhook, or the API's chat.postMessage with a bot token. */
export const slack: AlertReceiver = {
  type: 'slack',
  build: (notice, receiver) => ({
    url: receiver.address,
    json: attachmentMessage(notice, receiver, { good: 'good', alarm: 'danger' }, safe),
    bearer: receiver.token,
  }),
  /** The API answers 200 with `ok: false` and an error code. */
  refusal(answer) {
    // The receiver chooses the answer, and the pattern takes the square of its length.
    const body = answer.slice(0, 4_000);
    if (!/"ok"\s*:\s*false/.test(body)) return undefined;
    const code = /"ok"\s*:\s*false[\s\S]*"error"\s*:\s*"([a-z_]{1,60})"/.exec(body)?.[1] ?? 'ok: false';
    return { code, isTransient: transientCodes.has(code) };
  },
};

/** Of Slack itself, not of what was sent. */
const transientCodes = new Set([
  ...['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout'],
  ...['ratelimited', 'rate_limited', 'team_added_to_org'],
]);

/** Slack's three control characters; without them nothing forms a link or a mention. */
function safe(text: string): string {
  return withoutMentions(text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'));
}

/** For receivers that read Markdown, or links in angle brackets: nothing forms a mention, or a link whose text hides where it leads. */
export function safeMarkdown(text: string): string {
  return withoutMentions(text).replace(/\](?=\()|</g, '$&\u2060');
}

/** Colours of an attachment. */
interface Colours {
  readonly good: string;
  readonly alarm: string;
}

/**
 * Slack's message with one attachment, which Rocket.Chat and Discord take too (flagger-behaviour 2.13). `safe` makes text harmless for the
 * receiver.
 */
export function attachmentMessage(
  notice: Notice,
  { channel, username }: Pick<Receiver, 'channel' | 'username'>,
  colours: Colours,
  safe: (text: string) => string,
): object {
  return {
    channel,
    username,
    icon_emoji: ':rocket:',
    attachments: [
      {
        color: isAlarm(notice) ? colours.alarm : colours.good,
        author_name: authorOf(notice),
        text: safe(notice.incident.message),
        mrkdwn_in: ['text'],
        fields: noticeFacts(notice).map(({ title, value }) => ({ title, value: safe(value), short: false })),
      },
    ],
  };
}
