import { authorOf, isAlarm, noticeFacts } from './notice.ts';
import type { Notice, Receiver } from './provider.ts';

/** Colours of good news and alarms. */
export interface Colours {
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
