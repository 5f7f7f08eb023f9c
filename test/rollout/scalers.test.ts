import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { step } from '../../src/rollout/step.ts';
import { GOOD, Model } from './model.ts';
import { until } from './waits.ts';

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
  model.scalers?.overloads.splice(0);
  return model;
}

function expectRestored(model: Model): void {
  expect(model.scalers?.left('primary')).toEqual([]);
  expect(model.scalers?.left('canary')).toEqual(
    model.scalers?.view.kind === 'ScaledObject' ? ['paused'] : [],
  );
  expect(model.target?.desired).toBe(0);
}

/** Every way in which a release ends, from its start to its end. */
const ends: Record<string, (model: Model) => void> = {
  promoted: (model) => {
    model.commit('b');
    model.until('Succeeded');
  },
  reverted: (model) => {
    model.commit('b', { ...GOOD, primaryMetric: 50 });
    model.until('Failed');
  },
  'held and reverted': (model) => {
    model.commit('b', { ...GOOD, primaryReady: false });
    model.until('Failed');
  },
  'failed in its analysis': (model) => {
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    model.until('Failed');
  },
  aborted: (model) => {
    model.commit('b');
    until(model, () => model.route?.canaryWeight === 50);
    model.ask('abort', 'b@1');
    model.until('Failed');
  },
  'promoted without analysis': (model) => {
    model.canary.spec.skipAnalysis = true;
    model.commit('b');
    model.until('Succeeded');
  },
  'suspended in between': (model) => {
    model.commit('b');
    until(model, () => model.route?.canaryWeight === 50);
    model.canary.spec.suspend = true;
    for (let count = 0; count < 30; count += 1) model.tick();
    model.canary.spec.suspend = false;
    model.until('Succeeded');
  },
  'reverted in Git': (model) => {
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, () => model.primary?.digest === 'b');
    model.commit('a');
    model.until('Succeeded');
  },
};

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

  it('tells at the deadline that a person must act when nobody gives the primary the pods for its traffic', () => {
    const model = scaled(kind, { progressDeadlineSeconds: 120 });
    model.recreate = true;
    model.commit('b');
    until(model, () => model.primary?.digest === 'b' && model.route?.canaryWeight === 100);
    // Its controller is gone: nobody acts on a higher minReplicas.
    Object.assign(model.scalers ?? {}, { work: () => undefined });
    Object.assign(model.primary ?? {}, { desired: 2, ready: 2, oldReady: 0 });
    const stalled = () => conditionOf(model.status, 'Stalled');
    until(model, () => model.status.message === 'the primary has 2 of 10 ready pods that it needs for 100 %');
    expect(stalled()?.status).toBe('False');
    until(model, () => stalled()?.status === 'True');
    expect(stalled()?.reason).toBe('WaitingForCapacity');
    expect(model.broken).toEqual([]);
  });

  it('tells at the deadline that a person must act when nobody gives the canary the pods for its next step', () => {
    const model = scaled(kind, { progressDeadlineSeconds: 120, analysis: { ...steps, interval: '150s' } });
    model.commit('b');
    until(model, () => model.route?.canaryWeight === 10);
    // Its controller is gone: nobody acts on a higher minReplicas.
    Object.assign(model.scalers ?? {}, { work: () => undefined });
    Object.assign(model.target ?? {}, { desired: 1, ready: 1, oldReady: 0 });
    const stalled = () => conditionOf(model.status, 'Stalled');
    const message = 'the canary has 1 of 5 ready pods that it needs for 50 %';
    until(model, () => model.status.message === message);
    expect(stalled()?.status).toBe('False');
    until(model, () => stalled()?.status === 'True');
    expect(stalled()).toMatchObject({ reason: 'WaitingForCapacity', message });
    Object.assign(model.target ?? {}, { desired: 5, ready: 5 });
    until(model, () => model.route?.canaryWeight === 50);
    expect(stalled()?.status).toBe('False');
    expect(model.broken).toEqual([]);
  });

  it('says that somebody has paused the scaler of which pods are missing', () => {
    const model = scaled(kind);
    const heldBy = 'autoscaling.keda.sh/paused';
    if (model.scalers?.view.canary) model.scalers.view.canary.heldBy = heldBy;
    model.commit('b');
    until(model, () => model.route?.canaryWeight === 10);
    Object.assign(model.scalers ?? {}, { work: () => undefined });
    const message = `the canary has 1 of 5 ready pods that it needs for 50 %; ${heldBy} keeps its ScaledObject from adding pods`;
    until(model, () => model.status.message === message);
  });

  it('holds while the canary grows, and goes on when the primary heals', () => {
    const model = scaled(kind);
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, () => model.status.postPromotion?.state === 'Held');
    for (let count = 0; count < 40; count += 1) model.tick(1000);
    expect(model.status.postPromotion?.state).toBe('Held');
    expect(model.route?.canaryWeight).toBe(100);
    model.behaviours.set('b', GOOD);
    model.until('Succeeded');
    expectCarried(model);
    expectRestored(model);
  });

  it.each([false, true])('reverts a release whose checks fail after promotion (Recreate: %s)', (recreate) => {
    const model = scaled(kind);
    model.recreate = recreate;
    model.commit('b', { ...GOOD, primaryMetric: 50 });
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

  it.each(Object.keys(ends))('gives everything back when a release is %s', (end) => {
    const model = scaled(kind);
    ends[end]?.(model);
    expectCarried(model);
    expectRestored(model);
    for (let count = 0; count < 20; count += 1) model.tick();
    expectCarried(model);
  });

  it.each([0, 1, 2, 3])('carries on after crashes at write %i', (after) => {
    const model = scaled(kind);
    model.commit('b', { ...GOOD, primaryReady: false });
    for (let count = 0; count < 120; count += 1) model.tick(1000, after);
    model.until('Failed');
    expectCarried(model);
    expectRestored(model);
  });

  it.each([0, 10, 50])('hands the target its scaler back when the Canary is deleted at %i %%', (weight) => {
    const model = scaled(kind, { revertOnDeletion: true });
    if (weight > 0) model.commit('b');
    until(model, () => model.route?.canaryWeight === weight);
    model.delete();
    until(model, () => model.gone);
    expect(model.scalers?.left('canary')).toEqual([]);
    expect(model.target).toMatchObject({ digest: 'a', ready: 10 });
    expectCarried(model);
  });

  it('takes no pod from a target that it hands the traffic back to', () => {
    const model = scaled(kind, { revertOnDeletion: true });
    model.commit('b');
    until(model, () => model.route?.canaryWeight === 50);
    const before = model.target?.desired;
    model.delete();
    const seen: number[] = [];
    until(model, () => {
      seen.push(model.target?.desired ?? 0);
      return model.gone;
    });
    expect(before).toBeGreaterThan(1);
    expect(Math.min(...seen)).toBe(before);
  });

  it('leaves a primary that keeps the traffic its scaler when the Canary goes', () => {
    const model = scaled(kind, { revertOnDeletion: true });
    model.behaviours.set('a', { ...GOOD, canaryReady: false });
    model.delete();
    until(model, () => model.gone);
    expect(model.ownerless.primary).toBe(true);
    expect([model.scalers?.left('canary'), model.scalers?.left('primary')]).toEqual([[], []]);
    expectCarried(model);
  });

  it('analyses an A/B release whose canary could never carry all requests', () => {
    const match = [{ headers: { x: { exact: 'y' } } }];
    const model = scaled(
      kind,
      { analysis: { ...steps, stepWeights: undefined, iterations: 3, match } },
      { canaryMax: 3 },
    );
    model.commit('b', { ...GOOD, canaryMetric: 50 });
    model.until('Failed');
    expect(model.rejected.map((entry) => entry.reason)).toEqual(['AnalysisFailed']);
    expect(model.primary?.digest).toBe('a');
    expectRestored(model);
  });
});

