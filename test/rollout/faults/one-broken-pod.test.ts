/** Pods break one by one: neither a way out nor a check waits for a whole primary. */
import { describe, expect, it } from 'vitest';
import { GOOD } from '../model.ts';
import { pass, standing } from '../waits.ts';
import {
  analysis,
  atWeight,
  expectBack,
  expectLive,
  LONG_MS,
  live,
  metrics,
  until,
  untilOver,
} from './worlds.ts';

describe('one primary pod of two is broken (issue 11, 1)', () => {
  it.each([['CrashLoopBackOff'], [undefined]])('and a hotfix gets through (%s)', (fault) => {
    const model = live();
    model.breakPods('primary', 1, fault ? { fault } : {});
    model.commit('b');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
    expect(model.outages).toEqual([]);
  });

  it('and a canary at 50 % that fails is still checked, and gone at the deadline', () => {
    const model = live();
    atWeight(model, 'b');
    model.breakPods('primary', 1);
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    const asked = model.asks.length;
    pass(model, 45_000);
    expect(model.asks.slice(asked)).toContain('canary analysis b');
    expect(model.route?.canaryWeight).toBeLessThanOrEqual(50);
    expect(model.rejected.map(({ digest }) => digest)).toEqual(['b']);
    pass(model, 120_000, () => model.status.run === undefined);
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });

  it('and abort takes the canary away', () => {
    const model = live();
    atWeight(model, 'b');
    model.breakPods('primary', 1);
    model.tick(1000);
    model.ask('abort', 'b');
    pass(model, 180_000, () => model.status.run === undefined && model.status.phase === 'Failed');
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });

  it('and a newer commit takes the place of a canary that fails', () => {
    const model = live();
    atWeight(model, 'b', 50, GOOD);
    model.breakPods('primary', 1);
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    pass(model, 30_000);
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.outages).toEqual([]);
  });
});

describe('a ready threshold of 50 and one pod of two missing (issue 11, 6)', () => {
  const half = { analysis: { ...analysis, primaryReadyThreshold: 50, canaryReadyThreshold: 50 } };

  it.each([
    ['RollingUpdate', false],
    ['Recreate', true],
  ])('a release is promoted (%s)', (_name, recreate) => {
    const model = live(half, (empty) => {
      empty.recreate = recreate;
    });
    model.commit('b');
    if (recreate) model.breakPods('primary', 1, { of: 'b' });
    until(model, 'b on the primary', () => model.primary?.digest === 'b' && model.primary.ready > 0);
    model.breakPods('primary', 1, { of: 'b' });
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
    expect(model.outages).toEqual([]);
  });

  it('a canary with half its pods gets all the traffic that its last step gives', () => {
    const model = live({ analysis: { ...half.analysis, stepWeight: 100, maxWeight: 100 } });
    model.breakPods('canary', 1, { of: 'b' });
    model.commit('b');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
    expect(model.outages).toEqual([]);
  });

  it.each(['canary', 'none'])(
    'a canary that was up has its own deadline when more pods break, whatever its controller says of the first one (%s)',
    (givenUp) => {
      const model = live(half);
      model.breakPods('canary', 1, { of: 'b' });
      atWeight(model, 'b');
      model.isCanaryGivenUp = givenUp === 'canary';
      model.breakPods('canary', 2, { of: 'b' });
      pass(model, 30_000);
      expect([model.status.run?.digest, model.rejected]).toEqual(['b', []]);
      model.healPods();
      until(model, 'the promotion', () => model.status.phase === 'Succeeded');
      expectLive(model, 'b');
    },
  );

  it('and one that was never up fails as soon as its controller gives up', () => {
    const model = live(half);
    model.breakPods('canary', 2, { of: 'b' });
    model.commit('b');
    until(model, 'its pods', () => model.target?.digest === 'b' && model.target.desired > 0);
    pass(model, 10_000);
    expect(model.rejected).toEqual([]);
    model.isCanaryGivenUp = true;
    pass(model, 10_000);
    expectBack(model, { rejected: 'b' });
  });

  it('a failing canary is left for half a primary that is scaled', () => {
    const model = live(half);
    model.scale('HorizontalPodAutoscaler', 4);
    atWeight(model, 'b');
    model.breakPods('primary', 2);
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    pass(model, LONG_MS, () => model.status.run === undefined);
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });
});

describe('one pod of ten cannot pull its image during verification (issue 11, 10)', () => {
  const spec = {
    analysis: { ...analysis, primaryReadyThreshold: 80 },
    postPromotion: { metrics, threshold: 2, successThreshold: 3 },
  };
  const verifying = () => {
    const model = live(spec, (empty) => {
      empty.replicas = 10;
    });
    model.commit('b');
    until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
    return model;
  };

  it('and the good release stays, once the pod is well', () => {
    const model = verifying();
    model.breakPods('primary', 1, { fault: 'ErrImagePull' });
    pass(model, 12_000);
    expect(standing(model)).toContain('Finalising/Verifying');
    expect(model.status.postPromotion?.failedChecks).toBe(1);
    model.healPods();
    untilOver(model);
    expectLive(model, 'b');
    expect(model.written).toEqual(['b']);
  });

  it('and more than the threshold allows end it at once', () => {
    const model = verifying();
    model.breakPods('primary', 3, { fault: 'ErrImagePull' });
    pass(model, 2000);
    expect(model.reverts).toEqual(['b']);
  });
});

describe('an A/B test while the primary has no pod', () => {
  it('leaves all requests with the canary until the primary is back', () => {
    const { stepWeight: _, maxWeight: __, ...checks } = analysis;
    const match = [{ headers: { beta: { exact: 'yes' } } }];
    const model = live({ provider: 'istio', analysis: { ...checks, iterations: 3, match } });
    model.commit('b');
    until(model, 'matched requests on b', () => model.route?.matched === true);
    model.breakPods('primary', 2);
    until(model, 'all requests on b', () => model.route?.matched === false);
    model.outages.length = 0;
    pass(model, 60_000);
    expect(model.outages).toEqual([]);
    model.healPods();
    until(model, 'the end', () => model.status.phase === 'Succeeded' && model.status.run === undefined);
    expectLive(model, 'b');
    expect(model.outages).toEqual([]);
  });
});
