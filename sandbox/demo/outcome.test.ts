import { describe, expect, test } from 'vitest';
import { differencesOf, type Expectation, type FinalWorld } from './outcome.ts';

const expected: Expectation = {
  image: 'busybox:1.37',
  goodEnv: { VERSION: 'v2' },
  goodDigest: 'v1:good',
  badVersion: 'v3',
  badCommit: 'c3',
  headCommit: 'c4',
};

const good: FinalWorld = {
  canary: {
    phase: 'Succeeded',
    lastKnownGood: { commit: 'c4', digest: 'v1:good', promotedTime: '', record: 'r' },
    lastPromotedCommit: 'c4',
    lastAppliedCommit: 'c4',
    rejected: [{ digest: 'v1:bad', commit: 'c3', reason: 'PrimaryNotReady', time: '' }],
    conditions: conditions({ Promoted: 'True', Ready: 'True', Reverted: 'False' }),
  },
  source: { appliedCommit: 'c4', conditions: conditions({ Ready: 'True' }) },
  primary: { image: 'busybox:1.37', env: { VERSION: 'v2' }, wanted: 2, replicas: 2, ready: 2 },
  target: { image: 'busybox:1.37', env: { VERSION: 'v3' }, wanted: 0, replicas: 0, ready: 0 },
  weights: { 'shop-primary': 100, 'shop-canary': 0 },
  podVersions: ['v2', 'v2'],
};

function conditions(statuses: Readonly<Record<string, 'True' | 'False'>>) {
  return Object.entries(statuses).map(([type, status]) => ({ type, status, reason: 'Test', message: '' }));
}

describe('the verdict of the demo', () => {
  test('finds nothing when the cluster is as the story says', () => {
    expect(differencesOf(good, expected)).toEqual([]);
  });

  test.each<[string, Partial<FinalWorld>, string]>([
    [
      'a primary with the bad release',
      { primary: { ...good.primary!, env: { VERSION: 'v3' } } },
      'environment',
    ],
    ['an unready primary', { primary: { ...good.primary!, ready: 1 } }, 'ready pods'],
    ['no primary', { primary: undefined }, 'Deployment shop-primary'],
    ['a canary that still runs', { target: { ...good.target!, wanted: 2 } }, 'Deployment shop: replicas'],
    ['traffic on the canary', { weights: { 'shop-primary': 80, 'shop-canary': 20 } }, 'route'],
    ['a pod of the rejected release', { podVersions: ['v2', 'v2', 'v3'] }, 'pods of the rejected v3'],
    ['a Canary that says Failed', { canary: { ...good.canary, phase: 'Failed' } }, 'phase'],
    ['a release that was not rejected', { canary: { ...good.canary, rejected: [] } }, 'rejected'],
    ['a Source that stands still', { source: { ...good.source, appliedCommit: 'c3' } }, 'applied commit'],
  ])('names %s', (_name, change, what) => {
    const differences = differencesOf({ ...good, ...change }, expected);
    expect(differences).toHaveLength(1);
    expect(differences[0]?.what).toContain(what);
  });
});
