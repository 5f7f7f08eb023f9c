/** Leaders follow one another, and their clocks differ: no stamp hides a release or stops a timer (issue 11, 13). */
import { describe, expect, it } from 'vitest';
import { GOOD, Model } from '../model.ts';
import { pass, standing } from '../waits.ts';
import { atWeight, expectBack, expectLive, live, seenBy, until } from './worlds.ts';

const HOUR_MS = 3_600_000;

describe('the leader of before was an hour ahead', () => {
  it('and what proves itself now is the last-known-good', () => {
    const model = live({}, (empty) => empty.leadAnew(HOUR_MS));
    model.leadAnew();
    model.commit('b');
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
    expect(model.outages).toEqual([]);
  });

  it('and a revert goes to what proved itself last', () => {
    const model = live({}, (empty) => empty.leadAnew(HOUR_MS));
    model.leadAnew();
    model.commit('b');
    pass(model, 300_000);
    model.commit('c', { ...GOOD, primaryMetric: 50 });
    until(model, 'Failed', () => model.status.phase === 'Failed' && model.status.run === undefined);
    expectBack(model, { rejected: 'c', good: 'b' });
  });

  it('and its release goes on at its pace', () => {
    const model = live({}, (empty) => empty.leadAnew(HOUR_MS));
    atWeight(model, 'b');
    model.leadAnew();
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
    expect(model.outages).toEqual([]);
  });

  it('and a primary that does not come up is held and reverted in time', () => {
    const model = live({}, (empty) => empty.leadAnew(HOUR_MS));
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, 'b on the primary', () => model.primary?.digest === 'b');
    model.leadAnew();
    pass(model, 300_000, () => model.status.run === undefined);
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });

  it('and a newer revision does not wait an hour for metrics without an answer', () => {
    const model = live({}, (empty) => empty.leadAnew(HOUR_MS));
    model.commit('b', { ...GOOD, primaryMetric: undefined });
    until(
      model,
      'a check without an answer',
      () => model.status.postPromotion?.reason === 'ChecksUnavailable',
    );
    model.leadAnew();
    model.commit('c');
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
  });

  it('and a deletion that has handed its traffic back ends', () => {
    const model = live({ revertOnDeletion: true }, (empty) => empty.leadAnew(HOUR_MS));
    model.delete();
    until(model, 'Terminated', () => model.status.phase === 'Terminated');
    expect(model.gone).toBe(false);
    model.leadAnew();
    pass(model, 1_000);
    expect(model.gone).toBe(false);
    pass(model, 2_000);
    expect([model.gone, model.ownerless]).toEqual([true, { routes: true, primary: false }]);
    expect(model.outages).toEqual([]);
  });

  it('and what it reverted then is no cause that releases of an hour later share', () => {
    const model = live();
    model.leadAnew();
    const failedTime = new Date(model.nowMs + HOUR_MS).toISOString();
    model.peers = { verifying: 0, failingNow: 0, failedTimes: Array.from({ length: 3 }, () => failedTime) };
    pass(model, 310_000);
    model.commit('b', { ...GOOD, primaryMetric: 50 });
    const states = seenBy(model, () => model.status.postPromotion?.state);
    until(model, 'the end', () => model.status.phase === 'Failed');
    expect(states).not.toContain('Held');
  });

  it('and a move to another provider goes on', () => {
    const model = new Model({});
    model.leadAnew(HOUR_MS);
    model.leaveInPlace('a');
    Object.assign(model.status.move ?? {}, { startTime: new Date(model.clockMs).toISOString() });
    model.leadAnew();
    pass(model, 60_000);
    expect([model.status.move, model.primary?.digest, model.route?.canaryWeight]).toEqual([
      undefined,
      'a',
      0,
    ]);
    expect(model.broken).toEqual([]);
  });
});

describe('the leader of before was an hour behind', () => {
  it('and no deadline is over before its time', () => {
    const model = live();
    model.commit('b', { ...GOOD, canaryReady: false });
    until(model, 'the canary', () => model.target?.digest === 'b');
    pass(model, 10_000);
    model.leadAnew(HOUR_MS);
    pass(model, 30_000);
    expect(standing(model)).toMatch(/^Progressing, 0 %/);
    model.behaviours.set('b', GOOD);
    pass(model, 300_000, () => model.status.phase === 'Succeeded');
    expectLive(model, 'b');
  });

  it('and a primary is not stopped before the data plane has taken its requests away', () => {
    const model = live();
    model.recreate = true;
    model.commit('b');
    until(model, 'all traffic on the canary', () => model.route?.canaryWeight === 100);
    const movedMs = model.nowMs;
    model.leadAnew(HOUR_MS);
    until(model, 'b on the primary', () => model.primary?.digest === 'b');
    expect(model.nowMs - movedMs).toBeGreaterThanOrEqual(2000);
  });
});

describe('a leader whose clock is a day off takes over while a Canary is being deleted', () => {
  it.each([24 * HOUR_MS, -24 * HOUR_MS])('and the deletion has its whole time (%i ms)', (offsetMs) => {
    const model = live({ revertOnDeletion: true });
    model.behaviours.set('a', { ...GOOD, canaryReady: false });
    model.delete();
    pass(model, 5_000);
    model.leadAnew(offsetMs);
    pass(model, 30_000);
    expect([model.gone, model.status.phase]).toEqual([false, 'Terminating']);
    model.behaviours.set('a', GOOD);
    pass(model, 60_000, () => model.gone);
    expect([model.ownerless, model.route?.canaryWeight]).toEqual([{ routes: true, primary: false }, 100]);
    expect(model.outages).toEqual([]);
  });

  it.each([24 * HOUR_MS, -24 * HOUR_MS])(
    'and a target that was ready before gets the traffic (%i ms)',
    (offsetMs) => {
      const model = live({ revertOnDeletion: true });
      model.delete();
      until(model, 'a ready target', () => model.status.handBack !== undefined);
      model.leadAnew(offsetMs);
      pass(model, 30_000, () => model.gone);
      expect([model.gone, model.ownerless]).toEqual([true, { routes: true, primary: false }]);
      expect(model.route?.canaryWeight).toBe(100);
      expect(model.outages).toEqual([]);
    },
  );

  it.each([24 * HOUR_MS, -24 * HOUR_MS])('and it ends at its deadline all the same (%i ms)', (offsetMs) => {
    const model = live({ revertOnDeletion: true });
    model.behaviours.set('a', { ...GOOD, canaryReady: false });
    model.delete();
    pass(model, 5_000);
    model.leadAnew(offsetMs);
    pass(model, 120_000, () => model.gone);
    expect(model.ownerless).toEqual({ routes: true, primary: true });
    expect(model.outages).toEqual([]);
  });
});
