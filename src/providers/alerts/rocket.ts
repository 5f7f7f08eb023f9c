import type { AlertReceiver } from './provider.ts';
import { attachmentMessage, safeMarkdown } from './slack.ts';

/** Rocket.Chat: an incoming webhook integration. */
export const rocket: AlertReceiver = {
  type: 'rocket',
  build: (notice, receiver) => ({
    url: receiver.address,
    json: attachmentMessage(notice, receiver, { good: '#0076D7', alarm: '#FF0000' }, safeMarkdown),
  }),
};
