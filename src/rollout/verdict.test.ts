import { describe, expect, it } from 'vitest';
import type { CanaryMetric } from '../api/canary-metric.ts';
import type { MetricReading } from '../api/observed.ts';
import { finding, judge, verdictOf } from './verdict.ts';

function judged(metric: Partial<CanaryMetric>, reading: MetricReading) {
  const named = { name: 'errors', ...metric };
  const readings = [{ name: named.name, reading }];
  return judge([named], { key: 'k', atMs: 0, readings, hooks: [] }, 'analysis');
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

  it('has none where its range is there and empty', () => {
    expect(verdictOf(judged({ query: 'errors', thresholdRange: {} }, value(5)))).toBe('pass');
  });
});