it.each([
  ['canary', { ...GOOD, canaryReady: false }, 'Failed'],
  ['primary', { ...GOOD, primaryReady: false }, 'Held'],
] as const)(
  'a %s that never becomes ready fails in time, however often its scaler changes its mind',
  (side, behaviour, end) => {
    const model = scaled('ScaledObject', {
      progressDeadlineSeconds: 60,
      postPromotion: { onFailure: 'hold' },
    });
    const { scalers } = model;
    if (!scalers?.view.canary || !scalers.view.primary) throw new Error('no scalers');
    const pods = { canary: scalers.view.canary, primary: scalers.view.primary }[side];
    model.commit('b', behaviour);
    for (let seconds = 0; seconds < 400; seconds += 1) {
      if (seconds % 20 === 0 && pods.restoreMinReplicas === undefined)
        pods.minReplicas = seconds % 40 === 0 ? 10 : 13;
      model.tick(1000);
    }
    expect([model.status.phase, model.status.postPromotion?.state]).toContain(end);
    expect(model.broken).toEqual([]);
  },
);

it('minReplicas would be given back too early without time for the scaler to see the load', () => {
  const model = scaled('HorizontalPodAutoscaler');
  if (model.scalers) model.scalers.view.settleMs = 0;
  ends['failed in its analysis']?.(model);
  for (let count = 0; count < 20; count += 1) model.tick();
  expect(model.scalers?.overloads).not.toEqual([]);
});

