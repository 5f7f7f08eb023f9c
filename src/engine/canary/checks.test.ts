import { expect, test } from 'vitest';
import type { Canary } from '../../api/canary.ts';
import type { HookAnswer } from '../../api/hooks.ts';
import type { MetricReading } from '../../api/observed.ts';
import type { CheckRequest } from '../../rollout/action.ts';
import type { HookCall } from '../ports/hooks-port.ts';
import { createVirtualClock, settle } from '../virtual-clock.test-support.ts';
import { createChecks } from './checks.ts';

const canary = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { analysis: { metrics: [{ name: 'errors' }] }, postPromotion: { metrics: [{ name: 'latency' }] } },
} as unknown as Canary;

const analysis: CheckRequest = {
  key: 'k1',
  role: 'canary',
  purpose: 'analysis',
  metrics: ['errors'],
  hooks: [],
  facts: { phase: 'Progressing', digest: 'd', commit: 'c', canaryWeight: 10 },
};

function bed(read: () => Promise<MetricReading>) {
  const clock = createVirtualClock();
  const done: string[] = [];
  let asked = 0;
  const metrics = {
    read() {
      asked += 1;
      return read();
    },
  };
  const hooks = { call: async () => expect.fail('no webhook is declared') };
  const checks = createChecks({ clock, metrics, hooks, onDone: (key) => done.push(key) });
  return { clock, done, checks, asked: () => asked };
}

test('asks a check once by its key and keeps the answer', async () => {
  const { checks, done, asked } = bed(async () => ({ kind: 'value', value: 3 }));
  checks.request(canary, analysis, { provider: 'kubernetes' });
  checks.request(canary, analysis, { provider: 'kubernetes' });
  await settle();
  expect(checks.outcomeOf('shop/web')).toMatchObject({
    key: 'k1',
    readings: [{ name: 'errors', reading: { value: 3 } }],
  });
  expect(done).toEqual(['shop/web']);
  expect(asked()).toBe(1);
});

test('a provider that never answers, or fails, is an error and not a value', async () => {
  const silent = bed(() => new Promise(() => undefined));
  silent.checks.request(canary, analysis, { provider: 'kubernetes' });
  await silent.clock.advance(31_000);
  expect(silent.checks.outcomeOf('shop/web')?.readings[0]?.reading.kind).toBe('error');
  const failing = bed(async () => {
    throw new Error('no');
  });
  failing.checks.request(canary, analysis, { provider: 'kubernetes' });
  await settle();
  expect(failing.checks.outcomeOf('shop/web')?.readings[0]?.reading).toEqual({ kind: 'error', detail: 'no' });
});

test('a newer check gives the older one up', async () => {
  let answer: (reading: MetricReading) => void = () => undefined;
  const { checks, done } = bed(() => new Promise((resolve) => (answer = resolve)));
  checks.request(canary, analysis, { provider: 'kubernetes' });
  const old = answer;
  checks.request(
    canary,
    { ...analysis, key: 'k2', purpose: 'postPromotion', metrics: ['latency'] },
    { provider: 'kubernetes' },
  );
  old({ kind: 'value', value: 1 });
  await settle();
  expect(done).toEqual([]);
  expect(checks.outcomeOf('shop/web')).toBeUndefined();
});

test('keeps the older answers until the newer ones are there', async () => {
  const answers: Array<(reading: MetricReading) => void> = [];
  const { checks } = bed(() => new Promise((resolve) => void answers.push(resolve)));
  checks.request(canary, analysis, { provider: 'kubernetes' });
  answers[0]?.({ kind: 'value', value: 1 });
  await settle();
  checks.request(canary, { ...analysis, key: 'k2' }, { provider: 'kubernetes' });
  expect(checks.outcomeOf('shop/web')?.key).toBe('k1');
  answers[1]?.({ kind: 'value', value: 2 });
  await settle();
  expect(checks.outcomeOf('shop/web')?.key).toBe('k2');
});

test('webhooks of one type are asked in order up to the first no, and never reject', async () => {
  const asked: string[] = [];
  const hooks = {
    async call({ webhook, type }: HookCall): Promise<HookAnswer> {
      asked.push(webhook.name);
      if (webhook.name === 'broken') throw new Error('broken');
      const verdict = webhook.url.includes('no') ? 'refused' : 'approved';
      return { name: webhook.name, type, verdict, detail: '' };
    },
  };
  const hook = (name: string, type: string, url = 'http://yes/') => ({ name, type, url });
  const webhooks = [
    hook('first', 'rollout'),
    hook('second', 'rollout', 'http://no/'),
    hook('third', 'rollout'),
    hook('broken', 'pre-rollout'),
    hook('stay', 'rollback', 'http://no/'),
    hook('back', 'rollback'),
    hook('unasked', 'rollback'),
  ];
  const checks = createChecks({
    clock: createVirtualClock(),
    metrics: { read: async () => ({ kind: 'value', value: 1 }) },
    hooks,
    onDone: () => undefined,
  });
  const withHooks = { ...canary, spec: { analysis: { webhooks } } } as unknown as Canary;
  checks.request(
    withHooks,
    { ...analysis, metrics: [], hooks: ['rollout', 'pre-rollout', 'rollback'] },
    { provider: 'kubernetes' },
  );
  await settle();
  expect(checks.outcomeOf('shop/web')?.hooks.map(({ name, verdict }) => `${name} ${verdict}`)).toEqual([
    'first approved',
    'second refused',
    'broken unreachable',
    'stay refused',
    'back approved',
  ]);
  expect(asked).not.toContain('third');
});

test('a metric that the Canary does not define is an error', async () => {
  const { checks } = bed(async () => ({ kind: 'value', value: 1 }));
  checks.request(canary, { ...analysis, metrics: ['nothing'] }, { provider: 'kubernetes' });
  await settle();
  expect(checks.outcomeOf('shop/web')?.readings[0]?.reading).toMatchObject({ kind: 'error' });
});
