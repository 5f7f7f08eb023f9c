import { expect, test } from 'vitest';
import type { Canary } from '../../api/canary.ts';
import type { CanaryStatus } from '../../api/canary-status.ts';
import type { Condition } from '../../api/kubernetes.ts';
import { EngineError } from '../failure.ts';
import { mergePatchOf } from '../merge-patch.ts';
import { together, withEngineConditions } from './canary-status.ts';

const firstMs = Date.parse('2026-01-01T00:00:00Z');
const failure = new EngineError('Forbidden', 'create Secret shop/web: forbidden');

function canary(status: CanaryStatus): Canary {
  const metadata = { name: 'web', namespace: 'shop', generation: 3 };
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata,
    spec: {},
    status,
  } as unknown as Canary;
}

/** As the core decides it each time: its own conditions, stamped whenever they differ from what was there. */
function decided(atMs: number): CanaryStatus {
  const time = new Date(atMs).toISOString();
  const condition = (type: string, status: Condition['status']): Condition => ({
    ...{ type, status, reason: 'Reverting', message: 'reverting to 1a2b3c4' },
    ...{ lastTransitionTime: time, lastUpdateTime: time },
  });
  return {
    phase: 'Promoting',
    lastTransitionTime: time,
    conditions: [condition('Ready', 'True'), condition('Stalled', 'False')],
  };
}

test('status and failure are written together, once, however often they are found again', () => {
  const before = canary({ phase: 'Promoting' });
  const first = withEngineConditions(before, decided(firstMs), { failure, nowMs: firstMs });
  expect(first).toMatchObject({
    phase: 'Promoting',
    conditions: [
      { type: 'Ready', status: 'False', reason: 'Forbidden', message: failure.message },
      { type: 'Stalled', status: 'True', reason: 'Forbidden' },
    ],
  });
  const laterMs = firstMs + 60_000;
  const live = canary({ ...first, specInForce: { generation: 3, spec: {} } });
  const second = withEngineConditions(live, decided(laterMs), { failure, nowMs: laterMs });
  expect(mergePatchOf(first, second)).toBeUndefined();
});

test('what else the core found meanwhile is written, with its time', () => {
  const first = withEngineConditions(canary({}), decided(firstMs), { failure, nowMs: firstMs });
  const laterMs = firstMs + 60_000;
  const more: CanaryStatus = { ...decided(laterMs), canaryWeight: 40 };
  const second = withEngineConditions(canary(first), more, { failure, nowMs: laterMs });
  expect(mergePatchOf(first, second)).toEqual({
    canaryWeight: 40,
    lastTransitionTime: new Date(laterMs).toISOString(),
  });
});

test('once it is over, what the core says counts again', () => {
  const first = withEngineConditions(canary({}), decided(firstMs), { failure, nowMs: firstMs });
  const second = withEngineConditions(canary(first), decided(firstMs + 1), { nowMs: firstMs + 1 });
  expect(second.conditions?.map(({ reason }) => reason)).toEqual(['Reverting', 'Reverting']);
});

test('several failures are one, which a person must end as soon as one of them needs that', () => {
  const transient = new EngineError('ServiceMissing', 'Service shop/web-canary is not there', true);
  expect(together([undefined, undefined])).toBeUndefined();
  expect(together([undefined, transient])).toBe(transient);
  expect(together([transient, failure])).toEqual({
    reason: 'ServiceMissing',
    message: 'Service shop/web-canary is not there; create Secret shop/web: forbidden',
    transient: false,
  });
});
