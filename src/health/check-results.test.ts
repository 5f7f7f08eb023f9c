import { describe, expect, it } from 'vitest';
import type { CanaryMetric } from '../api/canary/analysis.ts';
import type { Canary } from '../api/canary/canary.ts';
import type { MetricReading } from '../api/observed.ts';
import { finding, judge, judgeHooks, verdictOf } from './check-results.ts';
import { comparePoints } from './mann-whitney.ts';

function judged(
  metric: Partial<CanaryMetric>,
  reading: MetricReading,
  purpose: 'analysis' | 'postPromotion' = 'analysis',
) {
  const named = { name: 'errors', ...metric };
  const readings = [{ name: named.name, reading }];
  return judge([named], { key: 'k', atMs: 0, readings, hooks: [] }, purpose);
}

const value = (number: number): MetricReading => ({ kind: 'value', value: number });

describe('a metric without thresholdRange', () => {
  it.each([
    [{ query: 'errors' }, 0, 'pass'],
    [{ query: 'errors' }, 0.1, 'fail'],
    [{ templateRef: { name: 'errors' } }, 5, 'fail'],
    [{ query: 'errors', threshold: 5 }, 5, 'pass'],
    [{ query: 'errors', threshold: 5 }, 6, 'fail'],
    [{ name: 'request-success-rate', threshold: 99 }, 98, 'fail'],
    [{ name: 'request-success-rate' }, 0, 'pass'],
  ])('%j with value %d is a %s, as in Flagger (flagger-behaviour 2.5)', (metric, number, verdict) => {
    expect(verdictOf(judged(metric, value(number)))).toBe(verdict);
  });

  it('says the bound it failed at', () => {
    const [result] = judged({ query: 'errors' }, value(5));
    expect(result && finding(result)).toBe('errors 5 > 0');
  });

  it.each([
    [{ name: 'request-success-rate', threshold: 99 }, 98.9996, 'request-success-rate 98.9996 < 99'],
    [{ query: 'latency', threshold: 10_000 }, 10_004.2, 'errors 10004 > 10000'],
    [{ query: 'latency', threshold: 500 }, 512.3456, 'errors 512.3 > 500'],
  ])('shows as many digits as tell value and bound apart: %j with %d', (metric, number, words) => {
    const [result] = judged(metric, value(number));
    expect(result && finding(result)).toBe(words);
  });

  it.each([
    [4.9, 'fail'],
    [5, 'pass'],
    [10, 'pass'],
    [10.1, 'fail'],
  ])('is inside a range of 5 to 10 with its ends: %d is a %s', (number, verdict) => {
    const range = { query: 'errors', thresholdRange: { min: 5, max: 10 } };
    expect(verdictOf(judged(range, value(number)))).toBe(verdict);
  });

  it('has none where its range is there and empty', () => {
    expect(verdictOf(judged({ query: 'errors', thresholdRange: {} }, value(5)))).toBe('pass');
  });
});

it('judges each of two metrics of one name by its own answer and bound', () => {
  const metrics = [
    { name: 'latency', query: 'p50', thresholdRange: { max: 100 } },
    { name: 'latency', query: 'p99', thresholdRange: { max: 500 } },
  ];
  const readings = [
    { name: 'latency', reading: value(90) },
    { name: 'latency (2)', reading: value(501) },
  ];
  const results = judge(metrics, { key: 'k', atMs: 0, readings, hooks: [] }, 'analysis');
  expect(results.map(({ name, verdict }) => [name, verdict])).toEqual([
    ['latency', 'pass'],
    ['latency (2)', 'fail'],
  ]);
  expect(results.map(finding)).toEqual(['latency 90', 'latency (2) 501 > 500']);
});

it('keeps the bound of a built-in metric that is there twice', () => {
  const metrics = ['1m', '5m'].map((interval) => ({ name: 'request-success-rate', threshold: 99, interval }));
  const readings = ['request-success-rate', 'request-success-rate (2)'].map((name) => ({
    name,
    reading: value(98),
  }));
  const results = judge(metrics, { key: 'k', atMs: 0, readings, hooks: [] }, 'analysis');
  expect(results.map(({ min, verdict }) => [min, verdict])).toEqual([
    [99, 'fail'],
    [99, 'fail'],
  ]);
});

describe('a metric that is compared with the primary', () => {
  const latency = { query: 'latency', compareWith: 'primary', maxRelativeIncrease: 10 } as const;
  const comparedWith = (number: number, baseline: number): MetricReading => ({
    kind: 'value',
    value: number,
    baseline,
  });

  it.each([
    [latency, 110, 100, 'pass'],
    [latency, 111, 100, 'fail'],
    [latency, 1, 0, 'fail'],
    [latency, 0, 0, 'pass'],
    [latency, -9, -10, 'pass'],
    [latency, -8, -10, 'fail'],
    [{ ...latency, thresholdRange: { max: 105 } }, 108, 100, 'fail'],
    [{ ...latency, thresholdRange: { max: 500 } }, 111, 100, 'fail'],
    [{ ...latency, thresholdRange: { min: 5 } }, 1, 100, 'fail'],
  ])('%j with %d compared with %d is a %s', (metric, number, baseline, verdict) => {
    expect(verdictOf(judged(metric, comparedWith(number, baseline)))).toBe(verdict);
  });

  it('says the bound it failed at and what the primary has', () => {
    const [result] = judged(latency, comparedWith(120, 100));
    expect(result).toMatchObject({ value: 120, max: 110, detail: 'the primary has 100' });
    expect(result && finding(result)).toBe('errors 120 > 110 (the primary has 100)');
  });

  it('is a failure where the primary gives no value, and passes where that is wished', () => {
    const nothing: MetricReading = { kind: 'noData', detail: 'of the primary: no series' };
    expect(verdictOf(judged(latency, nothing))).toBe('fail');
    expect(verdictOf(judged({ ...latency, onNoData: 'wait' }, nothing))).toBe('unknown');
  });
});

