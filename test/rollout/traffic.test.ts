/** What the allocator of traffic does whatever state asks it, be it one that no state of today asks for. */
import { describe, expect, it } from 'vitest';
import { contextOf, withLastChanges } from '../../src/rollout/context.ts';
import type { Preference } from '../../src/rollout/outcome.ts';
import { allocate, hasArrived, isAllOn } from '../../src/rollout/traffic/traffic.ts';
import { type Run, runOf, type World } from '../../src/rollout/world.ts';
import { atWeight, fallen, live, until } from './faults/worlds.ts';
import { pass } from './waits.ts';

/** The shares of the canary that are written. */
function written(world: World, preference: Preference): number[] {
  const { actions = [] } = allocate(contextOf(world), runOf(world.status), preference);
  return actions.flatMap((action) => (action.type === 'SetTraffic' ? [action.route.canaryWeight] : []));
}

function withPods(world: World, copy: 'primary' | 'target', desiredReplicas: number, ready: number): World {
  const counts = { replicas: desiredReplicas, updatedReplicas: desiredReplicas, endpoints: ready };
  const readiness = { readyReplicas: ready, availableReplicas: ready, updatedReadyReplicas: ready };
  return { ...world, [copy]: { ...world[copy], desiredReplicas, ...counts, ...readiness } };
}

describe('the traffic', () => {
  it('stays on the canary while no pod of the primary serves, also when its time is over (S1)', () => {
    const model = fallen();
    const world = withPods(model.world(), 'primary', 2, 0);
    expect(world.route?.canaryWeight).toBe(100);
    expect(written(world, { kind: 'all', side: 'primary', evacuate: true, overdue: true })).toEqual([]);
  });

  it('has not arrived at a primary without pods while the canary could serve (S1)', () => {
    const model = live();
    model.commit('b');
    until(model, 'a whole canary', () => model.target?.digest === 'b' && model.target.ready === 2);
    expect(model.route?.canaryWeight).toBe(0);
    expect(isAllOn(contextOf(model.world()), 'primary')).toBe(true);
    model.breakPods('primary', 2);
    expect(isAllOn(contextOf(model.world()), 'primary')).toBe(false);
  });

  it('goes to the canary by no step that its pods do not carry (S4)', () => {
    const model = live();
    model.commit('b');
    until(model, 'a whole canary', () => model.target?.digest === 'b' && model.target.ready === 2);
    const world = model.world();
    const half: Preference = { kind: 'share', side: 'canary', percent: 50 };
    expect(written(withPods(world, 'target', 2, 2), half)).toEqual([50]);
    expect(written(withPods(world, 'target', 2, 0), half)).toEqual([]);
  });

  it('goes to no canary whose ready pods are those of another template (S1, S4)', () => {
    const model = live();
    model.commit('b');
    until(model, 'a whole canary', () => model.target?.digest === 'b' && model.target.ready === 2);
    const world = withPods(model.world(), 'target', 2, 2);
    const half: Preference = { kind: 'share', side: 'canary', percent: 50 };
    const target = { ...world.target, updatedReadyReplicas: 0 } as World['target'];
    expect(written({ ...world, target }, half)).toEqual([]);
  });

  it('has arrived when the gateway had it for two seconds, however long ago it was written (issue 11, 17)', () => {
    const model = live();
    const begun = model.world();
    const at = (afterMs: number, accepted: boolean): World => ({
      ...begun,
      nowMs: begun.nowMs + afterMs,
      route: begun.route && { ...begun.route, accepted },
    });
    const looks = [at(0, false), at(10_000, true), at(11_000, true), at(12_000, true)];
    const run = { digest: 'a', commit: 'sha-a' } as Run;
    const arrivals: boolean[] = [];
    looks.reduce((known, world) => {
      const context = contextOf(world);
      const seen = withLastChanges(context, known);
      arrivals.push(hasArrived(context, seen, 'primary'));
      return seen;
    }, run);
    expect(arrivals).toEqual([false, false, false, true]);
  });

  it('goes to no canary that another tool wrote something else to (S2)', () => {
    const model = live();
    atWeight(model, 'b');
    pass(model, 3000);
    const world = { ...model.world(), foreignTarget: true };
    const all: Preference = { kind: 'all', side: 'canary' };
    expect(written(world, all)).toEqual([100]);
    expect(written({ ...world, target: world.target && { ...world.target, digest: 'x' } }, all)).toEqual([]);
  });

  it('leaves what is bad as far as the pods of the other side carry it (issue 11, 1)', () => {
    const model = live();
    atWeight(model, 'b');
    const world = withPods(model.world(), 'primary', 4, 3);
    expect(written(world, { kind: 'all', side: 'primary', evacuate: true })).toEqual([25]);
    expect(written(world, { kind: 'all', side: 'primary' })).toEqual([]);
  });
});
