import { describe, expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';
import { until } from './waits.ts';

/** `a` is the last-known-good of a Canary that hands its traffic back. */
function withGood(spec = {}): Model {
  const model = new Model({ revertOnDeletion: true, ...spec });
  model.commit('a');
  model.until('Initialized');
  model.outages.length = 0;
  return model;
}

function expectHandedBack(model: Model, digest: string): void {
  until(model, () => model.gone);
  expect(model.ownerless).toEqual({ routes: true, primary: false });
  expect(model.target).toMatchObject({ digest, desired: 2, ready: 2 });
  expect(model.route?.canaryWeight).toBe(100);
  expect(model.outages).toEqual([]);
  expect(model.broken).toEqual([]);
}

function expectPrimaryServes(model: Model, digest: string): void {
  expect(model.primary).toMatchObject({ digest, desired: 2, ready: 2 });
  expect(model.route?.canaryWeight).toBe(0);
  expect(model.broken).toEqual([]);
}

describe('a Canary that is deleted with revertOnDeletion', () => {
  it.each(['kubernetes', 'gatewayapi:v1'])('hands the traffic back to its target (%s)', (provider) => {
    const model = withGood({ provider });
    model.delete();
    expectHandedBack(model, 'a');
  });

  it('hands back the last-known-good when a release was stopped', () => {
    const model = withGood();
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    model.until('Failed');
    model.delete();
    expectHandedBack(model, 'a');
  });

  it.each(['Progressing', 'Verifying', 'Reverting'])('hands back from %s', (state) => {
    const model = withGood();
    model.commit('b', { ...GOOD, primaryMetric: 50 });
    if (state === 'Progressing') until(model, () => model.route?.canaryWeight === 50);
    else until(model, () => model.status.postPromotion?.state === state);
    model.delete();
    expectHandedBack(model, 'a');
  });

  it.each([50, 100])('leaves the healthy canary serving when only it does, at %i %%', (weight) => {
    const model = withGood();
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, () => model.primary?.digest === 'b' && model.route?.canaryWeight === weight);
    model.delete();
    expectHandedBack(model, 'b');
  });

  it('leaves the primary with its traffic when the target does not come up, and goes', () => {
    const model = withGood();
    model.behaviours.set('a', { ...GOOD, canaryReady: false });
    model.delete();
    const beganMs = model.nowMs;
    until(model, () => model.gone);
    expect(model.nowMs - beganMs).toBeLessThanOrEqual(60_000 + 60_000);
    expect(model.events.at(-1)).toMatchObject({
      reason: 'HandBackGivenUp',
      message: expect.stringContaining('podinfo-primary stays without an owner'),
    });
    expect(model.ownerless).toEqual({ routes: true, primary: true });
    expectPrimaryServes(model, 'a');
  });

  it('gives traffic that the target cannot carry back to the primary', () => {
    const model = withGood();
    model.commit('b');
    until(model, () => model.route?.canaryWeight === 50);
    model.behaviours.set('a', { ...GOOD, canaryReady: false });
    model.behaviours.set('b', { ...GOOD, canaryReady: false });
    model.delete();
    until(model, () => model.gone);
    expectPrimaryServes(model, 'a');
  });

  it('leaves a primary that nobody could take the place of, also when it does not serve at that moment', () => {
    const model = withGood();
    model.behaviours.set('a', { ...GOOD, canaryReady: false, primaryReady: false });
    model.delete();
    until(model, () => model.gone);
    model.behaviours.set('a', GOOD);
    model.tick();
    expectPrimaryServes(model, 'a');
  });

  it('takes a primary that was left behind for its own when it is created again', () => {
    const model = withGood();
    model.behaviours.set('a', { ...GOOD, canaryReady: false });
    model.delete();
    until(model, () => model.gone);
    model.behaviours.set('a', GOOD);
    model.createAgain();
    model.until('Succeeded');
    until(model, () => model.target?.desired === 0);
    expectPrimaryServes(model, 'a');
    model.commit('b');
    model.tick();
    model.until('Succeeded');
    expectPrimaryServes(model, 'b');
    expect(model.outages).toEqual([]);
  });

  it.each([0, 1, 2, 3, 4])('carries on after a crash at write %i', (after) => {
    const model = withGood();
    model.delete();
    for (let count = 0; count < 10; count += 1) model.tick(1000, after);
    expectHandedBack(model, 'a');
  });

  it('does so while it is suspended or paused', () => {
    const model = withGood();
    model.canary.spec.suspend = true;
    model.ask('pause', 'true');
    model.delete();
    expectHandedBack(model, 'a');
  });

  it('goes at once when revertOnDeletion is switched off meanwhile', () => {
    const model = withGood();
    model.behaviours.set('a', { ...GOOD, canaryReady: false });
    model.delete();
    model.tick();
    model.canary.spec.revertOnDeletion = false;
    model.tick();
    expect(model.gone).toBe(true);
  });
});

describe('a Canary that is created again', () => {
  it('takes its last-known-good from the record and moves the traffic without an outage', () => {
    const model = withGood();
    model.commit('b');
    until(model, () => model.status.lastKnownGood?.digest === 'b' && model.status.run === undefined);
    model.delete();
    until(model, () => model.gone);
    model.createAgain();
    model.until('Succeeded');
    until(model, () => model.target?.desired === 0);
    expect(model.primary?.digest).toBe('b');
    expect(model.route?.canaryWeight).toBe(0);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it('starts from the record even if head went on meanwhile, which is then an ordinary release', () => {
    const model = withGood({ revertOnDeletion: false });
    model.delete();
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    model.createAgain();
    until(model, () => model.rejected.length > 0 && model.status.run === undefined);
    expect(model.primary?.digest).toBe('a');
    expect(model.rejected.map(({ digest }) => digest)).toEqual(['b']);
  });
});
