import { describe, expect, it } from 'vitest';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { annotationFor, offers } from './requests.ts';

const good = { digest: 'v1:good', commit: 'a'.repeat(40), promotedTime: '2026-11-23T00:00:00Z', record: 'r' };
const older = {
  digest: 'v1:older',
  commit: 'c'.repeat(40),
  result: 'Succeeded' as const,
  endTime: '2026-11-22T00:00:00Z',
};
const run = { digest: 'v1:new', commit: 'b'.repeat(40) };
const ending = { ...run, ending: { phase: 'Failed', reason: 'RevertedInGit', message: '' } };
const conditions = (reason: string) => [
  { type: 'Ready', status: 'False' as const, reason, message: '', lastTransitionTime: '' },
];

const lost = [
  {
    ...{ type: 'RollbackReady', status: 'False' as const, reason: 'RecordDamaged' },
    ...{ message: '', lastTransitionTime: '' },
  },
];

function canary(status: CanaryStatus, annotations: Record<string, string> = {}): KubernetesObject {
  const metadata = { namespace: 'shop', name: 'web', annotations };
  return { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata, status };
}

const cases: ReadonlyArray<readonly [string, KubernetesObject, readonly string[]]> = [
  ['a Canary that was not looked at', canary({}), ['pause']],
  ['a first release', canary({ phase: 'Initializing', run }), ['pause']],
  [
    'one that waits for a gate',
    canary({ phase: 'Waiting', run, lastKnownGood: good }),
    ['pause', 'approve', 'promote', 'abort', 'rollback'],
  ],
  [
    'one that waits for its window: an approval would be refused',
    canary({
      ...{ phase: 'Waiting', lastKnownGood: good, conditions: conditions('WaitingForWindow') },
      run: { ...run, awaitsWindow: true },
    }),
    ['pause', 'ignore-window', 'promote', 'abort', 'rollback'],
  ],
  [
    'one that waits for a gate while the window of its Source is open',
    canary({
      ...{ phase: 'Waiting', lastKnownGood: good, conditions: conditions('Waiting') },
      run: { ...run, awaitsWindow: true, awaitsConfirmation: true },
    }),
    ['pause', 'approve', 'promote', 'abort', 'rollback'],
  ],
  [
    'one at a step that is frozen',
    canary({ phase: 'Progressing', run, lastKnownGood: good, conditions: conditions('Frozen') }),
    ['pause', 'ignore-window', 'skip-step', 'promote', 'abort', 'rollback'],
  ],
  [
    'one at a step',
    canary({ phase: 'Progressing', run, lastKnownGood: good }),
    ['pause', 'skip-step', 'promote', 'abort', 'rollback'],
  ],
  [
    'one that is reverted: requests about it are refused',
    canary({ phase: 'Finalising', run, lastKnownGood: good, postPromotion: { state: 'Reverting' } }),
    ['pause'],
  ],
  [
    'one whose gate before the start is being asked while the phase is the one of before',
    canary({ phase: 'Progressing', run: { ...run, awaitsConfirmation: true }, lastKnownGood: good }),
    ['pause', 'promote', 'abort', 'rollback'],
  ],
  [
    'one that is written to the primary: it is promoted already',
    canary({ phase: 'Promoting', run, lastKnownGood: good, postPromotion: { state: 'Converging' } }),
    ['pause', 'abort', 'rollback'],
  ],
  [
    'one that is verified',
    canary({ phase: 'Finalising', run, lastKnownGood: good, postPromotion: { state: 'Verifying' } }),
    ['pause', 'promote', 'abort', 'rollback'],
  ],
  [
    'one that is proven, while the canary is scaled down',
    canary({
      ...{ phase: 'Finalising', run, lastKnownGood: { ...good, ...run } },
      postPromotion: { state: 'Verifying' },
    }),
    ['pause'],
  ],
  [
    'one that ends at a step, since Git took it back',
    canary({
      phase: 'Progressing',
      run: ending,
      lastKnownGood: good,
      conditions: conditions('RevertedInGit'),
    }),
    ['pause'],
  ],
  [
    'one that ends at a gate, since Git took it back',
    canary({ phase: 'WaitingPromotion', run: ending, lastKnownGood: good }),
    ['pause'],
  ],
  [
    'one whose revert does not come to its end',
    canary({ phase: 'Failed', run, lastKnownGood: good, postPromotion: { state: 'Held' } }),
    ['pause'],
  ],
  [
    'one at rest',
    canary({
      phase: 'Succeeded',
      lastKnownGood: good,
      history: [{ ...older, ...good, digest: good.digest }, older],
    }),
    ['pause', 'rollback'],
  ],
  [
    'one that is held and whose last-known-good is lost: an older release alone can take its place',
    canary({
      ...{ phase: 'Promoting', run, lastKnownGood: good, postPromotion: { state: 'Held' } },
      ...{ conditions: lost, history: [older] },
    }),
    ['pause', 'promote', 'rollback'],
  ],
  [
    'one that is verified and whose last-known-good is lost: it cannot be taken back',
    canary({
      ...{ phase: 'Finalising', run, lastKnownGood: good, postPromotion: { state: 'Verifying' } },
      ...{ conditions: lost, history: [older] },
    }),
    ['pause', 'promote'],
  ],
  [
    'one at a step whose last-known-good is lost: an abort writes nothing to the primary',
    canary({ phase: 'Progressing', run, lastKnownGood: good, conditions: lost }),
    ['pause', 'skip-step', 'promote', 'abort'],
  ],
  ['one at rest without an older release', canary({ phase: 'Succeeded', lastKnownGood: good }), ['pause']],
  [
    'one that failed',
    canary({
      phase: 'Failed',
      lastKnownGood: good,
      lastAppliedSpec: 'v1:new',
      rejected: [{ ...run, reason: 'Aborted', time: '' }],
      // Nobody wants this one back because the newest release failed: the last-known-good serves.
      history: [older],
    }),
    ['pause', 'retry'],
  ],
  [
    'one at a step that is suspended',
    { ...canary({ phase: 'Progressing', run, lastKnownGood: good }), spec: { suspend: true } },
    ['pause'],
  ],
  ['one that is paused', canary({ phase: 'Succeeded' }, { 'holdfast.dev/pause': 'true' }), ['resume']],
];

