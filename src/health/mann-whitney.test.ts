import { describe, expect, it } from 'vitest';
import { comparePoints, mannWhitneyP } from './mann-whitney.ts';

/** p of increase, decrease and either. */
interface Reference {
  readonly name: string;
  readonly first: readonly number[];
  readonly second: readonly number[];
  readonly p: readonly [number, number, number];
}

/**
 * Samples with the p values that `scipy.stats.mannwhitneyu` of SciPy 1.17.1 gives for them (`alternative` greater, less, two-sided; `method`
 * exact without ties and with at most 20 values, else asymptotic; `use_continuity=True`).
 */
const references: readonly Reference[] = [
  {
    name: 'the ages of SciPy’s documentation',
    first: [19, 22, 16, 29, 24],
    second: [20, 11, 17, 12],
    p: [0.05555555555555555, 0.9682539682539683, 0.1111111111111111],
  },
  {
    name: 'the permeability constants of Hollander and Wolfe 1973 (p = 0.1272 in print)',
    first: [0.8, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46],
    second: [1.15, 0.88, 0.9, 0.74, 1.21],
    p: [0.1272061272061272, 0.8967698967698967, 0.2544122544122544],
  },
  {
    name: 'all values of one above those of the other',
    first: [5, 6, 7, 8],
    second: [1, 2, 3, 4],
    p: [0.014285714285714285, 1, 0.02857142857142857],
  },
  {
    name: 'ties',
    first: [1, 2, 2, 3, 5, 5, 5, 9],
    second: [2, 2, 4, 5, 6, 7, 7],
    p: [0.7955193289815627, 0.23954640345987444, 0.47909280691974887],
  },
  {
    name: 'values that are all alike',
    first: [3, 3, 3, 3],
    second: [3, 3, 3, 3],
    p: [1, 1, 1],
  },
  {
    name: 'more values than are counted out',
    first: [
      0.0501, 0.1757, 0.3288, 0.5009, 0.688, 0.8878, 1.0986, 1.3192, 1.5487, 1.7863, 2.0315, 2.2838, 2.5426,
      2.8077, 3.0787, 3.3553, 3.6372, 3.9244, 4.2164, 4.5132, 4.8146, 5.1204, 5.4304, 5.7446, 6.0629,
    ],
    second: [
      0.0236, 0.1377, 0.2784, 0.4355, 0.6051, 0.7848, 0.9733, 1.1694, 1.3723, 1.5814, 1.7961, 2.0162, 2.2412,
      2.4708, 2.7047, 2.9428, 3.1848, 3.4305, 3.6798, 3.9326, 4.1886, 4.4478,
    ],
    p: [0.11418195907716971, 0.8898826207146311, 0.22836391815433943],
  },
  {
    name: 'error rates, mostly 0',
    first: [0, 0, 0, 0, 0.5, 1.2, 0, 0.3, 0, 0, 0, 2.1],
    second: [0, 0, 0, 0, 0, 0, 0, 0.4, 0, 0, 0, 0],
    p: [0.06629149115904781, 0.9435498476087594, 0.13258298231809562],
  },
  {
    name: 'far apart, in the tail of the normal distribution',
    first: Array.from({ length: 30 }, (_, index) => 100 + index),
    second: Array.from({ length: 25 }, (_, index) => index),
    p: [1.224175538394434e-10, 0.9999999998903003, 2.448351076788868e-10],
  },
];

describe.each(references)('the p value of $name', ({ first, second, p }) => {
  it.each([
    ['increase', p[0]],
    ['decrease', p[1]],
    ['either', p[2]],
  ] as const)('for %s is %d', (direction, expected) => {
    const found = mannWhitneyP(first, second, direction);
    expect(Math.abs(found - expected) / expected).toBeLessThan(1e-9);
  });
});

it('is that of the other direction where the samples change places', () => {
  for (const { first, second } of references) {
    const [one, other] = [mannWhitneyP(first, second, 'increase'), mannWhitneyP(second, first, 'decrease')];
    expect(one).toBeCloseTo(other, 12);
  }
});

it('finds no more differences in one distribution than the confidence allows', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const sample = () => Array.from({ length: 12 }, random);
  const found = Array.from({ length: 2_000 }, () => mannWhitneyP(sample(), sample(), 'increase'));
  expect(found.filter((p) => p < 0.05).length / found.length).toBeLessThan(0.065);
});

it('reads medians, how many points there are, and how sure it is', () => {
  const metric = { name: 'latency', compare: { method: 'mannWhitney', minPoints: 5 } } as const;
  expect(comparePoints(metric, [5, 9, 8, 7, 6], [2, 1, 3, 4, 0, 9.5], 'primary')).toMatchObject({
    kind: 'value',
    value: 7,
    baseline: 2.5,
    detail: 'median of 5 points; the primary has 2.5 of 6; Mann-Whitney p 0.04113 at confidence 95 %',
  });
  expect(comparePoints(metric, [5, 9, 8, 7], [2, 1, 3, 4, 0], 'canary')).toEqual({
    kind: 'noData',
    detail: '4 points, and 5 of the canary; a comparison takes 5 of each',
  });
});
