import { describe, expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';

const kinds = ['HorizontalPodAutoscaler', 'ScaledObject'] as const;
const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
const steps = { interval: '10s', threshold: 2, stepWeights: [10, 50], metrics };

/** Initialized, then under a load that needs 10 primary pods; the canary begins with one. */
function scaled(kind: (typeof kinds)[number], spec: object = {}, bounds = {}): Model {
  const model = new Model({ analysis: steps, ...spec } as never);
  model.commit('a');
  model.until('Initialized');
  model.scale(kind, 10, bounds);
  model.tick();
  model.tick();
  model.outages.length = 0;
  return model;
}

function expectRestored(model: Model): void {
  const { primary, canary } = model.scalers?.view ?? {};
  expect(primary).toMatchObject({ minReplicas: 1, restoreMinReplicas: undefined, paused: false });
  expect(canary).toMatchObject({ minReplicas: 1, restoreMinReplicas: undefined });
  expect(model.target?.desired).toBe(0);
}

function expectCarried(model: Model): void {
  expect(model.scalers?.overloads).toEqual([]);
  expect(model.outages).toEqual([]);
  expect(model.broken).toEqual([]);
}

describe.each(kinds)('10 primary pods against a canary of one, scaled by a %s', (kind) => {
  it('promotes with enough pods for every share, and gives minReplicas back', () => {
    const model = scaled(kind);
    model.commit('b');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expectCarried(model);
    expectRestored(model);
  });

  it.each([false, true])('holds and reverts a primary that does not come up (Recreate: %s)', (recreate) => {
    const model = scaled(kind);
    model.recreate = recreate;
    model.commit('b', { ...GOOD, primaryReady: false });
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expectCarried(model);
    expectRestored(model);
  });

  it('takes all traffic back from a canary that fails its analysis', () => {
    const model = scaled(kind);
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    model.until('Failed');
    expectCarried(model);
    expectRestored(model);
  });

  it('rests paused only where the scaler would bring it back', () => {
    const model = scaled(kind);
    model.tick();
    expect(model.scalers?.view.canary?.paused).toBe(kind === 'ScaledObject');
  });

  it('raises the share only as far as maxReplicas of the canary carries it, and promotes from there', () => {
    const model = scaled(kind, {}, { canaryMax: 3 });
    model.commit('b');
    const weights = new Set<number>();
    for (let count = 0; count < 60 && model.status.phase !== 'Succeeded'; count += 1) {
      model.tick();
      weights.add(model.route?.canaryWeight ?? 0);
    }
    expect(model.status.phase).toBe('Succeeded');
    expect(Math.max(...weights)).toBe(30);
    expectCarried(model);
    expectRestored(model);
  });

  it('fails a release for which the primary must be cleared when the canary can never carry it all', () => {
    const model = scaled(kind, {}, { canaryMax: 3 });
    model.recreate = true;
    model.commit('b');
    model.until('Failed');
    expect(model.rejected.map((entry) => entry.reason)).toEqual(['CapacityNotReached']);
    expect(model.primary?.digest).toBe('a');
    expectRestored(model);
  });
});
