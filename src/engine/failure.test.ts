import { expect, test } from 'vitest';
import { EngineError, failureOf, joinFailures, unlessLasting } from './failure.ts';

test('a failure that was sorted before keeps its reason and its message', () => {
  const failure = failureOf(
    new EngineError('ReleaseUnknown', 'the manifests of release v1:0e71 are gone', true),
  );

  const handedOn = failureOf({ ...failure, message: failure.message });

  expect(handedOn).toMatchObject({
    reason: 'ReleaseUnknown',
    message: 'the manifests of release v1:0e71 are gone',
    transient: true,
  });
});

test('several failures are one, which a person must end as soon as one of them needs that', () => {
  const transient = new EngineError('ServiceMissing', 'Service shop/web-canary is not there', true);
  const lasting = { reason: 'Forbidden', message: 'create Secret shop/web: forbidden', transient: false };
  expect(joinFailures([undefined, undefined])).toBeUndefined();
  expect(joinFailures([undefined, transient])).toBe(transient);
  expect(joinFailures([transient, { ...lasting, line: 'no Secret' }])).toEqual({
    reason: 'ServiceMissing',
    message: 'Service shop/web-canary is not there; create Secret shop/web: forbidden',
    transient: false,
    line: 'no Secret',
  });
});

test('a failure that lasts for ten minutes is one that a person must end', () => {
  const away = { reason: 'ApiUnavailable', message: 'the webhook is away', transient: true, line: 'away' };
  const nowMs = 1_000_000;

  expect(unlessLasting(away, { sinceMs: nowMs - 599_999, nowMs })).toBe(away);
  expect(unlessLasting(away, { sinceMs: undefined, nowMs })).toBe(away);
  const stalled = (status: 'True' | 'False', reason: string) =>
    unlessLasting(away, { sinceMs: undefined, nowMs, stalled: { status, reason } }).transient;
  expect([stalled('True', away.reason), stalled('False', away.reason), stalled('True', 'Other')]).toEqual([
    ...[false, true, true],
  ]);
  expect(unlessLasting(away, { sinceMs: nowMs - 600_000, nowMs })).toEqual({
    reason: 'ApiUnavailable',
    message: 'the webhook is away',
    transient: false,
    line: 'away',
  });
});
