/** Checks run on their own clock, and each asks what it says. */
import { describe, expect, it } from 'vitest';
import { GOOD, type Model } from '../model.ts';
import { pass, standing } from '../waits.ts';
import {
  analysis,
  atWeight,
  expectBack,
  expectLive,
  LONG_MS,
  live,
  metrics,
  seenBy,
  until,
  untilOver,
} from './worlds.ts';

const LIVE = { first: '0000000000000000', second: '1111111111111111' };

const { stepWeight: _, maxWeight: __, ...checksAlone } = analysis;

describe('a rejected commit and a Secret outside Git that is rotated (issue 11, 12)', () => {
  it('is not tried again, since the Secret was not the cause', () => {
    const model = live();
    model.commit(`b+${LIVE.first}`, { ...GOOD, canaryMetric: 50 });
    until(model, 'Failed', () => model.status.phase === 'Failed' && model.status.run === undefined);
    model.rotate(LIVE.second);
    pass(model, 120_000);
    expect(model.target?.digest).toBe(`b+${LIVE.first}`);
    expectBack(model, { rejected: `b+${LIVE.first}` });
    expect(model.outages).toEqual([]);
  });

  it('is not tried again after it failed on the primary', () => {
    const model = live();
    model.commit(`b+${LIVE.first}`, { ...GOOD, primaryMetric: 50 });
    until(model, 'Failed', () => model.status.phase === 'Failed' && model.status.run === undefined);
    model.rotate(LIVE.second);
    pass(model, 120_000);
    expect(model.written).toEqual([`b+${LIVE.first}`, 'a']);
    expectBack(model, { rejected: `b+${LIVE.first}` });
  });

  it('is tried again where the config was the cause on the primary', () => {
    const model = live();
    model.breakPods('primary', 2, { fault: 'CreateContainerConfigError', of: `b+${LIVE.first}` });
    model.commit(`b+${LIVE.first}`);
    until(model, 'b under way', () => model.status.run !== undefined);
    until(model, 'Failed', () => model.status.phase === 'Failed' && model.status.run === undefined);
    expect(model.rejected).toMatchObject([{ cause: 'ReferenceMissing' }]);
    model.rotate(LIVE.second);
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expect(model.primary?.digest).toBe(`b+${LIVE.second}`);
    expect(model.broken).toEqual([]);
  });

  it('is tried again where the config was the cause', () => {
    const model = live();
    model.breakPods('canary', 2, { fault: 'CreateContainerConfigError', of: `b+${LIVE.first}` });
    model.commit(`b+${LIVE.first}`);
    until(model, 'b under way', () => model.status.run !== undefined);
    until(model, 'Failed', () => model.status.phase === 'Failed' && model.status.run === undefined);
    model.rotate(LIVE.second);
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expect(model.primary?.digest).toBe(`b+${LIVE.second}`);
    expect(model.status.lastPromotedCommit).toBe('sha-b');
    expect(model.broken).toEqual([]);
  });
});

describe('two metrics of one name (issue 11, 14)', () => {
  const twice = [...metrics, { ...metrics[0], templateRef: { name: 'other' } }];

  it('each ask their own query in the analysis', () => {
    const model = live({ analysis: { ...analysis, metrics: twice } });
    model.commit('b', { ...GOOD, metrics: { 'rate (2)': 50 } });
    until(model, 'b under way', () => model.status.run?.digest === 'b');
    pass(model, 300_000, () => model.status.run === undefined);
    expect(model.written).toEqual([]);
    expectBack(model, { rejected: 'b' });
  });

  it('each ask their own query after promotion', () => {
    const model = live({ postPromotion: { metrics: twice } });
    model.commit('b', { ...GOOD, metrics: { 'rate (2)': 50 } });
    until(model, 'b under way', () => model.status.run?.digest === 'b');
    pass(model, 300_000, () => model.status.run === undefined);
    expectBack(model, { rejected: 'b' });
  });
});