describe('while a release is verified', () => {
  function verifying(): Model {
    const model = scaled('HorizontalPodAutoscaler');
    model.commit('b');
    until(model, () => model.status.postPromotion?.state === 'Verifying');
    return model;
  }

  it('pods that the scaler asks for and that find no node fail no check', () => {
    const model = verifying();
    model.room = 10;
    if (model.scalers) model.scalers.load = 14;
    model.until('Succeeded');
    expect(model.primary).toMatchObject({ digest: 'b', desired: 14, ready: 10 });
    expect(model.status.history?.[0]).toMatchObject({ digest: 'b', result: 'Succeeded' });
  });

  it('fewer pods than carried the load before fail it', () => {
    const model = verifying();
    model.room = 6;
    until(model, () => model.status.postPromotion?.state === 'Reverting');
    expect(model.rejected.map((entry) => entry.digest)).toEqual(['b']);
  });

  it('no check is made of counts that are of before the scaling, and none is held against the release', () => {
    const world = verifying().world();
    const since = world.status.postPromotion?.startTime;
    const unseen = { ...world, primary: world.primary && { ...world.primary, observed: false } };
    const decide = (waitedMs: number) => {
      const first = step({ ...unseen, nowMs: unseen.nowMs + 30_000 });
      return step({ ...unseen, status: first.status, nowMs: unseen.nowMs + 30_000 + waitedMs });
    };
    expect(decide(5000).check).toBeUndefined();
    expect(decide(5000).status.postPromotion).toMatchObject({ state: 'Verifying', startTime: since });
    expect(decide(61_000).status.postPromotion).toMatchObject({ state: 'Held', reason: 'ChecksUnavailable' });
  });

  it('a scaler that acts twice before the first check, further apart than the deadline, holds nothing', () => {
    const model = verifying();
    Object.assign(model.canary.spec.postPromotion ?? {}, { interval: '300s' });
    for (const load of [14, 12]) {
      if (model.scalers) model.scalers.load = load;
      for (let second = 0; second < 90; second += 1) model.tick(1000);
    }
    expect(model.primary?.desired).toBe(12);
    expect(model.status.postPromotion).toMatchObject({ state: 'Verifying' });
    model.until('Succeeded');
    expect(model.events.map(({ reason }) => reason)).not.toContain('Held');
  });
});

it('a pause that came to the scaler of the primary is taken off (flagger issue 1934)', () => {
  const model = scaled('ScaledObject');
  if (model.scalers?.view.primary) model.scalers.view.primary.paused = true;
  model.tick();
  expect(model.scalers?.left('primary')).toEqual([]);
});

it('a primary that was scaled to zero, where a HorizontalPodAutoscaler does nothing, is scaled up again', () => {
  const model = scaled('HorizontalPodAutoscaler');
  if (!model.primary) throw new Error('no primary');
  Object.assign(model.primary, { desired: 0, ready: 0 });
  model.tick();
  expect(model.primary.desired).toBeGreaterThan(0);
});

it('a primary that KEDA let rest at zero is live, and woken before a release has its canary', () => {
  const model = scaled('ScaledObject');
  const { primary } = model.scalers?.view ?? {};
  if (!model.scalers || !primary) throw new Error('no scaler');
  Object.assign(primary, { minReplicas: 0 });
  model.scalers.load = 0;
  until(model, () => model.primary?.desired === 0);
  model.tick();
  expect(conditionOf(model.status, 'Ready')).toMatchObject({ status: 'True' });
  model.commit('b', { ...GOOD, canaryMetric: 50 });
  until(model, () => (model.target?.desired ?? 0) > 0);
  expect(model.primary?.ready).toBe(1);
  until(model, () => model.status.phase === 'Failed' && model.status.run === undefined);
  until(model, () => model.primary?.desired === 0);
  expect(primary).toMatchObject({ minReplicas: 0, restoreMinReplicas: undefined });
  expect(model.broken).toEqual([]);
});

