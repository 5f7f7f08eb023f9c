/** Comparing the points of both sides of a Canary by the Mann-Whitney U test (Mann and Whitney 1947): whether values of one sample tend to be above those of another, whatever their distribution. */

import type { CanaryMetric } from '../api/canary/analysis.ts';
import { comparisonOf } from '../api/canary/comparison.ts';
import type { MetricReading } from '../api/observed.ts';

/** Which difference is looked for: the first sample is above the second, below it, or either. */
type Direction = 'increase' | 'decrease' | 'either';

/** The medians of both sides, and the test; no data where there are too few points. `others`: whose the second ones are. */
export function comparePoints(
  metric: CanaryMetric,
  points: readonly number[],
  baseline: readonly number[],
  others: 'primary' | 'canary',
): MetricReading {
  const { direction = 'increase', confidence = 95, minPoints = 0 } = comparisonOf(metric) ?? {};
  if (Math.min(points.length, baseline.length) < minPoints) {
    const found = `${points.length} points, and ${baseline.length} of the ${others}`;
    return { kind: 'noData', detail: `${found}; a comparison takes ${minPoints} of each` };
  }
  const [own, other] = [median(points), median(baseline)];
  const p = mannWhitneyP(points, baseline, direction);
  const detail = [
    `median of ${points.length} points`,
    `the ${others} has ${Number(other.toPrecision(4))} of ${baseline.length}`,
    `Mann-Whitney p ${Number(p.toPrecision(4))} at confidence ${confidence} %`,
  ].join('; ');
  return { kind: 'value', value: own, baseline: other, p, detail };
}

/** Up to this many values on each side, and without ties, the distribution of U is counted out; beyond, the normal one is close. */
const mostExact = 20;

/**
 * The probability of a difference at least this large between samples of one distribution, from 0 to 1. With ties, or more than 20 values on
 * a side, by the normal distribution with corrections for ties and continuity, as in R and SciPy.
 */
export function mannWhitneyP(
  first: readonly number[],
  second: readonly number[],
  direction: Direction,
): number {
  const { u, ties } = rankSum(first, second);
  const [m, n] = [first.length, second.length];
  const isExact = ties === 0 && m <= mostExact && n <= mostExact;
  const tail = (atLeast: number) => (isExact ? exactTail(m, n, atLeast) : normalTail(m, n, ties, atLeast));
  if (direction === 'increase') return tail(u);
  if (direction === 'decrease') return tail(m * n - u);
  return Math.min(1, 2 * tail(Math.max(u, m * n - u)));
}

/** The middle of a sample; of an even number of values the mean of the two in the middle. NaN of none. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** U of the first sample: the pairs in which its value is the larger one, equal ones counted half. `ties`: the sum of t³ - t over groups of t equal values. */
function rankSum(first: readonly number[], second: readonly number[]): { u: number; ties: number } {
  const all = [...first, ...second].toSorted((left, right) => left - right);
  let rank = 0;
  let ties = 0;
  const ranks = new Map<number, number>();
  while (rank < all.length) {
    const value = all[rank] ?? 0;
    let end = rank;
    while (all[end] === value) end += 1;
    const count = end - rank;
    ties += count ** 3 - count;
    ranks.set(value, (rank + 1 + end) / 2);
    rank = end;
  }
  const sum = first.reduce((total, value) => total + (ranks.get(value) ?? 0), 0);
  return { u: sum - (first.length * (first.length + 1)) / 2, ties };
}

/** Of all orders of m and n values the share in which U is at least this. */
function exactTail(m: number, n: number, atLeast: number): number {
  // Orders by U are the coefficients of the Gaussian binomial: the product of (1 - x^(n+i)) / (1 - x^i) for i from 1 to m.
  let orders = [1, ...Array.from({ length: m * n }, () => 0)];
  for (let i = 1; i <= m; i += 1) {
    orders = orders.map((count, at) => count - (at >= n + i ? (orders[at - n - i] ?? 0) : 0));
    for (let at = i; at < orders.length; at += 1) orders[at] = (orders[at] ?? 0) + (orders[at - i] ?? 0);
  }
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  return sum(orders.slice(atLeast)) / sum(orders);
}

function normalTail(m: number, n: number, ties: number, atLeast: number): number {
  const all = m + n;
  const deviation = Math.sqrt(((m * n) / 12) * (all + 1 - ties / (all * (all - 1))));
  // Half a step for continuity. Values that are all alike differ in nothing.
  return deviation > 0 ? upperTail((atLeast - (m * n) / 2 - 0.5) / deviation) : 1;
}

/** The share of the standard normal distribution above z. */
function upperTail(z: number): number {
  if (z < 0) return 1 - upperTail(-z);
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  if (z < 3) {
    // The series around the middle.
    let term = z;
    let sum = z;
    for (let k = 1; k < 100; k += 1) {
      term *= (z * z) / (2 * k + 1);
      sum += term;
    }
    return 0.5 - density * sum;
  }
  // The continued fraction of the tail.
  let fraction = z;
  for (let k = 100; k >= 1; k -= 1) fraction = z + k / fraction;
  return density / fraction;
}