describe('pause (issue 11, 14)', () => {
  it('keeps steps and the promotion back', () => {
    const model = live();
    atWeight(model, 'b');
    model.ask('pause', 'true');
    pass(model, 120_000);
    expect(standing(model)).toMatch(/^Progressing, 50 % on the canary, primary a/);
    model.ask('pause', 'false');
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
  });

  it('does not keep a failing canary at 50 %', () => {
    const model = live();
    atWeight(model, 'b');
    model.ask('pause', 'true');
    pass(model, 20_000);
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    pass(model, 120_000, () => model.status.run === undefined);
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });
});

describe('onNoData wait (issue 11, 14)', () => {
  const spec = { analysis: { ...analysis, metrics: [{ ...metrics[0], onNoData: 'wait' }] } };

  it('ends after the progress deadline', () => {
    const model = live(spec);
    model.commit('b', { ...GOOD, canaryMetric: undefined });
    until(model, 'b under way', () => model.status.run?.digest === 'b');
    pass(model, 300_000, () => model.status.run === undefined);
    expect(model.status.history?.[0]).toMatchObject({ digest: 'b', result: 'Failed', reason: 'NoData' });
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });

  it('goes on when there is an answer before', () => {
    const model = live(spec);
    model.commit('b', { ...GOOD, canaryMetric: undefined });
    pass(model, 40_000);
    model.behaviours.set('b', GOOD);
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
  });
});

describe('metrics without an answer', () => {
  it('have their whole deadline again when they are corrected and the analysis restarts', () => {
    const waiting = metrics.map((metric) => ({ ...metric, onNoData: 'wait' as const }));
    const model = live({ analysis: { ...analysis, metrics: waiting } });
    model.commit('b', { ...GOOD, canaryMetric: undefined });
    until(model, 'a check without an answer', () => model.status.run?.unknownSince !== undefined);
    pass(model, 50_000);
    Object.assign(model.canary.spec.analysis, {
      metrics: waiting.map((metric) => ({ ...metric, interval: '20s' })),
    });
    until(model, 'the restart', () => model.events.some(({ reason }) => reason === 'AnalysisRestarted'));
    pass(model, 50_000);
    expect(standing(model)).toMatch(/^Progressing/);
    model.behaviours.set('b', GOOD);
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
  });
});

describe('all traffic on a blue/green release', () => {
  it('is there again before a check counts, when it had to leave for a while', () => {
    const { stepWeight: _, maxWeight: __, ...checks } = analysis;
    const model = live({ analysis: { ...checks, iterations: 2 } });
    model.commit('b');
    until(model, 'all traffic on b', () => model.route?.canaryWeight === 100);
    model.breakPods('canary', 2);
    until(model, 'all traffic on a', () => model.route?.canaryWeight === 0);
    model.healPods();
    const shares = seenBy(model, () => model.route?.canaryWeight);
    until(model, 'the promotion', () => model.primary?.digest === 'b');
    expect(shares).toEqual([0, 100]);
    until(model, 'the end', () => model.status.phase === 'Succeeded' && model.status.run === undefined);
    expectLive(model, 'b');
  });
});

describe('a changed analysis', () => {
  it.each([
    ['no pod', 2],
    ['one of two pods', 1],
  ])('does not wait for ever for a primary that has %s left', (_name, missing) => {
    const model = live();
    atWeight(model, 'b');
    model.breakPods('primary', missing);
    pass(model, 5000);
    model.canary.spec.analysis = { ...model.canary.spec.analysis, stepWeight: 40 };
    const seen = seenBy(model, () => model.status.message?.includes('restarts its analysis'));
    until(model, 'the end of the restart', () => seen.at(-1) === false);
    expect(model.status.run).toBeDefined();
    expect(model.broken).toEqual([]);
  });

  it('promotes a release at once without analysis, where the primary has no pod left', () => {
    const model = live();
    atWeight(model, 'b');
    model.die('a');
    model.canary.spec.skipAnalysis = true;
    until(model, 'the end', () => model.status.phase === 'Succeeded' && model.status.run === undefined);
    expectLive(model, 'b');
  });
});

