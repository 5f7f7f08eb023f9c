import { describe, expect, test } from 'vitest';
import { canaryDocument, sourceDocument } from '../../test/documents/builders.ts';
import type { Canary } from './canary/canary.ts';
import {
  analysisIntervalMs,
  apexName,
  effectivePostPromotion,
  failureThreshold,
  progressDeadlineMs,
  webhookTimeoutMs,
} from './defaults.ts';
import { parseCanary, parseSource } from './kinds/parse.ts';
import { sourceIntervalMs, sourceRetryIntervalMs } from './source/source.ts';

function canary(spec: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}): Canary {
  const result = parseCanary(canaryDocument(spec, metadata));
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.value;
}

const base = { interval: '1m', threshold: 1, stepWeight: 10 };

describe('defaults', () => {
  test("are Flagger's", () => {
    const object = canary({ analysis: base });
    expect(apexName(object)).toBe('shop');
    expect(analysisIntervalMs(object, 10_000)).toBe(60_000);
    expect(progressDeadlineMs(object)).toBe(600_000);
    expect([failureThreshold(undefined), failureThreshold(-3), failureThreshold(4)]).toEqual([1, 1, 4]);
    expect([webhookTimeoutMs(undefined), webhookTimeoutMs('5'), webhookTimeoutMs('2s')]).toEqual([
      10_000, 10_000, 2_000,
    ]);
  });

  test('raise an interval to the floor', () => {
    expect(analysisIntervalMs(canary({ analysis: { ...base, interval: '1s' } }), 10_000)).toBe(10_000);
  });

  test('of postPromotion come from the Canary', () => {
    const object = canary({ analysis: { ...base, interval: '20s' }, progressDeadlineSeconds: 90 });
    expect(effectivePostPromotion(object, 10_000)).toEqual({
      progressDeadlineMs: 90_000,
      intervalMs: 20_000,
      successThreshold: 1,
      threshold: 1,
      onFailure: 'auto',
      maxRestarts: undefined,
      metrics: [],
    });
  });

  test('keep a successThreshold of 0, and count a threshold of 0 as 1', () => {
    const object = canary({ postPromotion: { successThreshold: 0, threshold: 0 } });
    expect(effectivePostPromotion(object, 10_000)).toMatchObject({ successThreshold: 0, threshold: 1 });
  });

  test.each([
    [{ failureThreshold: 3 }, { threshold: 3 }],
    [{ threshold: 3 }, { threshold: 3 }],
    [{ onFailure: 'manual' }, { onFailure: 'halt' }],
    [{ onFailure: 'halt' }, { onFailure: 'halt' }],
  ])('take %j under its name and its former one', (postPromotion, expected) => {
    const parsed = parseCanary(canaryDocument({ postPromotion }), { strict: true });
    expect(parsed.ok && effectivePostPromotion(parsed.value, 10_000)).toMatchObject(expected);
  });

  test('of a Source retry at its interval', () => {
    const result = parseSource(sourceDocument({ interval: '5s' }));
    expect(result.ok && [sourceIntervalMs(result.value), sourceRetryIntervalMs(result.value)]).toEqual([
      5_000, 5_000,
    ]);
  });
});