describe('a metric without data', () => {
  const nothing: MetricReading = { kind: 'noData', detail: 'no series' };
  const broken: MetricReading = { kind: 'error', detail: '500' } as MetricReading;

  it.each([
    ['analysis', 'pass', 'pass'],
    ['analysis', 'wait', 'unknown'],
    ['analysis', 'fail', 'fail'],
    ['postPromotion', 'pass', 'pass'],
    ['postPromotion', 'wait', 'unknown'],
    ['postPromotion', 'fail', 'unknown'],
  ] as const)('in the %s with onNoData %s: %s', (purpose, onNoData, verdict) => {
    expect(verdictOf(judged({ query: 'errors', onNoData }, nothing, purpose))).toBe(verdict);
    expect(verdictOf(judged({ query: 'errors', onNoData }, broken, purpose))).not.toBe('pass');
  });

  it.each(['analysis', 'postPromotion'] as const)(
    'in the %s whose Job still runs has not passed, whatever onNoData says',
    (purpose) => {
      const runs: MetricReading = { ...nothing, isPending: true } as MetricReading;

      for (const onNoData of ['pass', 'wait', 'fail'] as const)
        expect(verdictOf(judged({ query: 'smoke', onNoData }, runs, purpose))).toBe('unknown');
    },
  );
});

it.each(['noData', 'error'] as const)(
  'fits the status, which takes 253 characters of a name and 512 of a detail, also where %s has longer ones',
  (kind) => {
    const said = `create Job shop/smoke: 403 admission webhook denied the request: ${'policy '.repeat(80)}`;
    const [result] = judged({ name: 'smoke-'.repeat(50), query: 'smoke' }, { kind, detail: said });
    expect(result?.name).toHaveLength(253);
    expect(result?.detail).toHaveLength(512);
    expect(result?.detail).toMatch(/^create Job shop\/smoke: 403 .*…$/);
  },
);

describe('a metric whose points are compared with those of the primary', () => {
  const latency = { query: 'latency', compare: { method: 'mannWhitney', minPoints: 5 } } as const;
  const primary = [10, 11, 12, 13, 14, 15];
  const slower = primary.map((point) => point + 5);

  it.each<[string, Partial<CanaryMetric>, readonly number[], readonly number[], string]>([
    ['one that differs', latency, slower, primary, 'fail'],
    ['one that does not', latency, primary, primary, 'pass'],
    ['one that differs to the good', latency, primary, slower, 'pass'],
    [
      'one that may not fall',
      { ...latency, compare: { ...latency.compare, direction: 'decrease' as const } },
      primary,
      slower,
      'fail',
    ],
    [
      'a success rate, which may not fall',
      { ...latency, name: 'request-success-rate' },
      primary,
      slower,
      'fail',
    ],
    [
      'a difference that is less sure than asked for',
      { ...latency, compare: { ...latency.compare, confidence: 99.9 } },
      slower,
      primary,
      'pass',
    ],
    [
      'a difference that is too small to matter',
      { ...latency, maxRelativeIncrease: 50 },
      slower,
      primary,
      'pass',
    ],
    [
      'one that is also beyond a bound',
      { ...latency, thresholdRange: { max: 12 } },
      primary,
      primary,
      'fail',
    ],
    ['too few points', latency, slower.slice(0, 4), primary, 'unknown'],
    ['too few points of the primary', latency, slower, primary.slice(0, 4), 'unknown'],
    [
      'too few points, where that is a failure',
      { ...latency, onNoData: 'fail' as const },
      [],
      primary,
      'fail',
    ],
  ])('of %s is judged', (_, metric, own, others, verdict) => {
    const named = { name: 'errors', ...metric };
    expect(verdictOf(judged(metric, comparePoints(named, own, others, 'primary')))).toBe(verdict);
  });

  it('is inconclusive without data, and failed by an error', () => {
    expect(verdictOf(judged(latency, { kind: 'noData', detail: 'no series' }))).toBe('unknown');
    expect(verdictOf(judged(latency, { kind: 'error', detail: 'HTTP 500' }))).toBe('fail');
  });

  it('says why it failed', () => {
    const [result] = judged(
      latency,
      comparePoints({ name: 'errors', ...latency }, slower, primary, 'primary'),
    );
    expect(result && finding(result)).toBe(
      'errors 17.5 (median of 6 points; the primary has 12.5 of 6; Mann-Whitney p 0.003196 at confidence 95 %)',
    );
  });
});

it('a webhook without an answer fails a check, and is named', () => {
  const webhooks = [{ name: 'load-test', type: 'rollout', url: 'http://tester/' }];
  const canary = { spec: { analysis: { webhooks } } } as unknown as Canary;
  const [result] = judgeHooks(canary, { hooks: [], atMs: 0 }, 'rollout', 'analysis');
  expect(result?.verdict).toBe('fail');
  expect(result && finding(result)).toBe('load-test: the webhook was not called');
});
