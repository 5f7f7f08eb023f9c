import { type Command, InvalidArgumentError } from 'commander';
import type { DefaultReceiver } from '../app/alerts-port.ts';
import { InputError } from '../app/options.ts';

/** Flags of Flagger about who is told when a Canary names nobody (flagger-behaviour 5.1). */
export interface ReceiverFlags {
  readonly eventWebhook?: string;
  readonly slackUrl?: string;
  readonly slackProxyUrl?: string;
  readonly slackUser: string;
  readonly slackChannel: string;
  readonly msteamsUrl?: string;
  readonly msteamsProxyUrl?: string;
}

/** Environment variables that win over the flag of the same meaning, as in Flagger. */
export type ReceiverEnvironment = Readonly<Record<string, string | undefined>>;

/** Who is told when a Canary names nobody. */
export interface Receivers {
  readonly defaultReceiver: DefaultReceiver | undefined;
  readonly eventWebhook: string | undefined;
}

/** Adds the flags. Tokens are taken from the environment alone: the arguments of a process are for everybody on the machine to read. */
export function withReceiverFlags(command: Command): Command {
  return command
    .option('--event-webhook <url>', 'told the Events of Canaries without webhooks of type event', httpUrl)
    .option('--slack-url <url>', 'Slack webhook for Canaries without alerts of their own', httpUrl)
    .option('--slack-channel <name>', 'channel there', 'general')
    .option('--slack-user <name>', 'name shown as the author there', 'flagger')
    .option('--slack-proxy-url <url>', 'HTTP proxy on the way there', httpUrl)
    .option('--msteams-url <url>', 'the same in Microsoft Teams; it wins over Slack', httpUrl)
    .option('--msteams-proxy-url <url>', 'HTTP proxy on the way there', httpUrl);
}

/** What flags and environment say. Throws InputError for an address that is none, without showing it. */
export function receiversOf(flags: ReceiverFlags, env: ReceiverEnvironment): Receivers {
  return {
    defaultReceiver: teams(flags, env) ?? slack(flags, env),
    eventWebhook: address(env, 'EVENT_WEBHOOK_URL') ?? flags.eventWebhook,
  };
}

function teams(flags: ReceiverFlags, env: ReceiverEnvironment): DefaultReceiver | undefined {
  const url = address(env, 'MSTEAMS_URL') ?? flags.msteamsUrl;
  const proxy = address(env, 'MSTEAMS_PROXY_URL') ?? flags.msteamsProxyUrl;
  if (url === undefined) return undefined;
  return { spec: { type: 'msteams', address: url, ...(proxy ? { proxy } : {}) }, token: undefined };
}

function slack(flags: ReceiverFlags, env: ReceiverEnvironment): DefaultReceiver | undefined {
  const url = address(env, 'SLACK_URL') ?? flags.slackUrl;
  const proxy = address(env, 'SLACK_PROXY_URL') ?? flags.slackProxyUrl;
  if (url === undefined) return undefined;
  const { slackChannel: channel, slackUser: username } = flags;
  const spec = { type: 'slack' as const, address: url, channel, username, ...(proxy ? { proxy } : {}) };
  return { spec, token: env.SLACK_TOKEN || undefined };
}

function address(env: ReceiverEnvironment, name: string): string | undefined {
  const text = env[name];
  if (!text) return undefined;
  if (isHttpUrl(text)) return text;
  throw new InputError(`the environment variable ${name} is no http:// or https:// address`);
}

/** An address of HTTP. Throws InvalidArgumentError. */
export function httpUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new InvalidArgumentError('must be an http:// or https:// address.');
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
