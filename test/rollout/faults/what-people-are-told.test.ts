/** Commits, reasons and next steps are those of the release that is meant. */
import { describe, expect, it } from 'vitest';
import { whyFailed } from '../../../src/api/canary/summary.ts';
import { GOOD, type Model } from '../model.ts';
import { pass, standing } from '../waits.ts';
import {
  analysis,
  atWeight,
  conditionOf,
  expectBack,
  expectLive,
  fallen,
  LONG_MS,
  live,
  metrics,
  seenBy,
  until,
} from './worlds.ts';

const BAD_COMMIT = '1111111b';
const UNRELATED = '7e90fdb0';

/** Every word that people were told or can read now. */
function said(model: Model): string {
  const { message, conditions = [], next, incidents = [] } = model.status;
  return JSON.stringify([message, conditions, next, incidents, model.events]);
}

/** Why the last release ended as it did, as far as the status still says. */
function why({ status: { message, conditions, history } }: Model): string {
  return JSON.stringify([message, conditions, history]);
}

const isOver = (model: Model) => () => model.status.phase === 'Failed' && model.status.run === undefined;

describe('git revert, then a fix at once (issue 11, 3)', () => {
  /** The commit that is called promoted while `a` is the last-known-good, at each step. */
  const commitsOfA = (model: Model) =>
    seenBy(model, () => {
      const { lastKnownGood, lastPromotedCommit } = model.status;
      return lastKnownGood?.digest === 'a' ? [lastPromotedCommit, lastKnownGood.commit] : undefined;
    });

  const revertAndFix = (model: Model, isThere: () => boolean) => {
    until(model, 'the state to revert in', isThere);
    const commits = commitsOfA(model);
    model.commit('a', GOOD, 's1', 'sha-revert');
    model.tick(1000);
    model.commit('c');
    pass(model, 300_000, () => model.status.phase === 'Succeeded' && model.primary?.digest === 'c');
    expect(commits.flat()).not.toContain('sha-c');
    expectLive(model, 'c');
    expect(model.outages).toEqual([]);
  };

  it('while the canary has half the traffic', () => {
    const model = live();
    model.commit('b');
    revertAndFix(model, () => model.route?.canaryWeight === 50);
  });

  it('while the primary takes the release over', () => {
    const model = live();
    model.commit('b', { ...GOOD, primaryReady: false });
    revertAndFix(model, () => model.primary?.digest === 'b');
  });

  it('while the release is verified', () => {
    const model = live({ postPromotion: { metrics, successThreshold: 5 } });
    model.commit('b');
    revertAndFix(model, () => model.status.postPromotion?.state === 'Verifying');
  });
});

describe('an unrelated commit', () => {
  it('is not accused of what another one did (issue 11, 15)', () => {
    const model = live();
    model.commit('b', { ...GOOD, canaryMetric: 50 }, 's1', BAD_COMMIT);
    until(model, 'Failed', isOver(model));
    model.events.length = 0;
    model.commit('b', model.behaviours.get('b'), 's1', UNRELATED);
    pass(model, 60_000);
    model.leadAnew();
    pass(model, 60_000);
    expect(model.status.message).toContain(BAD_COMMIT.slice(0, 7));
    expect(said(model)).not.toContain(UNRELATED.slice(0, 7));
    expect(model.status.lastAppliedCommit).toBe(BAD_COMMIT);
  });

  it('names no release that is rejected, held or live anew, and changes no status (issue 11, 19)', () => {
    const model = live();
    model.commit('b');
    until(model, 'b is live', () => model.status.lastPromotedSpec === 'b' && model.status.run === undefined);
    pass(model, 30_000);
    const { status, writes } = model;
    model.commit('b', GOOD, 's1', UNRELATED);
    pass(model, 60_000);
    expect(model.status).toEqual(status);
    expect(model.writes).toBe(writes);
  });

  it('changes no status of a rejected release (issue 11, 19)', () => {
    const model = live();
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    until(model, 'Failed', isOver(model));
    pass(model, 30_000);
    const { status, writes } = model;
    model.commit('b', model.behaviours.get('b'), 's1', UNRELATED);
    pass(model, 60_000);
    expect(model.status).toEqual(status);
    expect(model.writes).toBe(writes);
  });

  it('in the middle of a release leaves it the commit that brought it (issue 11, 19)', () => {
    const model = live();
    atWeight(model, 'b');
    model.commit('b', GOOD, 's1', UNRELATED);
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    pass(model, 30_000);
    expectLive(model, 'b');
    expect(model.status.history?.[0]?.commit).toBe('sha-b');
    expect(model.status.lastAppliedCommit).toBe('sha-b');
    expect(said(model)).not.toContain(UNRELATED.slice(0, 7));
  });
});

