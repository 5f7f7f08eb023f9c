/** The table of receivers: a further one is one more file and one more line here. */
import { alertmanager } from './alertmanager.ts';
import { discord } from './discord.ts';
import { gchat } from './gchat.ts';
import { msteams } from './msteams.ts';
import type { AlertReceiver } from './provider.ts';
import { rocket } from './rocket.ts';
import { slack } from './slack.ts';
import { webhook } from './webhook.ts';

/** Every kind of receiver, in the order of the AlertProvider's schema. */
export const alertReceivers: readonly AlertReceiver[] = [
  slack,
  msteams,
  discord,
  rocket,
  gchat,
  alertmanager,
  webhook,
];
