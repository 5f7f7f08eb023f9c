import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { step } from '../../src/rollout/step.ts';
import { GOOD, Model } from './model.ts';
import { NativeModel } from './native-model.ts';
import { ALONE } from './route-model.ts';

type Event =
  | { kind: 'commit'; digest: string; isBad: boolean }
  /** The spec names the other provider, or the one in effect again. */
  | { kind: 'spec'; moves: boolean }
  | { kind: 'tick'; ms: number; crashAfter: number };

const digest = fc.constantFrom('b', 'c');
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('commit' as const), digest, isBad: fc.boolean() }),
  fc.record({ kind: fc.constant('spec' as const), moves: fc.boolean() }),
  fc.record({
    kind: fc.constant('tick' as const),
    ms: fc.constantFrom(1000, 5000, 11_000),
    crashAfter: fc.constantFrom(Number.POSITIVE_INFINITY, 0, 1, 2, 3),
  }),
);
const numRuns = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 30);
const provider = fc.constantFrom('kubernetes' as const, 'gatewayapi:v1' as const, 'contour' as const);
const at = (canaryWeight: number) => {
  return { primaryWeight: 100 - canaryWeight, canaryWeight, mirrored: false, matched: false, accepted: true };
};
const unreadable = { ...at(0), accepted: false, problem: 'it is somebody else’s' };

function happen(model: Model, event: Event): void {
  if (event.kind === 'tick') model.tick(event.ms, event.crashAfter);
  else if (event.kind === 'spec') model.movesTo = event.moves ? 'native' : undefined;
  else model.commit(event.digest, event.isBad ? { ...GOOD, canaryMetric: 50 } : GOOD);
}

function happenInPlace(model: NativeModel, event: Event): void {
  if (event.kind === 'tick') return model.tick(event.ms, 2, event.crashAfter);
  if (event.kind === 'spec') {
    model.movesTo = event.moves ? 'contour' : undefined;
    return;
  }
  if (event.isBad) model.failing.add(event.digest);
  model.commit(event.digest);
}

/** Until what it moves to is in effect; with no more events than time. */
function arrive<M extends Model | NativeModel>(model: M, movesTo: string, tick: (model: M) => void): void {
  model.movesTo = movesTo;
  for (let count = 0; count < 300 && !model.hasMoved; count += 1) tick(model);
}

/** Until no release is under way, it has moved, and the route names nobody else's backends. */
function atRest(model: Model): void {
  const isBusy = () => model.status.run || model.status.move || model.route?.others;
  for (let count = 0; count < 300 && isBusy(); count += 1) model.tick(2000);
  expect(model.route?.others).toBeUndefined();
}

/** Somebody serves at this moment, and the target does while nobody else has taken over. */
function expectServed({ primary, target, status }: Model): void {
  expect((primary?.ready ?? 0) + (target?.ready ?? 0)).toBeGreaterThan(0);
  const isMoving = status.move !== undefined && status.move.handedOverTime === undefined;
  if (isMoving) expect(target).toMatchObject({ digest: 'a', desired: 2 });
}

function stalled({ status }: Model) {
  return conditionOf(status, 'Stalled');
}

