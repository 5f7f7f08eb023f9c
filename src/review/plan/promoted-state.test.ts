import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLocalRepository } from '../../git/store/local-repository.ts';
import { canaryText, deploymentText, type PlanBed, planBed, sourceText } from './plan.test-support.ts';
import { promotedInLedger } from './promoted-lookup.ts';
import { type PromotedState, promotedStateOf } from './promoted-state.ts';
import type { CanaryPlanned } from './report.ts';

let bed: PlanBed;
let [good, bad]: string[] = [];

// One history for all: the first commit is promoted, the second was rejected.
beforeAll(() => {
  bed = planBed();
  good = bed.repository.commit(
    {
      'sources/shop.yaml': sourceText(),
      'apps/web.yaml': deploymentText('shop/web:1'),
      'apps/canary.yaml': canaryText(),
    },
    'Sell',
  );
  bad = bed.repository.commit({ 'apps/web.yaml': deploymentText('shop/web:2') }, 'Pay faster');
  bed.repository.commit({ 'apps/web.yaml': deploymentText('shop/web:3') }, 'Pay safely');
  bed.repository.git('tag', 'fix');
  bed.repository.commit({ 'apps/web.yaml': deploymentText('shop/web:1') }, 'Back');
  bed.repository.git('tag', 'back');
});

afterAll(() => bed.close());

async function plan(head: string, state: PromotedState): Promise<CanaryPlanned | undefined> {
  const states = new Map([['shop/web', state]]);
  const look = async () => ({ states, notes: [] });
  const report = await bed.plan({ base: bad ?? '', head }, { look });
  return report.sources[0]?.canaries[0];
}

/** The cluster has the first commit promoted and has rejected the second. */
function rejected(): PromotedState {
  return promotedStateOf({
    phase: 'Failed',
    lastKnownGood: { commit: good ?? '', digest: 'v1:x', promotedTime: '2026-11-21T10:00:00Z', record: 'r' },
    rejected: [{ digest: 'v1:y', commit: bad ?? '', reason: 'ChecksFailed', time: '2026-11-21T11:00:00Z' }],
  });
}

describe('a plan compared with what is promoted', () => {
  it('says when base is not what runs, and what a revert goes back to', async () => {
    const found = await plan('fix', rejected());
    expect(found).toMatchObject({
      change: 'release',
      standing: { isBase: false, promoted: { commit: good } },
      revert: { possible: 'yes', to: { commit: good, from: 'cluster' } },
    });
    expect(found?.standing?.deviation).toBe(
      `base is not what runs: the cluster has ${good?.slice(0, 7)} "Sell" promoted: the release at base was rejected (ChecksFailed)`,
    );
  });

  it('knows a commit that goes back to what is promoted, and one that was rejected', async () => {
    expect(await plan('back', rejected())).toMatchObject({ change: 'again', flight: { isAnalysed: false } });
    const onGood = {
      ...rejected(),
      rejected: [{ digest: '', commit: bed.repository.git('rev-parse', 'fix'), reason: 'Aborted' }],
    };
    expect(await plan('fix', onGood)).toMatchObject({
      change: 'rejected',
      summary: expect.stringMatching(/was rejected before \(Aborted\).* holdfast retry -n shop canary\/web$/),
    });
  });

  it('lists a Canary that the change does not touch where base is not what runs', async () => {
    expect(await plan(bad ?? '', rejected())).toMatchObject({ change: 'none', standing: { isBase: false } });
    const isBase = promotedStateOf({
      lastKnownGood: { commit: bad ?? '', digest: 'v1:y', promotedTime: '', record: 'r' },
    });
    expect(await plan(bad ?? '', isBase)).toBeUndefined();
  });

  it('says where a release is held, and where nothing has proven itself', async () => {
    const held = promotedStateOf({
      phase: 'Promoting',
      postPromotion: { state: 'Held' },
      lastKnownGood: { commit: good ?? '', digest: 'v1:x', promotedTime: '', record: 'r' },
    });
    expect((await plan('fix', held))?.standing?.deviation).toMatch(/base is not what runs: .*; it is held$/);
    expect(await plan('fix', promotedStateOf({}))).toMatchObject({
      change: 'first',
      standing: { deviation: 'the cluster has no promoted release of this Canary yet' },
    });
  });

  it('says so where the promoted commit is not in the clone', async () => {
    const promoted = { commit: 'c'.repeat(40), subject: '' };
    const elsewhere: PromotedState = { from: 'ledger', promoted, serving: [], rejected: [] };
    const found = await plan('fix', elsewhere);
    expect(found).toMatchObject({ change: 'release', revert: { possible: 'yes' } });
    expect(found?.standing?.deviation).toMatch(/it cannot be read here, so it was not compared with base$/);
  });
});

describe('the ledger in the clone', () => {
  it('is what counts without a cluster; of several clusters one must be named', async () => {
    const repository = await openLocalRepository(bed.folder);
    expect(await promotedInLedger(repository, undefined)).toBeUndefined();
    bed.repository.git('update-ref', 'refs/holdfast/prod/shop/web/lkg', good ?? '');
    const one = await promotedInLedger(repository, undefined);
    expect(one?.states.get('shop/web')).toMatchObject({
      from: 'ledger',
      promoted: { commit: good, subject: 'Sell' },
    });
    expect((await plan('fix', one?.states.get('shop/web') as PromotedState))?.standing?.deviation).toMatch(
      /^base is not what runs: the ledger has .* "Sell" promoted$/,
    );
    bed.repository.git('update-ref', 'refs/holdfast/test/shop/web/lkg', bad ?? '');
    expect((await promotedInLedger(repository, undefined))?.notes).toEqual([
      'the ledger has several clusters (prod, test): choose one with --cluster-name',
    ]);
    expect((await promotedInLedger(repository, 'test'))?.states.get('shop/web')?.promoted?.commit).toBe(bad);
    expect((await promotedInLedger(repository, 'other'))?.notes[0]).toContain(
      'no ledger ref below refs/holdfast/other/',
    );
  });
});
