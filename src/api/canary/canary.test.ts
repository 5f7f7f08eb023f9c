import { describe, expect, test } from 'vitest';
import { canaryDocument, sourceDocument } from '../../../test/documents/builders.ts';
import { parseCanary, parseKind, parseSource } from '../kinds/parse.ts';
import { limits } from '../limits.ts';
import { sourceIntervalMs, sourceRetryIntervalMs } from '../source/source.ts';
import {
  alertsFor,
  analysisIntervalMs,
  apexName,
  type Canary,
  effectivePostPromotion,
  failureThreshold,
  metricsById,
  nameOfMetric,
  postPromotionAnnotation,
  progressDeadlineMs,
  webhookTimeoutMs,
} from './canary.ts';

function annotated(text: string, spec: Record<string, unknown> = {}) {
  return canaryDocument(spec, { annotations: { [postPromotionAnnotation]: text } });
}

describe('postPromotion as an annotation', () => {
  test('is read as if it stood in the spec', () => {
    const parsed = parseCanary(annotated('onFailure: revert\nsuccessThreshold: 3\n'));
    expect(parsed.ok && parsed.value.spec.postPromotion).toEqual({
      onFailure: 'revert',
      successThreshold: 3,
    });
  });

  test('gives way to the field', () => {
    const parsed = parseCanary(annotated('onFailure: revert', { postPromotion: {} }));
    expect(parsed.ok && parsed.value.spec.postPromotion).toEqual({});
  });

  test.each([
    ['onFailure: pray', /\.onFailure "pray" is not one of auto, hold, revert, halt, manual$/],
    ['[', /cannot be read as YAML$/],
    ['just words', /must be an object, is a string$/],
    ['a: &x [1]\nb: *x', /cannot be read as YAML$/],
    ['x'.repeat(limits.postPromotionAnnotationBytes + 1), /is too long$/],
  ])('stops the Canary when it is wrong (%#)', (text, expected) => {
    const parsed = parseKind('Canary', annotated(text));
    const problems = parsed.ok ? [] : parsed.problems;
    expect(problems.map(({ path, message }) => `${path} ${message}`)).toEqual([
      expect.stringMatching(expected),
    ]);
  });
});

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

test('metrics of one name get ids by their place in the list', () => {
  const metrics = ['latency', 'errors', 'latency', 'latency (2)', 'latency'].map((name, place) => ({
    name,
    query: `${place}`,
  }));
  const found = metricsById(metrics);
  expect([...found].map(([id, { query }]) => `${id} is ${query}`)).toEqual([
    'latency is 0',
    'errors is 1',
    'latency (2) is 2',
    'latency (2) (2) is 3',
    'latency (3) is 4',
  ]);
  expect(metricsById(undefined).size).toBe(0);
  expect([...found.keys()].slice(0, 3).map(nameOfMetric)).toEqual(['latency', 'errors', 'latency']);
});

function canaryWithAlerts(...alerts: Array<{ name: string; severity?: 'info' | 'error' }>): Canary {
  const listed = alerts.map((alert) => ({ ...alert, providerRef: { name: 'chat' } }));
  return { spec: { analysis: { alerts: listed } } } as unknown as Canary;
}

test('without alerts the receiver of the flags gets everything, if there is one', () => {
  expect(alertsFor(canaryWithAlerts(), 'info', true)).toEqual(['(default)']);
  expect(alertsFor(canaryWithAlerts(), 'error', true)).toEqual(['(default)']);
  expect(alertsFor(canaryWithAlerts(), 'error', false)).toEqual([]);
});

test('a Canary with an alert reports to that one only, even what is below its severity', () => {
  const canary = canaryWithAlerts({ name: 'pager', severity: 'error' });
  expect(alertsFor(canary, 'error', true)).toEqual(['pager']);
  expect(alertsFor(canary, 'info', true)).toEqual([]);
});

test('alerts of one name get different ids', () => {
  expect(alertsFor(canaryWithAlerts({ name: 'chat' }, { name: 'chat' }), 'info', false)).toEqual([
    'chat',
    'chat (2)',
  ]);
});