describe('a Canary whose spec names native in place of a provider that copies', () => {
  it('has its target serve before its primary goes, whatever happens on the way', () => {
    const events = fc.array(event, { maxLength: 30 });
    const property = fc.property(provider, fc.boolean(), events, (provider, routeInGit, events) => {
      const model = new Model({ provider });
      model.routeInGit = routeInGit;
      model.commit('a');
      model.until('Initialized');
      model.outages.length = 0;
      for (const one of events) {
        if (model.hasMoved) break;
        happen(model, one);
        expect([model.broken, model.outages]).toEqual([[], []]);
      }
      arrive(model, 'native', (model) => model.tick());
      const good = model.status.lastKnownGood?.digest;
      expect([model.hasMoved, model.primary, model.target?.digest]).toEqual([true, undefined, good]);
      expect([model.target?.ready, model.route?.canaryWeight, model.status.run]).toEqual([2, 100, undefined]);
      expect(model.route?.others).toBe(routeInGit ? 'serving' : undefined);
      expect([model.broken, model.outages]).toEqual([[], []]);
    });
    fc.assert(property, { numRuns });
  });

  it('has arrived when its primary went, also where Git has put its own route in place meanwhile', () => {
    const model = new Model();
    model.commit('a');
    model.until('Initialized');
    model.movesTo = 'native';
    for (let count = 0; count < 100 && model.status.move?.handedOverTime === undefined; count += 1)
      model.tick(500);
    const world = model.world();

    const { actions, status } = step({ ...world, primary: undefined, route: undefined });

    expect(actions.map(({ type }) => type)).toEqual(['ReleaseCopies']);
    expect(status).toMatchObject({ provider: 'native', message: expect.stringContaining('native') });
    expect(status.move).toBeUndefined();
  });

  it('puts nothing in order any more once the route is that of Git, though a late look still shows the primary', () => {
    const model = new Model();
    model.commit('a');
    model.until('Initialized');
    model.movesTo = 'native';
    for (let count = 0; count < 100 && model.status.move?.handedOverTime === undefined; count += 1)
      model.tick(500);
    const world = model.world();
    const route = world.route && { ...world.route, canaryWeight: 0, others: 'alone' as const };

    const { actions } = step({ ...world, route, routeInGit: true });

    expect(actions.map(({ type }) => type)).toEqual(['ReleaseCopies']);
  });

  it('stays where it is while its target does not come up, and goes on when it does', () => {
    const model = new Model();
    model.commit('a', { ...GOOD, canaryReady: false });
    model.until('Initialized');
    model.movesTo = 'native';
    model.tick();
    expect(stalled(model)).toMatchObject({ status: 'False' });
    for (let count = 0; count < 100; count += 1) model.tick();
    expect([model.hasMoved, model.primary?.ready, model.route?.canaryWeight]).toEqual([false, 2, 0]);
    // Commits wait for it, so that a person is called after progressDeadlineSeconds.
    expect(stalled(model)).toMatchObject({ status: 'True', reason: 'Moving' });
    const { writes } = model;
    for (let count = 0; count < 10; count += 1) model.tick();
    expect(model.writes).toBe(writes);
    model.behaviours.set('a', GOOD);
    for (let count = 0; count < 10; count += 1) model.tick();
    expect([model.hasMoved, model.target?.ready, model.outages]).toEqual([true, 2, []]);
  });

  it('hands over as when it is deleted, if it is deleted meanwhile', () => {
    const model = new Model({ revertOnDeletion: true });
    model.commit('a');
    model.until('Initialized');
    model.outages.length = 0;
    model.movesTo = 'native';
    model.tick();
    model.delete();
    for (let count = 0; count < 50 && !model.gone; count += 1) model.tick();
    expect([model.gone, model.route?.canaryWeight, model.target?.ready]).toEqual([true, 100, 2]);
    expect([model.outages, model.broken]).toEqual([[], []]);
  });
});

describe('a Canary whose spec names a provider that copies in place of native', () => {
  it('is whole, and nothing of it held, before that one is in effect', () => {
    const property = fc.property(fc.array(event, { maxLength: 30 }), (events) => {
      const model = new NativeModel(5);
      model.commit('a');
      model.until('Initialized');
      for (const one of events) {
        if (model.hasMoved) break;
        happenInPlace(model, one);
        expect(model.broken).toEqual([]);
      }
      arrive(model, 'contour', (model) => model.tick(5000, 3));
      expect([model.hasMoved, model.web?.promoted, model.web?.hold]).toEqual([true, undefined, undefined]);
      expect([model.web?.digest, model.ready()]).toEqual([model.status.lastKnownGood?.digest, 5]);
    });
    fc.assert(property, { numRuns });
  });

  it('keeps requests from a primary of which one pod of two has room, also where an older route names it', () => {
    const model = new Model({ provider: 'gatewayapi:v1' });
    model.leaveInPlace('a', at(0));
    model.room = 1;
    model.primary = { digest: 'a', settingsKey: 's1', desired: 2, ready: 1, oldReady: 0, version: 1 };
    for (let count = 0; count < 5; count += 1) model.tick(1000);
    expect([model.primary.ready, model.route?.canaryWeight, model.target?.ready]).toEqual([1, 100, 2]);
  });

  it('has its primary serve before its target rests, whatever happens on the way', () => {
    const route = fc.constantFrom(undefined, at(100), unreadable, ALONE);
    const events = fc.array(event, { maxLength: 20 });
    const property = fc.property(provider, route, events, (provider, route, events) => {
      const model = new Model({ provider });
      model.leaveInPlace('a', route);
      for (const one of events) {
        if (one.kind !== 'spec') happen(model, one);
        expectServed(model);
      }
      atRest(model);
      const good = model.status.lastKnownGood?.digest;
      expect([model.status.move, model.primary?.digest, model.primary?.ready]).toEqual([undefined, good, 2]);
      expect([model.route?.canaryWeight, model.route?.accepted, model.broken]).toEqual([0, true, []]);
      expect(route === unreadable ? [] : model.outages).toEqual([]);
    });
    fc.assert(property, { numRuns });
  });
});