describe('what can be asked for', () => {
  it.each(cases)('%s', (_name, object, commands) => {
    expect(offers(object).map(({ command }) => command)).toEqual(commands);
  });

  it('says from where to where, and asks for the release that was seen', () => {
    const found = offers(canary({ phase: 'Progressing', run, lastKnownGood: good }));
    const rollback = found.find(({ command }) => command === 'rollback');
    expect(rollback).toMatchObject({ revision: 'v1:good', verb: 'rollback-to', isDrastic: true });
    expect(rollback?.effect).toBe(
      'aaaaaaa serves again; bbbbbbb is rejected until it changes or is retried.',
    );
    expect(found.find(({ command }) => command === 'promote')?.revision).toBe('v1:new');
  });

  it('takes back what onFailure halt left on the primary, and not the last-known-good', () => {
    const serving = [{ workload: 'web-primary', ...run, weight: 100, ready: 2 }];
    const status: CanaryStatus = { phase: 'Failed', lastKnownGood: good, history: [older], serving };
    const rollback = offers(canary(status)).find(({ command }) => command === 'rollback');
    expect(rollback).toMatchObject({
      revision: 'v1:good',
      effect: 'aaaaaaa serves again; bbbbbbb is rejected until it changes or is retried.',
    });
  });

  it.each([
    ['that only config outside Git tells from the one that serves', { ...older, digest: 'v1:good+1' }],
    ['that Git took back before it was proven', { ...older, digest: 'v1:left', reason: 'RevertedInGit' }],
  ])('goes past a release %s', (_, passedOver) => {
    const serves = { ...good, digest: 'v1:good+2' };
    const status: CanaryStatus = { phase: 'Succeeded', lastKnownGood: serves, history: [passedOver, older] };
    const rollback = offers(canary(status)).find(({ command }) => command === 'rollback');
    expect(rollback?.revision).toBe('v1:older');
  });

  it('retries what was rejected at head, also while the revert of the release before it does not come to its end', () => {
    const head = { digest: 'v1:head', commit: 'd'.repeat(40) };
    const status: CanaryStatus = {
      ...{ phase: 'Failed', run, lastKnownGood: good, postPromotion: { state: 'Held' } },
      ...{ lastAppliedSpec: head.digest, lastAppliedCommit: head.commit },
      rejected: [{ ...head, reason: 'AnalysisFailed', time: '' }],
    };
    const retry = offers(canary(status)).find(({ command }) => command === 'retry');
    expect(retry).toMatchObject({
      revision: 'v1:head',
      effect: 'The rejection of ddddddd is lifted, and it is rolled out again.',
    });
  });

  it('never goes back to a release that was rejected', () => {
    const rejected = [{ ...older, reason: 'RolledBack', time: '' }];
    const status: CanaryStatus = { phase: 'Succeeded', lastKnownGood: good, history: [older], rejected };
    expect(offers(canary(status)).map(({ command }) => command)).toEqual(['pause']);
  });
});

it('each command is the annotation of its verb', () => {
  expect(annotationFor('Canary', 'rollback', 'v1:good', 'now')).toEqual({
    verb: 'rollback-to',
    key: 'holdfast.dev/rollback-to',
    value: 'v1:good@now',
  });
  expect(annotationFor('Canary', 'pause', '', 'now')).toMatchObject({ value: 'true' });
  expect(annotationFor('Canary', 'resume', '', 'now')).toMatchObject({ verb: 'pause', value: null });
  expect(annotationFor('Source', 'abort', 'v1:good', 'now')).toBeUndefined();
  expect(annotationFor('Canary', 'constructor', '', 'now')).toBeUndefined();
});
