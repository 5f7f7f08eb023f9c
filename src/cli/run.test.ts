import { Command } from 'commander';
import { expect, test } from 'vitest';
import { InputError } from '../api/problems.ts';
import { type ReceiverEnvironment, receiversOf } from './run.ts';
import { type ReceiverFlags, withReceiverFlags } from './run-flags.ts';

function receivers(args: readonly string[], env: ReceiverEnvironment = {}) {
  const command = withReceiverFlags(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  command.parse([...args], { from: 'user' });
  return receiversOf(command.opts<ReceiverFlags>(), env);
}

test('there is no receiver without a flag or variable', () => {
  expect(receivers([])).toEqual({ defaultReceiver: undefined, eventWebhook: undefined });
});

test("Slack by flags, with Flagger's defaults", () => {
  expect(receivers(['--slack-url', 'https://hooks.slack.test/x']).defaultReceiver).toEqual({
    spec: { type: 'slack', address: 'https://hooks.slack.test/x', channel: 'general', username: 'flagger' },
    token: undefined,
  });
});

test('the environment wins over flags, Microsoft Teams over Slack', () => {
  const flags = ['--slack-url', 'https://flag.test/', '--event-webhook', 'https://flag.test/events'];
  const environment = {
    SLACK_URL: 'https://environment.test/',
    SLACK_TOKEN: 'xoxb-1',
    SLACK_PROXY_URL: 'http://proxy.test:3128',
    EVENT_WEBHOOK_URL: 'https://environment.test/events',
  };
  const { defaultReceiver, eventWebhook } = receivers(flags, environment);
  expect(defaultReceiver).toMatchObject({
    spec: { type: 'slack', address: environment.SLACK_URL, proxy: environment.SLACK_PROXY_URL },
    token: 'xoxb-1',
  });
  expect(eventWebhook).toBe(environment.EVENT_WEBHOOK_URL);
  const teams = receivers(['--msteams-url', 'https://teams.test/'], {
    ...environment,
    MSTEAMS_PROXY_URL: 'http://proxy.test:3129',
  });
  expect(teams.defaultReceiver).toEqual({
    spec: { type: 'msteams', address: 'https://teams.test/', proxy: 'http://proxy.test:3129' },
    token: undefined,
  });
});

test('an address that is none is refused, by its name and not by its value', () => {
  const wrong = () => receivers([], { SLACK_URL: 'ftp://secret-path' });
  expect(wrong).toThrow(InputError);
  expect(wrong).toThrow(/^(?!.*secret-path).*SLACK_URL/);
  expect(() => receivers(['--event-webhook', 'nowhere'])).toThrow('http:// or https://');
});
