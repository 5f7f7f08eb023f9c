/** What somebody changes of the primary by hand is told and put back, and proves nothing. */
import { describe, expect, it } from 'vitest';
import { step } from '../../../src/rollout/step.ts';
import { runOf, type World } from '../../../src/rollout/world.ts';
import { GOOD, type Model } from '../model.ts';
import { pass, standing } from '../waits.ts';
import {
  analysis,
  atWeight,
  conditionOf,
  expectBack,
  expectLive,
  live,
  metrics,
  seenBy,
  until,
  untilOver,
} from './worlds.ts';

const drifted = (model: Model) => seenBy(model, () => conditionOf(model, 'Drifted'));

describe('somebody sets another image on the primary (issue 11, 11)', () => {
  const slow = { postPromotion: { metrics, successThreshold: 3 } };

  it('while the release is verified: it is written again, and never stamped as proven', () => {
    const model = live(slow);
    model.commit('b');
    until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
    const seen = drifted(model);
    model.editPrimary();
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
    expect(model.drift).toBeUndefined();
    expect(seen).toContain('True ForeignChange');
    expect(model.outages).toEqual([]);
  });

  it('again and again while the release is verified: the hold says that, and not only that the primary changes', () => {
    const model = live(slow);
    model.commit('b');
    until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
    const world = model.world();
    const at = (ms: number) => new Date(ms).toISOString();
    const run = { ...runOf(world.status), unknownSince: at(world.nowMs), stepTime: at(world.nowMs + 30_000) };
    const changing = world.primary && { ...world.primary, observed: false };
    const { status } = step({
      ...world,
      status: { ...world.status, run } as World['status'],
      primary: changing,
      nowMs: world.nowMs + 61_000,
    });
    expect(status.postPromotion).toMatchObject({ state: 'Held', reason: 'ForeignChange' });
    expect(status.message).toMatch(/what others change of it is put back again and again/);
  });

  it('again and again while the primary takes it over, with progress of each turn: it is held at the deadline', () => {
    const model = live(slow);
    model.commit('b');
    until(model, 'b on the primary', () => model.primary?.digest === 'b');
    model.editPrimary();
    const world = model.world();
    const at = (ms: number) => new Date(world.nowMs + ms).toISOString();
    const since = { restoredSince: at(0), restoredTime: at(55_000), lastProgressTime: at(55_000) };
    const run = { ...runOf(world.status), ...since };
    const status = { ...world.status, run } as World['status'];
    expect(step({ ...world, status, nowMs: world.nowMs + 61_000 }).status).toMatchObject({
      postPromotion: { state: 'Held', reason: 'ForeignChange' },
      message: expect.stringMatching(/kubectl-set changed .* of the primary again and again/),
    });
  });

  it.each(['auto', 'halt'])(
    'by a controller, faster than it can be checked: it is held once, in one status line, until that ends: %s',
    (onFailure) => {
      const model = live({ postPromotion: { ...slow.postPromotion, onFailure } });
      model.commit('b');
      until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
      const edits = (forMs: number) => {
        for (let passedMs = 0; passedMs < forMs; passedMs += 5000) {
          model.editPrimary();
          pass(model, 5000);
        }
      };
      const before = model.events.length;
      edits(90_000);
      const held = standing(model);

      const lines = seenBy(model, () => model.status.message);
      edits(600_000);

      expect(held).toMatch(
        /^Promoting\/Held ForeignChange, 0 % .*kubectl-set changed .* of the primary again and again/,
      );
      expect(lines).toHaveLength(1);
      expect(model.events.slice(before).map(({ reason }) => reason)).toEqual(['Held']);
      if (onFailure === 'halt') model.drift = undefined;
      const resumed = () => model.events.filter(({ reason }) => reason === 'Resumed');
      pass(model, 300_000, () => model.status.phase === 'Succeeded');
      expectLive(model, 'b');
      expect(resumed().map(({ message }) => message)).toEqual([
        expect.stringMatching(/^nothing else changes the primary any more; verification of .* continues$/),
      ]);
      expect(model.outages).toEqual([]);
    },
  );

  it.each(['Converging', 'Verifying'])(
    'by a controller, as soon as it is written again: that is done once an interval, and it is held at the deadline: %s',
    (state) => {
      const model = live({ postPromotion: { ...slow.postPromotion, onFailure: 'hold', interval: '10s' } });
      model.commit('b');
      until(model, state, () => model.status.postPromotion?.state === state && model.primary?.digest === 'b');
      let restores = 0;
      const edits = (forMs: number) => {
        for (const endMs = model.nowMs + forMs; model.nowMs < endMs; ) {
          if (model.drift === undefined) restores += 1;
          model.tick(100);
          // Its pods are complete with the template of Git for a moment.
          Object.assign(model.primary ?? {}, { ready: 2, oldReady: 0 });
          model.tick(100);
          model.editPrimary();
          pass(model, 1000);
        }
      };
      edits(40_000);
      expect(restores).toBeGreaterThan(2);
      expect(restores).toBeLessThan(7);
      edits(80_000);
      expect(standing(model)).toMatch(/^Promoting\/Held ForeignChange.* again and again/);
      const { length } = model.events;
      edits(120_000);
      expect(model.events).toHaveLength(length);
      pass(model, 600_000, () => model.status.phase === 'Succeeded');
      expectLive(model, 'b');
    },
  );

  it('by a controller, where checks are further apart than the deadline: it is held once as well', () => {
    const model = live({ postPromotion: { ...slow.postPromotion, interval: '3m' } });
    model.commit('b');
    until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
    const before = model.events.length;
    for (let edits = 0; edits < 60; edits += 1) {
      model.editPrimary();
      pass(model, 20_000);
    }
    expect(model.events.slice(before).map(({ reason }) => reason)).toEqual(['Held']);
    pass(model, 900_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
  });

  it('while the primary takes it over: the traffic comes to what was tested', () => {
    const model = live({ ...slow, analysis: { ...analysis, stepWeightPromotion: 25 } });
    model.commit('b');
    until(model, 'b on the primary', () => model.primary?.digest === 'b');
    model.editPrimary();
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
    expect(model.drift).toBeUndefined();
    expect(model.outages).toEqual([]);
  });
});

describe('somebody sets another image on the primary while its release is held', () => {
  it.each(['auto', 'hold'])('it is written again, and promoted once its pods are ready: %s', (onFailure) => {
    const model = live({ analysis, postPromotion: { onFailure } });
    model.commit('b');
    until(model, 'b on the primary', () => model.primary?.digest === 'b');
    model.breakPods('primary', 2);
    until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
    pass(model, 10_000);
    model.editPrimary();
    pass(model, 10_000);
    model.healPods();
    untilOver(model);
    expectLive(model, 'b');
    expect(model.drift).toBeUndefined();
    expect(model.outages).toEqual([]);
  });

  it('nothing is written where onFailure is halt', () => {
    const model = live({ analysis, postPromotion: { onFailure: 'halt' } });
    model.commit('b');
    until(model, 'b on the primary', () => model.primary?.digest === 'b');
    model.breakPods('primary', 2);
    until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
    model.editPrimary();
    pass(model, 60_000);
    expect(model.drift).toBeDefined();
  });
});

describe('somebody scales the primary that no scaler owns', () => {
  it('to zero: it is told and put back (issue 11, 14)', () => {
    const model = live();
    const seen = drifted(model);
    model.scaleByHand('primary', 0);
    pass(model, 30_000);
    expect(seen).toContain('True ReplicasChanged');
    expect([model.primary?.desired, model.primary?.ready]).toEqual([2, 2]);
    expect(conditionOf(model, 'Drifted')).toMatch(/^False/);
    expect(model.route?.canaryWeight).toBe(0);
    expect(model.broken).toEqual([]);
  });

  it.each([[1], [5]])('to %d: it is told and put back (issue 11, 22)', (pods) => {
    const model = live();
    const seen = drifted(model);
    model.scaleByHand('primary', pods);
    pass(model, 30_000);
    expect(seen).toContain('True ReplicasChanged');
    expect(model.primary?.desired).toBe(2);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it('while a release is on its way: it is put back, and the release goes on (issue 11, 22)', () => {
    const model = live();
    model.commit('b');
    until(model, 'b at 50 %', () => model.route?.canaryWeight === 50);
    model.scaleByHand('primary', 0);
    model.tick(1000);
    model.outages.length = 0;
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
    expect(model.primary?.desired).toBe(2);
    expect(model.outages).toEqual([]);
  });

  it('but under a scaler the number is the scaler’s (issue 11, 22)', () => {
    const model = live();
    model.scale('HorizontalPodAutoscaler', 4);
    const seen = drifted(model);
    pass(model, 60_000);
    expect(seen).not.toContain('True ReplicasChanged');
    expect(model.primary?.desired).toBe(4);
  });
});

describe('what somebody else makes of the primary is there again after each write', () => {
  it.each([
    [
      'another image',
      /kubectl-set changed spec.template.* again and again/,
      (model: Model) => {
        const { reconcile } = model;
        model.reconcile = (crashAfter) => {
          if (model.primary?.digest === 'b') model.editPrimary();
          return reconcile.call(model, crashAfter) && false;
        };
      },
    ],
    [
      'fewer pods',
      /podinfo-primary has 1 of 2 pods: something else sets their number/,
      (model: Model) => {
        model.capped = 1;
        model.scaleByHand('primary', 1);
      },
    ],
  ])('%s: the release is held at its deadline, and says why', (_name, why, change) => {
    const model = live({ postPromotion: { metrics, onFailure: 'hold' } });
    change(model);
    model.commit('b');
    until(model, 'b on the primary', () => model.primary?.digest === 'b');
    pass(model, 90_000);
    expect(standing(model)).toMatch(/^Promoting\/Held PrimaryNotReady, 100 % on the canary/);
    expect(model.status.postPromotion?.cause).toMatch(why);
    const { length } = model.events;
    pass(model, 60_000);
    expect(model.events.slice(length)).toEqual([]);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });
});

it('a last-known-good that something else keeps at fewer pods gets all traffic at the deadline of its revert', () => {
  const model = live({ analysis, postPromotion: { metrics } });
  model.commit('b', { ...GOOD, primaryReady: false });
  until(model, 'the revert', () => model.status.postPromotion?.state === 'Reverting');
  model.capped = 1;
  model.scaleByHand('primary', 1);
  pass(model, 50_000);
  expect(standing(model)).toMatch(
    /^Promoting\/Reverting .*, 100 % on the canary, primary a 1\/1.*: reverting to .*; the primary has 1 of 2 ready pods that it needs for 100 %$/,
  );
  const { action, time = '' } = model.status.next ?? {};
  expect(action).toBe('all traffic to the ready pods of the primary');
  pass(model, 20_000, () => model.route?.canaryWeight === 0);
  expect(Math.abs(model.nowMs - Date.parse(time))).toBeLessThan(2_000);
  pass(model, 20_000, () => model.status.run === undefined);
  expectBack(model, { rejected: 'b' });
  expect(model.target?.desired).toBe(0);
  expect(model.outages).toEqual([]);
});

it('a release that fails while something else keeps the primary at fewer pods says what its traffic waits for, and until when', () => {
  const model = live();
  atWeight(model, 'b');
  model.capped = 1;
  model.scaleByHand('primary', 1);
  model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
  until(model, 'the end of b', () => conditionOf(model, 'Ready') === 'False WaitingForPrimary');
  expect(standing(model)).toMatch(
    /50 % on the canary.*: the primary has 1 of 2 ready pods that it needs for 100 %$/,
  );
  const { action, time = '' } = model.status.next ?? {};
  expect(action).toBe('all traffic to the ready pods of the primary');
  until(model, 'all traffic on the primary', () => model.route?.canaryWeight === 0);
  expect(Math.abs(model.nowMs - Date.parse(time))).toBeLessThan(2_000);
  untilOver(model);
  expectBack(model, { rejected: 'b' });
  expect(model.outages).toEqual([]);
});

describe('somebody gives the canary more traffic than any step does', () => {
  it('it goes back to the primary, and the steps start over (S3)', () => {
    const model = live({ analysis: { ...analysis, stepWeight: undefined, stepWeights: [10, 20] } });
    atWeight(model, 'b', 10);
    if (model.route) Object.assign(model.route, { primaryWeight: 40, canaryWeight: 60 });
    const weights = seenBy(model, () => model.route?.canaryWeight);
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
    expect(weights.slice(0, 4)).toEqual([0, 10, 20, 0]);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });
});

it('a canary that has all traffic by hand, and a primary that never has the pods to take it back: it is checked all the same', () => {
  const model = live();
  atWeight(model, 'b');
  model.capped = 1;
  model.scaleByHand('primary', 1);
  if (model.route) Object.assign(model.route, { primaryWeight: 0, canaryWeight: 100 });
  model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
  pass(model, 50_000);
  expect(standing(model)).toMatch(
    /^Progressing, 100 % .* more traffic than its steps allow; they start over/,
  );
  untilOver(model);
  expectBack(model, { rejected: 'b' });
  expect(model.outages).toEqual([]);
});

describe('the status is lost, and the primary is put back from a backup', () => {
  it('with a rejected release that is still at head: the last-known-good serves again', () => {
    const model = live();
    atWeight(model, 'b');
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    until(model, 'the end of b', () => model.status.run === undefined);
    model.status = {};
    Object.assign(model.primary ?? {}, { digest: 'b', version: 9 });
    pass(model, 120_000);
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });
});

describe('somebody scales the canary to zero while its release is verified', () => {
  const verifying = (primaryMetric: number) => {
    const model = live({ analysis, postPromotion: { metrics, onFailure: 'revert' } });
    model.commit('b');
    until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
    model.behaviours.set('b', { ...GOOD, primaryMetric });
    model.scaleByHand('canary', 0);
    untilOver(model);
    return model.status.incidents?.map(({ outcome }) => outcome);
  };

  it('and how it ends is reported all the same', () => {
    expect(verifying(100)).toContain('Succeeded');
    expect(verifying(50)).toContain('Reverted');
  });
});

describe('a primary that was ready for longer than its deadline, and is changed by hand', () => {
  const edit = (model: Model) => model.editPrimary();
  const scale = (model: Model) => model.scaleByHand('primary', 1);

  it.each([
    ['is edited while traffic moves to it step by step', 10, 1, edit],
    ['is scaled while traffic moves to it step by step', 10, 1, scale],
    ['is edited while it is verified', 100, 8, edit],
    ['is scaled while it is verified', 100, 8, scale],
  ])('%s: it is put back, and the release goes on', (_, stepWeightPromotion, successThreshold, change) => {
    const model = live({
      analysis: { ...analysis, interval: '30s', stepWeightPromotion },
      postPromotion: { metrics, successThreshold },
    });
    model.commit('b');
    until(model, 'a ready primary', () => model.primary?.digest === 'b' && model.primary.ready === 2);
    pass(model, 90_000);
    expect(model.status.run?.digest).toBe('b');
    change(model);
    const states = seenBy(model, () => model.status.postPromotion?.state);
    pass(model, 1_000_000, () => model.status.phase === 'Succeeded');
    expect(states).not.toContain('Held');
    expectLive(model, 'b');
  });
});

it('a canary that somebody scaled to zero, which is only seen when its checks had no result for too long, is scaled up and tried again', () => {
  const waiting = metrics.map((metric) => ({ ...metric, onNoData: 'wait' as const }));
  const model = live({ analysis: { ...analysis, metrics: waiting, interval: '5s' } });
  model.commit('b', { ...GOOD, canaryMetric: undefined });
  until(model, 'a check without a result', () => model.status.run?.unknownSince !== undefined);
  const sinceMs = Date.parse(String(model.status.run?.unknownSince));
  until(model, 'the last second', () => model.nowMs - sinceMs >= 59_000);

  model.scaleByHand('canary', 0);
  model.behaviours.set('b', GOOD);
  untilOver(model);

  expectLive(model, 'b');
});
