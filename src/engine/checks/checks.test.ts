import { describe, expect, test } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import type { CheckRequest, HookAnswer, MetricReading } from '../../api/observed.ts';
import type { HookCall } from '../../contracts/notifications.ts';
import type { WorkloadView } from '../../health/workload-view.ts';
import { createVirtualClock, settle } from '../virtual-clock.test-support.ts';
import { checkSubject, createChecks } from './checks.ts';

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

test('two metrics of one name are asked with their own queries', async () => {
  const queries: string[] = [];
  const checks = createChecks({
    clock: createVirtualClock(),
    metrics: {
      async read({ metric }) {
        queries.push(metric.query ?? '');
        return { kind: 'value', value: metric.query === 'p50' ? 50 : 99 };
      },
    },
    hooks: { call: async () => expect.fail('no webhook is declared') },
    onDone: () => undefined,
  });
  const metrics = [
    { name: 'latency', query: 'p50' },
    { name: 'latency', query: 'p99' },
  ];
  const twice = { ...canary, spec: { analysis: { metrics } } } as unknown as Canary;
  const request = { ...analysis, metrics: ['latency', 'latency (2)'] };
  checks.request(twice, request, { provider: 'kubernetes' });
  await settle();
  expect(queries).toEqual(['p50', 'p99']);
  expect(checks.outcomeOf('shop/web')?.readings).toEqual([
    { name: 'latency', reading: { kind: 'value', value: 50 } },
    { name: 'latency (2)', reading: { kind: 'value', value: 99 } },
  ]);
});

describe('a metric with compareWith: primary', () => {
  const metric = { name: 'latency', compareWith: 'primary', maxRelativeIncrease: 10 };
  const compared = {
    ...canary,
    spec: { analysis: { metrics: [metric] }, postPromotion: { metrics: [metric] } },
  } as unknown as Canary;
  const subject = { provider: 'knative', workload: 'web-2', other: { workload: 'web-1' } };

  /** Answers by the workload that is asked about, and the questions. */
  async function ask(
    more: Partial<CheckRequest>,
    answers: Readonly<Record<string, MetricReading>>,
  ): Promise<{ reading: MetricReading | undefined; asked: unknown[] }> {
    const asked: unknown[] = [];
    const checks = createChecks({
      clock: createVirtualClock(),
      metrics: {
        async read({ role, workload = '' }) {
          asked.push([role, workload]);
          return answers[workload] ?? { kind: 'error', detail: 'nobody knows it' };
        },
      },
      hooks: { call: async () => expect.fail('no webhook is declared') },
      onDone: () => undefined,
    });
    checks.request(compared, { ...analysis, metrics: ['latency'], ...more }, subject);
    await settle();
    return { reading: checks.outcomeOf('shop/web')?.readings[0]?.reading, asked };
  }

  test('asks both sides at once during the analysis', async () => {
    const both = { 'web-2': { kind: 'value', value: 120 }, 'web-1': { kind: 'value', value: 100 } } as const;
    expect(await ask({}, both)).toEqual({
      reading: { kind: 'value', value: 120, baseline: 100 },
      asked: [
        ['canary', 'web-2'],
        ['primary', 'web-1'],
      ],
    });
  });

  test('with compare asks both for their points during the analysis, and for none after promotion', async () => {
    const points: Array<boolean | undefined> = [];
    const checks = createChecks({
      clock: createVirtualClock(),
      metrics: {
        async read({ role, asPoints }) {
          points.push(asPoints);
          const values = role === 'canary' ? [3, 4, 5] : [1, 2, 3];
          return { kind: 'value', value: values[2] ?? 0, ...(asPoints ? { points: values } : {}) };
        },
      },
      hooks: { call: async () => expect.fail('no webhook is declared') },
      onDone: () => undefined,
    });
    const tested = { name: 'latency', compare: { method: 'mannWhitney', minPoints: 3 } };
    const spec = { analysis: { metrics: [tested] }, postPromotion: { metrics: [tested] } };
    const withTest = { ...canary, spec } as unknown as Canary;
    checks.request(withTest, { ...analysis, metrics: ['latency'] }, subject);
    await settle();
    expect(checks.outcomeOf('shop/web')?.readings[0]?.reading).toMatchObject({
      kind: 'value',
      value: 4,
      baseline: 2,
      detail: expect.stringContaining('median of 3 points; the primary has 2 of 3'),
    });
    const after = { ...analysis, key: 'k2', role: 'primary', purpose: 'postPromotion' } as const;
    checks.request(withTest, { ...after, metrics: ['latency'] }, subject);
    await settle();
    expect(checks.outcomeOf('shop/web')?.readings[0]?.reading).toEqual({ kind: 'value', value: 3 });
    expect(points).toEqual([true, true, undefined]);
  });

  test('has no value without that of the primary', async () => {
    const { reading } = await ask({}, { 'web-2': { kind: 'value', value: 1 } });
    expect(reading).toEqual({ kind: 'error', detail: 'of the primary: nobody knows it' });
  });

  test('is still to come while the Job of the primary runs', async () => {
    const runs = { kind: 'noData', detail: 'it runs', isPending: true } as const;
    const { reading } = await ask({}, { 'web-2': { kind: 'value', value: 1 }, 'web-1': runs });
    expect(reading).toEqual({ ...runs, detail: 'of the primary: it runs' });
  });

  test('is compared with the canary where a release is tried on the primary', async () => {
    const both = { 'web-2': { kind: 'value', value: 120 }, 'web-1': { kind: 'value', value: 100 } } as const;
    expect(await ask({ role: 'primary' }, both)).toEqual({
      reading: { kind: 'value', value: 120, baseline: 100, baselineOf: 'canary' },
      asked: [
        ['primary', 'web-2'],
        ['canary', 'web-1'],
      ],
    });
    const { reading } = await ask({ role: 'primary' }, { 'web-2': { kind: 'value', value: 1 } });
    expect(reading).toEqual({ kind: 'error', detail: 'of the canary: nobody knows it' });
  });

  test('is asked of the primary alone after promotion', async () => {
    const { asked } = await ask({ role: 'primary', purpose: 'postPromotion' }, {});
    expect(asked).toEqual([['primary', 'web-2']]);
  });
});

const world = {
  target: { name: 'web' } as WorkloadView,
  primary: { name: 'web-primary' } as WorkloadView,
};

test('a check is about the workload of its role, beside the other one', () => {
  expect(checkSubject({ provider: 'contour', world }, { role: 'canary' })).toMatchObject({
    workload: 'web',
    otherWorkload: 'web-primary',
    other: { workload: 'web-primary', otherWorkload: 'web' },
  });
  expect(checkSubject({ provider: 'contour', world }, { role: 'primary' })).toMatchObject({
    workload: 'web-primary',
    otherWorkload: 'web',
    other: { workload: 'web', otherWorkload: 'web-primary' },
  });
});

test('in place, the primary it is compared with are the pods of the other templates', () => {
  const revision = { pods: 'web-2-.+', otherPods: 'web-1-.+' };
  expect(checkSubject({ provider: 'native', world, revision }, { role: 'canary' })).toMatchObject({
    pods: revision,
    other: { pods: { pods: 'web-1-.+', otherPods: 'web-2-.+' } },
  });
});