describe('a canary that loses all its pods in the middle of its steps, after a check was asked', () => {
  /** Metrics of a side without traffic have nothing to say. */
  function losesItsPods(webhooks: readonly object[] = []): Model {
    const waiting = [{ ...metrics[0]!, onNoData: 'wait' }];
    const model = live({ analysis: { ...analysis, metrics: waiting, webhooks } });
    atWeight(model, 'b');
    model.behaviours.set('b', { ...GOOD, canaryMetric: undefined });
    const asked = model.asks.length;
    until(model, 'a check', () => model.asks.length > asked);
    model.breakPods('canary', 2);
    until(model, 'no share for what is gone', () => model.route?.canaryWeight === 0);
    return model;
  }

  it('takes its steps again once its pods are back', () => {
    const model = losesItsPods();
    model.healPods();
    until(model, 'its share', () => model.route?.canaryWeight === 50 || model.status.run === undefined);
    model.behaviours.set('b', GOOD);
    untilOver(model);
    expectLive(model, 'b');
  });

  it.each([0, 1, 2, 3])('does so though each other look ends after %i writes', (writes) => {
    const model = losesItsPods();
    model.healPods();
    for (let looks = 0; looks < 60 && model.route?.canaryWeight !== 50; looks += 1) {
      model.tick(1_000, writes);
      model.tick(1_000);
    }
    expect(model.route?.canaryWeight).toBe(50);
    model.behaviours.set('b', GOOD);
    untilOver(model);
    expectLive(model, 'b');
  });

  it('waits for a person who paused it, and for a gate, longer than for a check', () => {
    const model = losesItsPods([
      { name: 'gate', type: 'confirm-traffic-increase', url: 'http://hooks.test/' },
    ]);
    model.ask('pause', 'true');
    model.healPods();
    pass(model, 120_000);
    model.hooks['confirm-traffic-increase'] = 'refused';
    model.ask('pause', 'false');
    pass(model, 120_000);
    expect(standing(model)).toMatch(/^Progressing, 0 % on the canary, primary a/);
    model.hooks['confirm-traffic-increase'] = 'approved';
    until(model, 'its share', () => model.route?.canaryWeight === 50 || model.status.run === undefined);
    model.behaviours.set('b', GOOD);
    untilOver(model);
    expectLive(model, 'b');
  });

  it.each([
    ['by steps', analysis],
    ['in blue/green', { ...checksAlone, iterations: 2 }],
    ['with A/B', { ...checksAlone, iterations: 2, match: [{ headers: { beta: { exact: 'yes' } } }] }],
  ])('waits for its route, however long that cannot be written, %s', (_how, tried) => {
    const model = live({ analysis: tried });
    model.commit('b');
    until(model, 'its traffic', () => (model.route?.canaryWeight ?? 0) > 0);
    model.breakPods('canary', 2);
    until(model, 'no traffic', () => model.route?.canaryWeight === 0);
    model.refused.add('SetTraffic');
    model.healPods();
    pass(model, 300_000);
    model.refused.clear();
    untilOver(model);
    expectLive(model, 'b');
  });

  it.each([
    ['at its first step', analysis],
    ['in blue/green', { ...checksAlone, iterations: 2 }],
    ['with A/B', { ...checksAlone, iterations: 2, match: [{ headers: { beta: { exact: 'yes' } } }] }],
  ])('fails at the deadline if its pods never last until a check of its traffic, %s', (_how, tried) => {
    const model = live({ analysis: tried });
    model.commit('b');
    until(model, 'its traffic', () => (model.route?.canaryWeight ?? 0) > 0);
    const startMs = model.nowMs;
    while (model.status.run !== undefined && model.nowMs - startMs < LONG_MS) {
      model.breakPods('canary', 2);
      pass(model, 5_000);
      model.healPods();
      pass(model, 5_000);
    }
    expectBack(model, { rejected: 'b' });
    expect(model.nowMs - startMs).toBeLessThan(180_000);
  });

  it('fails at the deadline while its pods come and go', () => {
    const model = losesItsPods();
    const startMs = model.nowMs;
    while (model.status.run !== undefined && model.nowMs - startMs < LONG_MS) {
      model.healPods();
      pass(model, 5_000);
      model.breakPods('canary', 2);
      pass(model, 5_000);
    }
    expectBack(model, { rejected: 'b' });
    expect(model.nowMs - startMs).toBeLessThan(180_000);
  });
});
