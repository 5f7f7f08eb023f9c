import { expect, test } from 'vitest';
import type { Action } from '../../../rollout/outcome.ts';
import { EngineError, failureOf } from '../../failure.ts';
import { joinActionFailures } from './action-text.ts';
import { inLanes, isReversible, reliesOn } from './order.ts';

const route = { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false };
const traffic: Action = { type: 'SetTraffic', route };
const services: Action = { type: 'EnsureServices', primaryDigest: 'v1:a', canaryDigest: undefined };
const reject: Action = { type: 'Reject', digest: 'v1:b', commit: 'c', reason: 'ChecksFailed' };
const primary = (digest: string): Action => ({ type: 'ApplyPrimary', digest, precondition: undefined });
const canary = (replicas: number, digest = 'v1:b'): Action => ({ type: 'ApplyCanary', digest, replicas });
const scale = (replicas: number): Action => ({ type: 'ScaleCanary', replicas });
const record = (digest: string, promotedTime?: string): Action =>
  promotedTime === undefined ? { type: 'SaveRecord', digest } : { type: 'SaveRecord', digest, promotedTime };
const farewell: Action = { type: 'RemoveFinalizer' };

const types = (actions: readonly Action[]) => actions.map(({ type }) => type);

test('what keeps requests answered goes before what is remembered, kept in order and let go', () => {
  const decided = [
    reject,
    { type: 'ApplyScalers' },
    farewell,
    services,
    traffic,
    primary('v1:a'),
  ] satisfies Action[];
  expect(types(inLanes(decided))).toEqual([
    'EnsureServices',
    'SetTraffic',
    'ApplyPrimary',
    'Reject',
    'ApplyScalers',
    'RemoveFinalizer',
  ]);
});

test('a release is kept before its first template is written, and going back waits for no record', () => {
  expect(types(inLanes([record('v1:b'), services, canary(2)]))).toEqual([
    'EnsureServices',
    'SaveRecord',
    'ApplyCanary',
  ]);
  const back = [record('v1:a', '2026-01-01T00:00:00Z'), primary('v1:a')];
  expect(types(inLanes(back))).toEqual(['ApplyPrimary', 'SaveRecord']);
  expect(reliesOn(canary(2), record('v1:b'))).toBe(true);
  expect(reliesOn(primary('v1:a'), record('v1:b'))).toBe(false);
  expect(reliesOn(primary('v1:a'), record('v1:a', '2026-01-01T00:00:00Z'))).toBe(false);
});

test.each<[string, Action]>([
  ['a template of the primary', primary('v1:a')],
  ['a template of the canary', canary(2)],
  ['the end of the canary', scale(0)],
  ['the pause of its scaler', { type: 'PauseScaler', side: 'canary', paused: true }],
  ['a lower bound that goes back', { type: 'SetScalerFloor', side: 'primary', minReplicas: undefined }],
  ['the replacement of pods', { type: 'ReplacePods', pods: [] }],
])('%s needs the traffic where it was decided to be, and the intent in the status', (_, action) => {
  expect(reliesOn(action, traffic)).toBe(true);
  expect(isReversible(action)).toBe(false);
});

test.each<[string, Action]>([
  ['traffic', traffic],
  ['Services', services],
  ['more pods of the canary', scale(2)],
  ['more pods of the primary', { type: 'ScalePrimary', replicas: 2 }],
  ['a raised lower bound', { type: 'SetScalerFloor', side: 'primary', minReplicas: 4 }],
  ['a scaler that goes on', { type: 'PauseScaler', side: 'primary', paused: false }],
])('%s can be taken back, and waits for nothing', (_, action) => {
  expect(isReversible(action)).toBe(true);
  expect(reliesOn(action, traffic)).toBe(false);
});

test('a refused Service, record or rejection keeps back neither traffic nor template nor pods', () => {
  for (const undone of [services, record('v1:c'), reject])
    for (const action of [traffic, primary('v1:a'), canary(0), scale(0), scale(3)])
      expect(reliesOn(action, undone)).toBe(false);
});

test('a mark relies on the record it is put on, a scaler on the one before it being gone', () => {
  expect(reliesOn({ type: 'MarkProven', digest: 'v1:b' }, record('v1:b'))).toBe(true);
  expect(reliesOn({ type: 'AdoptPrimary', digest: 'v1:b' }, { type: 'MarkProven', digest: 'v1:b' })).toBe(
    true,
  );
  const former: Action = { type: 'RemoveScaler', kind: 'HorizontalPodAutoscaler', name: 'web' };
  expect(reliesOn({ type: 'ApplyScalers' }, former)).toBe(true);
  expect(reliesOn({ type: 'RestoreConfigs', digest: 'v1:a' }, former)).toBe(false);
});

test('nothing is let go after anything failed', () => {
  for (const undone of [services, record('v1:a'), reject, traffic, scale(1)])
    expect(reliesOn(farewell, undone)).toBe(true);
});

test('people are told of each action that failed, and why', () => {
  const refused = failureOf(Object.assign(new Error('create Secret shop/web: quota'), { kind: 'forbidden' }));
  const missing = new EngineError('ServiceMissing', 'Service shop/web-canary is not there', true);
  const failures = [
    { action: traffic, failure: missing },
    { action: reject, failure: refused },
  ];
  expect(joinActionFailures({ failures: [], undone: [] }, false)).toBeUndefined();
  const both = joinActionFailures({ failures, undone: [traffic, reject] }, false);
  expect(both).toMatchObject({ reason: 'ServiceMissing', transient: false, line: missing.message });
  expect(both?.message).toBe(
    'SetTraffic (traffic: 100 % primary, 0 % canary): Service shop/web-canary is not there; Reject (release v1:b is rejected: ChecksFailed): create Secret shop/web: quota',
  );
});

test('the status line is that of the first failure which keeps the rollout from going on', () => {
  const refused = new EngineError('Forbidden', 'create Secret shop/web: quota');
  const of = (action: Action, ...left: readonly Action[]) =>
    joinActionFailures({ failures: [{ action, failure: refused }], undone: [action, ...left] }, false)?.line;

  expect(of(reject)).toBeUndefined();
  expect(of(record('v1:b'))).toBeUndefined();
  expect(of(record('v1:b'), canary(2))).toBe(refused.message);
  expect(of(farewell)).toBe(refused.message);
});
