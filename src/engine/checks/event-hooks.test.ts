import { expect, test } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import type { HookAnswer } from '../../api/observed.ts';
import type { HookCall } from '../../contracts/notifications.ts';
import { createVirtualClock, settle } from '../virtual-clock.test-support.ts';
import { createEventHooks } from './event-hooks.ts';

function bed(answer: (call: HookCall) => Promise<HookAnswer>, types = ['event'], eventWebhook?: string) {
  const heard: string[] = [];
  const warnings: string[] = [];
  const log = {
    debug() {},
    info() {},
    error() {},
    warn: (_: object, text: string) => void warnings.push(text),
  };
  const hooks = {
    call(call: HookCall) {
      heard.push(`${call.webhook.name} ${call.event?.message} ${call.facts.phase} ${call.facts.digest}`);
      return answer(call);
    },
  };
  const webhooks = types.map((type, index) => ({ name: `hook-${index}`, type, url: 'http://hooks.test/' }));
  const canary = { metadata: { name: 'web', namespace: 'shop' }, spec: { analysis: { webhooks } } };
  const options = { hooks, clock: createVirtualClock(), log, options: { eventWebhook } };
  const events = createEventHooks(options);
  const emit = (message: string) =>
    events.emit(
      canary as unknown as Canary,
      { phase: 'Progressing', run: { digest: 'd' } },
      { type: 'Normal', reason: 'NewRevision', message },
    );
  return { emit, events, heard, warnings };
}

const yes = async ({ webhook, type }: HookCall): Promise<HookAnswer> => ({
  name: webhook.name,
  type,
  verdict: 'approved',
  detail: 'answered 200',
});

test('every webhook of type event hears the news in order, others hear none', async () => {
  const { emit, heard, warnings } = bed(yes, ['event', 'rollout', 'event']);
  emit('one');
  emit('two');
  await settle();
  expect(heard).toEqual(
    ['hook-0 one', 'hook-2 one', 'hook-0 two', 'hook-2 two'].map((text) => `${text} Progressing d`),
  );
  expect(warnings).toEqual([]);
});

test('a receiver that fails is logged and holds nothing up', async () => {
  const { emit, heard, warnings } = bed(async () => {
    throw new Error('broken');
  });
  emit('one');
  emit('two');
  await settle();
  expect(heard).toHaveLength(2);
  expect(warnings).toHaveLength(2);
});

test('a receiver that never answers gets no endless queue', async () => {
  const { emit, heard, warnings } = bed(() => new Promise(() => undefined));
  for (let count = 0; count < 100; count += 1) emit(String(count));
  await settle();
  expect(heard).toHaveLength(1);
  expect(warnings).toHaveLength(50);
});

test('the webhook of the flags hears the news of Canaries without one of their own, and of no other', async () => {
  const global = 'http://events.test/';
  const without = bed(yes, ['rollout'], global);
  without.emit('one');
  const own = bed(yes, ['event'], global);
  own.emit('one');
  await settle();
  expect(without.heard).toEqual(['event-webhook one Progressing d']);
  expect(own.heard).toEqual(['hook-0 one Progressing d']);
});
