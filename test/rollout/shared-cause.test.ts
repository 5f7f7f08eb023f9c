import { describe, expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';
import { until } from './waits.ts';

const bad = { ...GOOD, primaryMetric: 50 };

/** `b` is promoted over `a`, with these metrics on the primary, and is verified now. */
function verifying(spec = {}): Model {
  const model = new Model(spec);
  model.commit('a');
  model.until('Initialized');
  model.commit('b', bad);
  until(model, () => model.status.postPromotion?.state === 'Verifying');
  return model;
}

const isHeld = (model: Model) => model.status.postPromotion?.reason === 'SharedCause';

describe('checks that fail', () => {
  it.each([
    ['alone', { verifying: 0, failing: 0 }, false],
    ['with one other of two', { verifying: 1, failing: 1 }, false],
    ['with two others of fifteen', { verifying: 14, failing: 2 }, true],
    ['with two others of sixteen', { verifying: 15, failing: 2 }, false],
    ['with three others of a hundred', { verifying: 99, failing: 3 }, true],
  ])('%s', (_, { verifying: others, failing }, waits) => {
    const model = verifying();
    const failedTimes = Array.from({ length: failing }, () => new Date(model.nowMs).toISOString());
    model.peers = { verifying: others, failingNow: 0, failedTimes };
    until(model, () => isHeld(model) || model.status.postPromotion?.state === 'Reverting');
    expect(isHeld(model)).toBe(waits);
    expect(model.broken).toEqual([]);
  });

  it('wait only with auto', () => {
    const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
    const model = verifying({ postPromotion: { onFailure: 'revert', metrics } });
    model.peers = { verifying: 5, failingNow: 5, failedTimes: [] };
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
  });
});

describe('a release held for a shared cause', () => {
  function held(): Model {
    const model = verifying();
    model.peers = { verifying: 5, failingNow: 5, failedTimes: [] };
    until(model, () => isHeld(model));
    return model;
  }

  it('keeps the traffic on the primary while the others fail, and is reverted at the progress deadline', () => {
    const model = held();
    const beganMs = model.nowMs;
    // Five minutes, and the deadline of the model's Canary.
    const waitMs = 300_000 + 60_000;
    expect(Date.parse(model.status.next?.time ?? '') - beganMs).toBe(waitMs);
    while (isHeld(model) && model.nowMs - beganMs < 3_600_000) {
      expect(model.route?.canaryWeight).toBe(0);
      model.tick(10_000);
    }
    expect(model.nowMs - beganMs).toBeGreaterThanOrEqual(waitMs);
    expect(model.nowMs - beganMs).toBeLessThan(waitMs + 60_000);
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expect(model.outages).toEqual([]);
  });

  it.each([0, 3_600_000, -3_600_000])(
    'is reverted once, with one word about it, by a leader that takes over at the deadline with its clock off by %d ms',
    (clockOffsetMs) => {
      const model = held();
      const waitMs = 300_000 + 60_000;
      const beganMs = model.nowMs;
      while (model.nowMs - beganMs < waitMs - 10_000) model.tick(10_000);
      expect(isHeld(model)).toBe(true);
      // The one before sleeps over the deadline; nothing that it asked was answered.
      model.leadAnew(clockOffsetMs);
      model.until('Failed', 2_000);
      expect(model.reverts).toEqual(['b']);
      expect(model.written).toEqual(['a', 'b', 'a']);
      // Alerts are made of these.
      const told = (model.status.incidents ?? []).map(({ outcome }) => outcome);
      expect(told.filter((outcome) => outcome === 'Reverted' || outcome === 'Failed')).toHaveLength(1);
      expect(told.filter((outcome) => outcome === 'Held')).toHaveLength(1);
      expect(model.status.rejected).toHaveLength(1);
      expect(model.broken).toEqual([]);
    },
  );

  it('waits for as long as a person asks for it', () => {
    const model = held();
    model.ask('promote', 'b');
    model.tick(1000);
    expect(model.status.next?.action).toBe('checked again every interval');
    for (let count = 0; count < 200; count += 1) model.tick(10_000);
    expect(model.primary?.digest).toBe('b');
    expect(model.rejected).toEqual([]);
  });

  it.each(['hold', 'halt'] as const)(
    'is never reverted once onFailure is %s: its canary serves',
    (onFailure) => {
      const model = held();
      model.canary.spec.postPromotion = { ...model.canary.spec.postPromotion, onFailure };
      model.tick(1000);
      expect(model.status.next?.action).not.toContain('revert');
      for (let count = 0; count < 200; count += 1) model.tick(10_000);
      expect(model.reverts).toEqual([]);
      expect(model.rejected).toEqual([]);
      expect(model.status.postPromotion).toMatchObject({ state: 'Held', reason: 'ChecksFailed' });
      expect(model.route?.canaryWeight).toBe(100);
      expect(model.broken).toEqual([]);
    },
  );

  it('is verified on when the checks pass again', () => {
    const model = held();
    model.behaviours.set('b', GOOD);
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expect(model.broken).toEqual([]);
  });

  it('is reverted when the others are well and it still fails', () => {
    const model = held();
    model.peers = { verifying: 5, failingNow: 0, failedTimes: [] };
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expect(model.rejected.map(({ reason }) => reason)).toEqual(['ChecksFailed']);
    expect(model.broken).toEqual([]);
  });

  it('is reverted five minutes after the others were', () => {
    const model = verifying();
    const failedTimes = Array.from({ length: 4 }, () => new Date(model.nowMs).toISOString());
    model.peers = { verifying: 0, failingNow: 0, failedTimes };
    until(model, () => isHeld(model));
    const beganMs = model.nowMs;
    for (let count = 0; count < 400 && isHeld(model); count += 1) model.tick(1000);
    expect(model.nowMs - beganMs).toBeGreaterThan(4 * 60_000);
    model.until('Failed');
  });

  it('is reverted at once when its primary is lost, and on request', () => {
    const lost = held();
    lost.behaviours.set('b', { ...bad, primaryReady: false });
    lost.until('Failed');
    expect(lost.primary?.digest).toBe('a');
    const aborted = held();
    aborted.ask('abort', 'b');
    aborted.until('Failed');
    expect(aborted.rejected.map(({ reason }) => reason)).toEqual(['Aborted']);
  });
});
