/** What somebody changes of the primary by hand is told and put back, and proves nothing. */
import { describe, expect, it } from 'vitest';
import type { Model } from '../model.ts';
import { analysis, conditionOf, expectLive, live, metrics, pass, seenBy, until } from './worlds.ts';

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