it('a canary that KEDA may let rest at zero keeps a pod while it is tried, until its requests are seen', () => {
  const model = scaled('ScaledObject');
  const { canary } = model.scalers?.view ?? {};
  if (!canary) throw new Error('no scaler');
  Object.assign(canary, { minReplicas: 0 });
  model.commit('b');
  until(model, () => (model.target?.ready ?? 0) > 0);
  const pods: number[] = [];
  until(model, () => {
    pods.push(model.target?.ready ?? 0);
    return model.route?.canaryWeight === 10;
  });
  expect(Math.min(...pods)).toBe(1);
  model.until('Succeeded');
  expectCarried(model);
  expect(canary).toMatchObject({ minReplicas: 0, restoreMinReplicas: undefined, paused: true });
});

describe('a Canary that names another scaler', () => {
  const web = (model: Model, kind: (typeof kinds)[number], name = 'podinfo') => {
    model.scale(kind, 4);
    if (!model.scalers?.view.canary) return;
    model.scalers.view.name = name;
    model.scalers.view.canary.paused = kind === 'ScaledObject';
  };

  it.each([
    ['of another kind', (model: Model) => web(model, 'ScaledObject')],
    ['of another name', (model: Model) => web(model, 'HorizontalPodAutoscaler', 'other')],
    [
      'none',
      (model: Model) => {
        model.scalers = undefined;
      },
    ],
  ])('%s loses the copy of the one before, once', (_, change) => {
    const model = scaled('HorizontalPodAutoscaler');
    expect(model.status.scaler).toEqual({ kind: 'HorizontalPodAutoscaler', name: 'podinfo' });
    change(model);
    const remove = { type: 'RemoveScaler', kind: 'HorizontalPodAutoscaler', name: 'podinfo' };
    expect(step(model.world()).actions).toContainEqual(remove);
    model.tick(1000, 0);
    expect(step(model.world()).actions).toContainEqual(remove);
    model.tick();
    expect(step(model.world()).actions).not.toContainEqual(remove);
    expect(model.status.scaler).toEqual(
      model.scalers && { kind: model.scalers.view.kind, name: model.scalers.view.name },
    );
  });
});

it.each(kinds)('%s: what was left raised goes back at rest, also while Git cannot be read', (kind) => {
  const model = scaled(kind);
  model.scalers?.change({ type: 'SetScalerFloor', side: 'primary', minReplicas: 5 });
  model.head = { kind: 'unknown', reason: 'SourceNotRead', message: 'not read' };
  for (let count = 0; count < 5; count += 1) model.tick();
  expectRestored(model);
});

describe.each(kinds)('%s: minReplicas cannot be restored at the end of a release', (kind) => {
  const ending = (): Model => {
    const model = scaled(kind, { progressDeadlineSeconds: 60 });
    model.commit('b');
    until(model, () => model.status.run?.ending !== undefined && model.scalers?.left('primary').length !== 0);
    model.refused.add('SetScalerFloor');
    return model;
  };

  it('and a newer commit waits no longer than for a deadline; its end gives back what was there before both', () => {
    const model = ending();
    model.commit('c');
    until(model, () => model.status.run?.digest === 'c');
    expect(model.primary?.digest).toBe('b');
    model.refused.clear();
    until(model, () => model.status.lastPromotedSpec === 'c' && model.status.run === undefined);
    for (let count = 0; count < 20; count += 1) model.tick();
    expectCarried(model);
    expectRestored(model);
  });

  it('and without one it is tried again at rest, whoever leads', () => {
    const model = ending();
    until(model, () => model.status.run === undefined);
    for (let count = 0; count < 20; count += 1) {
      model.tick(1000, count % 3);
      model.leadAnew(count % 2 === 0 ? 3_600_000 : -3_600_000);
    }
    expect(model.scalers?.left('primary')).not.toEqual([]);
    model.refused.clear();
    model.leadAnew();
    for (let count = 0; count < 20; count += 1) model.tick();
    expect(model.status.phase).toBe('Succeeded');
    expectCarried(model);
    expectRestored(model);
  });
});

it('a first release whose primary gets no scaler says what it waits for', () => {
  const model = new Model({ analysis: steps } as never);
  model.scale('HorizontalPodAutoscaler', 4);
  Object.assign(model.scalers?.view ?? {}, { primary: undefined });
  model.commit('a');
  until(model, () => conditionOf(model.status, 'Stalled')?.status === 'True');
  expect(model.status.message).toMatch(/: it has no copy of HorizontalPodAutoscaler podinfo yet;/);
});