describe('what the status says (issue 11, 15)', () => {
  it('of a hold that ends by itself: the promotion goes on, not that nothing is automatic', () => {
    const model = live({ postPromotion: { onFailure: 'hold' } });
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
    pass(model, 20_000);
    expect(model.status.next?.action).toBeDefined();
    expect(model.status.next?.action).not.toMatch(/nothing automatic/);
    model.behaviours.set('b', GOOD);
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
  });

  it('of a canary that is ready: not that it is not', () => {
    const model = live();
    const seen = seenBy(model, () => {
      const ready = model.status.conditions?.find(({ type }) => type === 'Ready');
      const isBoth = ready?.reason === 'CanaryNotReady' && /\bis ready\b/.test(ready.message ?? '');
      return isBoth ? ready?.message : undefined;
    });
    model.commit('b');
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expect(seen).toEqual([]);
  });

  it('of a release that failed its analysis: why, long after it ended', () => {
    const model = live();
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    until(model, 'Failed', isOver(model));
    pass(model, 120_000);
    expect(why(model)).toContain('rate 50 < 99');
    expect(conditionOf(model, 'Ready')).toBe('False AnalysisFailed');
    expect(model.status.history?.[0]).toMatchObject({ digest: 'b', reason: 'AnalysisFailed' });
  });

  it('of a release that was reverted: why, long after it ended', () => {
    const model = live();
    model.commit('b', { ...GOOD, primaryMetric: 50 });
    until(model, 'Failed', isOver(model));
    pass(model, 120_000);
    expect(why(model)).toContain('rate 50 < 99');
    expect(model.status.history?.[0]).toMatchObject({ digest: 'b', reason: 'ChecksFailed' });
  });

  it.each([1, 2])(
    'of a last-known-good that loses %i of 2 pods after a release was rejected: not that it serves',
    (lost) => {
      const model = live();
      model.commit('b', { ...GOOD, canaryMetric: 50 });
      until(model, 'Failed', isOver(model));
      pass(model, 10_000);
      expect(model.status.message).toContain('sha-a "release a" serves');
      model.breakPods('primary', lost);
      pass(model, 10_000);
      expect(model.status.message).toMatch(
        /sha-b .* was rejected \(AnalysisFailed\); sha-a "release a" is not ready: /,
      );
      model.healPods();
      pass(model, 10_000);
      expect(model.status.message).toContain('sha-a "release a" serves');
    },
  );

  it('of a rollback to what serves alone: it is refused, with words', () => {
    const model = live();
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    until(model, 'Failed', isOver(model));
    model.ask('rollback-to', 'a');
    pass(model, 10_000);
    expect(model.status.answers?.['rollback-to']).toMatchObject({ result: 'Refused' });
    expect(model.status.answers?.['rollback-to']?.message).toMatch(/serves|runs/);
    expect(model.status.answers?.['rollback-to']?.message).not.toMatch(/on its way/);
    expectBack(model, { rejected: 'b' });
  });
});

describe('the successor of a superseded release fails (issue 11, 20)', () => {
  it('and the primary goes back as superseded, with nobody accused of having written it', () => {
    const model = live({ analysis, postPromotion: { metrics, successThreshold: 5 } });
    model.commit('b');
    until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
    model.commit('c', { ...GOOD, canaryMetric: 50 });
    until(model, 'c under way', () => model.status.run?.digest === 'c');
    const reasons = seenBy(model, () => model.status.postPromotion?.reason);
    pass(model, 300_000, () => model.primary?.digest === 'a' && model.status.run === undefined);
    expectBack(model, { rejected: 'c' });
    expect(reasons).toContain('Superseded');
    expect(said(model)).not.toContain('NotLastKnownGood');
    expect(said(model)).not.toMatch(/never proved itself|who wrote/);
    expect(model.outages).toEqual([]);
  });

  it('and the healthy primary is left as it is where the last-known-good does not come up beside it', () => {
    const model = live({ analysis, postPromotion: { metrics, successThreshold: 5 } });
    model.commit('b');
    until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
    model.commit('c', { ...GOOD, canaryMetric: 50 });
    until(model, 'c under way', () => model.status.run?.digest === 'c');
    model.behaviours.set('a', { ...GOOD, canaryReady: false, primaryReady: false });
    pass(model, LONG_MS, () => model.status.postPromotion?.reason === 'LKGNotReady');
    expect(standing(model)).toMatch(/^Failed\/Held LKGNotReady, 0 % on the canary, primary b 2\/2/);
    expect(model.status.incidents?.[0]?.finding).toMatch(
      /^the last-known-good sha-a .* does not become ready/,
    );
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });
});

describe('the last-known-good does not come back', () => {
  it('and the report says both that and why the release was rejected', () => {
    const { status } = fallen();
    const [report] = status.incidents ?? [];
    expect(report).toMatchObject({ outcome: 'Held', reason: 'LKGNotReady', commit: 'sha-b' });
    expect(report?.message).toMatch(/^the last-known-good sha-a .* does not become ready/);
    expect(report?.finding).toBe(status.conditions?.find(({ type }) => type === 'Verified')?.message);
    expect(whyFailed(status)).toBe(report?.finding);
  });
});
