import { describe, expect, it } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { localError } from '../../cluster/errors.ts';
import { aWorkload } from '../../rollout/fixtures.test-support.ts';
import type { World } from '../../rollout/world.ts';
import { handBackCanaries, judgeHandBack } from './hand-back.ts';
import type { ObservedCanary } from './read-canaries.ts';

const commit = { commit: '', subject: '', author: '', time: '' };

/** A Canary at rest, its primary on the last-known-good `v1:a`, and what is not so. */
function world(more: Partial<World> = {}): World {
  return {
    nowMs: 0,
    canary: {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'Canary',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        analysis: { interval: '10s', threshold: 1, stepWeight: 50 },
      },
    } as Canary,
    status: { phase: 'Succeeded' },
    head: { kind: 'unknown', reason: 'NoSource', message: 'no Source' },
    records: [{ digest: 'v1:a', commit, name: 'r', promotedTime: '2026-01-01T00:00:00Z' }],
    rejected: [],
    primary: aWorkload(),
    target: aWorkload({ name: 'web', desiredReplicas: 0, podContainers: [] }),
    route: { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false, accepted: true },
    checks: undefined,
    peers: { verifying: 0, failingNow: 0, failedTimes: [] },
    options: { minIntervalMs: 1000, defaultProvider: 'kubernetes' },
    ...more,
  };
}

const raised = { minReplicas: 4, maxReplicas: 9, restoreMinReplicas: 2, paused: false };
const scaler = { kind: 'HorizontalPodAutoscaler', name: 'web', settleMs: 0, canary: undefined } as const;
const rejected = [{ digest: 'v1:b', commit: '', reason: 'Failed', time: '' }];
const bad = aWorkload({ name: 'web', digest: 'v1:b', desiredReplicas: 0 });
const run = { digest: 'v1:b', commit: '', subject: '', startTime: '' } as never;

describe('a Canary', () => {
  it.each<readonly [string, Partial<World>, string, RegExp]>([
    ['at rest', {}, 'handedBack', /runs the revision of the target/],
    [
      'whose target holds what failed',
      { target: bad, rejected },
      'handedBack',
      /does not retry until it changes/,
    ],
    [
      'that Holdfast never took over',
      { primary: aWorkload({ digest: undefined }) },
      'notOurs',
      /nothing has changed for Flagger/,
    ],
    [
      'with a release under way',
      { status: { phase: 'Progressing', run } },
      'refused',
      /start Holdfast again .* holdfast abort -n shop canary\/web$/,
    ],
    ['whose target nobody analysed', { target: bad }, 'refused', /treat as promoted/],
    [
      'whose canary has traffic',
      { route: { primaryWeight: 50, canaryWeight: 50, mirrored: false, matched: false, accepted: true } },
      'refused',
      /canary has traffic; start Holdfast again/,
    ],
    ['whose primary is not ready', { primary: aWorkload({ availableReplicas: 0 }) }, 'refused', /not ready/],
    [
      'whose primary runs something else',
      { primary: aWorkload({ digest: 'v1:c' }) },
      'refused',
      /last known good release; start Holdfast again/,
    ],
    ['without a target', { target: undefined }, 'refused', /target does not exist/],
    ['whose scaler is raised', { scaler: { ...scaler, primary: raised } }, 'refused', /minReplicas/],
  ])('%s', (_, more, outcome, words) => {
    const found = judgeHandBack(world(more));
    expect(found.outcome).toBe(outcome);
    expect(found.why).toMatch(words);
  });
});

/** What comes of three Canaries at rest, the second of which the API server answers so. */
async function handedBack(error: Error) {
  const written: string[] = [];
  const client = {
    async patch({ name }: { name: string }) {
      if (name === 'api') throw error;
      written.push(name);
    },
  } as unknown as ClusterClient;
  const seen = ['admin', 'api', 'web'].map((name): ObservedCanary => {
    const object = { ...world().canary, metadata: { name, namespace: 'shop' } };
    return { object, foreignController: undefined, found: { world: world(), differences: [] } };
  });
  const rows = await handBackCanaries({ client }, seen, false);
  return { written, rows: rows.map(({ canary, outcome, why }) => [canary, outcome, why]) };
}

const rests = 'the primary runs the revision of the target';

it('a Canary that the API server refuses to write is named beside those that were handed back', async () => {
  const why = 'patch Canary shop/api: 409 it was changed meanwhile';
  expect(await handedBack(localError('conflict', why))).toEqual({
    written: ['admin', 'web'],
    rows: [
      ['shop/admin', 'handedBack', rests],
      ['shop/api', 'refused', why],
      ['shop/web', 'handedBack', rests],
    ],
  });
});

it('no further Canary is handed back once the API server does not answer, and what was done is told', async () => {
  expect(await handedBack(localError('timeout', 'patch Canary shop/api: no answer'))).toEqual({
    written: ['admin'],
    rows: [
      ['shop/admin', 'handedBack', rests],
      ['shop/api', 'refused', 'patch Canary shop/api: no answer'],
      ['shop/web', 'refused', 'nothing was done, since the API server does not answer'],
    ],
  });
});
