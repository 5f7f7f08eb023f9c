import { expect, test } from 'vitest';
import type { Canary } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import type { Condition } from '../../../api/kubernetes.ts';
import { limits } from '../../../api/limits.ts';
import type { Action } from '../../../rollout/outcome.ts';
import { EngineError, type Failure } from '../../failure.ts';
import { mergePatchOf } from '../../status-patch.ts';
import { withRemainingChanges } from '../context/reproduction.ts';
import { keepsStatus, withoutUndone } from '../perform/order.ts';
import { withEngineConditions } from './status.ts';

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
    type,
    status,
    reason: 'Reverting',
    message: 'reverting to 1a2b3c4',
    lastTransitionTime: time,
    lastUpdateTime: time,
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

test('a release that only a person can continue is not Reconciling, which kstatus would wait for', () => {
  const core = decided(firstMs);
  const reconciling = { ...core.conditions?.[1], type: 'Reconciling', status: 'True' } as Condition;
  const status = { ...core, conditions: [reconciling, ...(core.conditions ?? [])] };
  const transient = new EngineError('Unavailable', 'update Service shop/web: 503', true);
  const of = (cause: EngineError) =>
    withEngineConditions(canary({}), status, { failure: cause, isDecided: true, nowMs: firstMs }).conditions;

  expect(of(failure)).toMatchObject([
    { type: 'Reconciling', status: 'False' },
    { type: 'Ready', status: 'False' },
    { type: 'Stalled', status: 'True' },
  ]);
  expect(of(transient)).toMatchObject([
    { type: 'Reconciling', status: 'True' },
    { type: 'Ready', status: 'False' },
    { type: 'Stalled', status: 'False' },
  ]);
});

test.each([
  { failed: 'for now', transient: true, action: 'what failed is tried again' },
  { failed: 'for good', transient: false, action: undefined },
])(
  'the status line is what failed $failed, and not what would go on, unless a person was called',
  ({ transient, action }) => {
    const status = {
      ...decided(firstMs),
      message: 'reverting to 1a2b3c4',
      next: { action: 'the next check' },
    };
    const [ready, stalled] = status.conditions as [Condition, Condition];
    const called = { ...status, conditions: [ready, { ...stalled, status: 'True' as const }] };
    const stopping = { ...failure, message: failure.message, transient, line: 'x'.repeat(200) };
    const of = (before: CanaryStatus, cause: Failure) => {
      const options = { failure: cause, isDecided: true, nowMs: firstMs };
      const { message, next } = withEngineConditions(canary({}), before, options);
      return { message, action: next?.action };
    };

    expect(of(status, stopping)).toEqual({ message: `${'x'.repeat(159)}…`, action });
    for (const [before, cause] of [
      [called, stopping],
      [status, failure],
    ] as const)
      expect(of(before, cause)).toEqual({ message: 'reverting to 1a2b3c4', action: 'the next check' });
  },
);

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

test.each([
  { of: 'a decision', isDecided: true, transient: true, stays: true },
  { of: 'a decision', isDecided: true, transient: false, stays: true },
  { of: 'the status that was read', isDecided: false, transient: true, stays: true },
  { of: 'the status that was read', isDecided: false, transient: false, stays: false },
])(
  'a person whom the conditions of $of call stays called, transient: $transient',
  ({ isDecided, transient, stays }) => {
    const [ready, stalled] = decided(firstMs).conditions ?? [];
    const calls = { ...stalled, status: 'True', reason: 'TargetMissing' } as Condition;
    const status = { ...decided(firstMs), conditions: [ready as Condition, calls] };
    const meanwhile = new EngineError('Unavailable', 'update Service shop/web: 503', transient);

    const { conditions } = withEngineConditions(canary({}), status, {
      failure: meanwhile,
      isDecided,
      nowMs: firstMs,
    });

    const reason = stays ? 'TargetMissing' : 'Unavailable';
    expect(conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'Unavailable' },
      { type: 'Stalled', status: 'True', reason },
    ]);
  },
);

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const time = '2025-12-31T00:00:00.000Z';

function reverted(
  status: Condition['status'],
  message = 'v2 was reverted to v1: latency 900 ms',
): Condition[] {
  return [
    {
      type: 'Reverted',
      status,
      reason: 'ChecksFailed',
      message,
      lastTransitionTime: time,
      lastUpdateTime: time,
    },
  ];
}

test('what stays is named behind what was said, and the revert keeps its time', () => {
  const [condition] = withRemainingChanges(reverted('True'), ['ConfigMap shop/other'], nowMs);

  expect(condition?.message).toBe(
    'v2 was reverted to v1: latency 900 ms; stays as head says: ConfigMap shop/other',
  );
  expect(condition?.lastTransitionTime).toBe(time);
});

test('saying it again changes nothing, and another list takes the place of the first', () => {
  const once = withRemainingChanges(reverted('True'), ['ConfigMap shop/other'], nowMs);

  expect(withRemainingChanges(once, ['ConfigMap shop/other'], nowMs + 1000)).toEqual(once);
  expect(withRemainingChanges(once, [], nowMs)[0]?.message).toBe('v2 was reverted to v1: latency 900 ms');
});

test('many and long names are counted and cut, so that the condition keeps its limit', () => {
  const many = Array.from({ length: 500 }, (_, index) => `ConfigMap shop/${'x'.repeat(200)}${index}`);

  const [condition] = withRemainingChanges(reverted('True', 'y'.repeat(1024)), many, nowMs);

  expect(condition?.message?.length).toBeLessThanOrEqual(limits.conditionMessageCharacters);
  expect(condition?.message).toMatch(/ConfigMap shop\/x+0, ConfigMap shop\/x+1 and 498 more$/);
});

test('a revert that is under way or over says nothing of it', () => {
  for (const status of ['Unknown', 'False'] as const)
    expect(withRemainingChanges(reverted(status), ['ConfigMap shop/other'], nowMs)).toEqual(reverted(status));
});

const before: CanaryStatus = {
  phase: 'Progressing',
  scaler: { kind: 'HorizontalPodAutoscaler', name: 'old' },
  handled: {},
};
const decidedStatus: CanaryStatus = {
  phase: 'Succeeded',
  handled: { retry: 'abc' },
  scaledDown: { time: '2026-01-01T00:00:00Z', count: 3 },
};

test('a refused rejection keeps nothing of the status back', () => {
  const reject: Action = { type: 'Reject', digest: 'v1:b', commit: 'c', reason: 'ChecksFailed' };
  expect(withoutUndone(decidedStatus, before, [reject])).toEqual(decidedStatus);
  expect(keepsStatus([reject])).toBe(false);
});

test('a request whose action was refused stays unanswered, so that it is handled again', () => {
  const undone: Action[] = [{ type: 'Unreject', digest: 'v1:b' }];
  expect(keepsStatus(undone)).toBe(true);
  expect(withoutUndone(decidedStatus, before, undone)).toEqual(before);
});

test('a scaler that could not be removed, and pods that could not be taken away, are remembered as they were', () => {
  const undone: Action[] = [
    { type: 'RemoveScaler', kind: 'HorizontalPodAutoscaler', name: 'old' },
    { type: 'ScaleCanary', replicas: 0 },
  ];
  expect(withoutUndone(decidedStatus, before, undone)).toEqual({
    phase: 'Succeeded',
    handled: { retry: 'abc' },
    scaler: { kind: 'HorizontalPodAutoscaler', name: 'old' },
  });
});
