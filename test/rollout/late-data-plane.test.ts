/**
 * A data plane learns of routes and of endpoints by different ways and late, each by up to 1.5 s here (Contour and Envoy on a busy machine
 * were seen to take 0.5 s): no request may meet a copy that is gone, or one it does not know of yet (S2).
 */
import { describe, expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';

const LAG_MS = 1500;
const TICK_MS = 500;

interface Seen {
  readonly atMs: number;
  readonly shares: { readonly primary: boolean; readonly target: boolean };
  /** Pods that answer, by the release they run; old ones under the name `old`. */
  readonly pods: { readonly primary: Record<string, number>; readonly target: Record<string, number> };
}

type Side = keyof Seen['shares'];

const SIDES = ['primary', 'target'] as const;

function look(model: Model): Seen {
  const { route } = model;
  const podsOf = (side: Side) => {
    const pods = model[side];
    return pods ? { [pods.digest]: pods.ready, old: pods.oldReady } : {};
  };
  return {
    atMs: model.nowMs,
    shares: {
      primary: route !== undefined && (route.primaryWeight > 0 || route.matched),
      target: (route?.canaryWeight ?? 0) > 0,
    },
    pods: { primary: podsOf('primary'), target: podsOf('target') },
  };
}

const sumOf = (pods: Record<string, number>) => Object.values(pods).reduce((sum, count) => sum + count, 0);

/** Pods that the data plane has known since `then`, and that are still there. */
function known(then: Record<string, number>, now: Record<string, number>): number {
  const kept = Object.entries(now).map(([release, count]) => Math.min(count, then[release] ?? 0));
  return kept.reduce((sum, count) => sum + count, 0);
}

/** How requests fail between what the data plane knew and what is. */
function failures(then: Seen, now: Seen): string[] {
  return SIDES.flatMap((side) => {
    const late = then.shares[side] && sumOf(now.pods[side]) === 0 && sumOf(then.pods[side]) > 0;
    const early = now.shares[side] && !then.shares[side] && known(then.pods[side], now.pods[side]) === 0;
    return [
      ...(late ? [`the ${side} is gone while it is still sent requests`] : []),
      ...(early ? [`the ${side} is sent requests before it is known`] : []),
    ];
  });
}

/** Plays on until this holds; every failure on the way, with the state it happened in. */
function play(model: Model, holds: () => boolean): string[] {
  const seen = [look(model)];
  const found: string[] = [];
  for (let ticks = 0; ticks < 2000; ticks += 1) {
    if (holds()) return found;
    model.tick(TICK_MS);
    const now = look(model);
    seen.push(now);
    const then = seen.findLast(({ atMs }) => atMs <= now.atMs - LAG_MS);
    const state = model.status.postPromotion?.state ?? model.status.phase;
    if (then) found.push(...failures(then, now).map((failure) => `${state}: ${failure}`));
  }
  throw new Error(`never reached: ${model.status.message}`);
}

/** Release `a` is live; the primary's pods go before new ones come, or not. */
function live(recreate: boolean, spec: object = {}): Model {
  const model = new Model(spec);
  model.recreate = recreate;
  model.commit('a');
  model.until('Initialized');
  return model;
}

const isOver = (model: Model, digest: string) => () =>
  model.status.run === undefined && model.status.lastAppliedCommit === `sha-${digest}`;

describe.each([
  ['RollingUpdate', false],
  ['Recreate', true],
] as const)('%s: nobody is sent where nobody answers', (_name, recreate) => {
  it('while a release is promoted', () => {
    const model = live(recreate);
    model.commit('b');
    expect(play(model, isOver(model, 'b'))).toEqual([]);
    expect(model.primary?.digest).toBe('b');
  });

  it('while one without analysis is', () => {
    const model = live(recreate, { skipAnalysis: true });
    model.commit('b');
    expect(play(model, isOver(model, 'b'))).toEqual([]);
  });

  it('while one that fails after promotion is reverted', () => {
    const model = live(recreate, { postPromotion: { onFailure: 'revert' } });
    model.commit('b', { ...GOOD, primaryReady: false });
    expect(play(model, isOver(model, 'b'))).toEqual([]);
    expect(model.primary?.digest).toBe('a');
  });

  it('while the primary goes back to what proved itself, with the canary in its place', () => {
    const model = live(recreate, { postPromotion: { successThreshold: 9 } });
    model.commit('b');
    const found = play(model, () => model.status.postPromotion?.state === 'Verifying');
    model.commit('c', { ...GOOD, canaryReady: false });
    found.push(...play(model, isOver(model, 'c')));
    found.push(...play(model, () => model.primary?.digest === 'a' && model.status.run === undefined));
    expect(found).toEqual([]);
  });

  it('while a Canary is deleted and hands its traffic back', () => {
    const model = live(recreate, { revertOnDeletion: true });
    model.delete();
    expect(play(model, () => model.gone)).toEqual([]);
    expect(model.route?.canaryWeight).toBe(100);
  });
});

describe('an endpoint controller that is late', () => {
  const steps = { analysis: { interval: '5s', threshold: 5, maxWeight: 50, stepWeight: 10 } };

  /** Ten seconds in which so many of the target's ready pods are no endpoints: the shares that were asked for then. */
  function unlisted(
    model: Model,
    pods = 2,
  ): { readonly weights: Set<number | undefined>; readonly messages: string } {
    const weights = new Set<number | undefined>();
    const messages: unknown[] = [];
    for (let ticks = 0; ticks < 20; ticks += 1) {
      if (model.target) model.target.unlisted = pods;
      model.tick(TICK_MS);
      weights.add(model.route?.canaryWeight);
      messages.push(model.status.message);
    }
    if (model.target) model.target.unlisted = 0;
    return { weights, messages: messages.join('\n') };
  }

  it.each([1, 2])('gets a deleted Canary to wait with its traffic (%i of 2 pods)', (pods) => {
    const model = live(false, { revertOnDeletion: true });
    model.delete();
    const { weights, messages } = unlisted(model, pods);
    expect(weights).toEqual(new Set([0]));
    expect(messages).toContain(
      `${2 - pods} of 2 ready pods are endpoints of the port that their Service names`,
    );
    expect(play(model, () => model.gone)).toEqual([]);
    expect(model.route?.canaryWeight).toBe(100);
  });

  it('keeps a deleted Canary no longer than its deadline, and the primary then serves on', () => {
    const model = live(false, { revertOnDeletion: true });
    model.delete();
    for (let ticks = 0; ticks < 400 && !model.gone; ticks += 1) {
      if (model.target) model.target.unlisted = 2;
      model.tick(TICK_MS);
    }
    expect([model.gone, model.ownerless]).toEqual([true, { routes: true, primary: true }]);
    expect([model.route?.canaryWeight, model.primary?.ready]).toEqual([0, 2]);
    expect(model.events.at(-1)).toMatchObject({
      reason: 'HandBackGivenUp',
      message: expect.stringContaining(
        '0 of 2 ready pods are endpoints of the port that their Service names',
      ),
    });
  });

  it('gets the first step of a release to wait', () => {
    const model = live(false, steps);
    model.commit('b');
    const { weights, messages } = unlisted(model);
    expect(weights).toEqual(new Set([0]));
    expect(messages).toContain(
      'the canary has 0 of 1 ready pods among the endpoints of its Service that it needs for 10 %',
    );
    expect(play(model, isOver(model, 'b'))).toEqual([]);
    expect(model.primary?.digest).toBe('b');
  });

  it('leaves no traffic with a primary that is dead', () => {
    const model = live(false, steps);
    model.commit('b');
    for (let ticks = 0; ticks < 100 && model.route?.canaryWeight !== 20; ticks += 1) model.tick(TICK_MS);
    if (model.target) model.target.unlisted = 2;
    model.breakPods('primary', 2);
    model.tick(TICK_MS);
    expect(model.route?.canaryWeight).toBe(100);
  });
});
