import type { Variant } from './place.ts';

const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
const weights = { interval: '10s', threshold: 1, stepWeight: 50, maxWeight: 50, metrics };
const after = { metrics, threshold: 1 };

/** The specs that are explored. */
export const VARIANTS: readonly Variant[] = [
  { name: 'weights', steps: [50], spec: { analysis: weights, postPromotion: after } },
  {
    name: 'steps',
    steps: [30, 60],
    spec: {
      analysis: { interval: '10s', threshold: 2, stepWeights: [30, 60], metrics },
      postPromotion: { ...after, threshold: 2 },
    },
  },
  {
    name: 'blueGreen',
    steps: [],
    iterations: 1,
    spec: { analysis: { interval: '10s', threshold: 1, iterations: 1, metrics }, postPromotion: after },
  },
  {
    name: 'kubernetes',
    steps: [],
    iterations: 1,
    spec: {
      provider: 'kubernetes',
      analysis: { interval: '10s', threshold: 1, iterations: 1, metrics },
      postPromotion: after,
    },
  },
  {
    name: 'thresholds50',
    steps: [50],
    readyPercent: { primary: 50, canary: 50 },
    spec: {
      analysis: { ...weights, primaryReadyThreshold: 50, canaryReadyThreshold: 50 },
      postPromotion: after,
    },
  },
  {
    name: 'recreate',
    steps: [50],
    recreate: true,
    spec: { analysis: weights, postPromotion: after },
  },
  {
    name: 'hold',
    steps: [50],
    spec: { analysis: weights, postPromotion: { ...after, onFailure: 'hold' } },
  },
  {
    name: 'revert',
    steps: [50],
    spec: { analysis: weights, postPromotion: { ...after, onFailure: 'revert' } },
  },
  {
    name: 'halt',
    steps: [50],
    spec: { analysis: weights, postPromotion: { ...after, onFailure: 'halt' } },
  },
  {
    name: 'twice',
    steps: [50],
    spec: { analysis: weights, postPromotion: { ...after, successThreshold: 2 } },
  },
];
