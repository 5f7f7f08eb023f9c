import { describe, expect, it } from 'vitest';
import { STATES, type State, states } from './matrix/states.ts';
import { Model } from './model.ts';

const all = { apex: true, primary: true, canary: true };
const none = { apex: false, primary: false, canary: false };
/** Before its primary is ready, the first release has no Services of ours. */
const withServices = states.filter((state) => state !== 'Initializing' && state !== 'Terminating');

function isTold(model: Model): unknown {
  const { phase, failedChecks, postPromotion } = model.status;
  return [phase, failedChecks, postPromotion?.state, postPromotion?.failedChecks];
}

describe.each(withServices)('%s', (state: State) => {
  it('Services that somebody deletes are there again after one look, and are no cause', () => {
    const model = STATES[state]('RollingUpdate');
    model.reconcile();
    const before = isTold(model);
    model.services = { ...none };
    model.reconcile();
    expect(model.services).toEqual(all);
    expect(isTold(model)).toEqual(before);
    expect(model.broken).toEqual([]);
  });

  it('a route that somebody deletes is there again after one look, with Services to point to', () => {
    const model = STATES[state]('RollingUpdate');
    model.services = { ...none };
    model.route = undefined;
    model.reconcile();
    expect(model.route).toBeDefined();
    expect(model.services).toEqual(all);
    expect(model.broken).toEqual([]);
  });
});

it('a route that comes back leaves users with the canary that served all of them', () => {
  const model = STATES['Held, onFailure hold']('RollingUpdate');
  for (let count = 0; count < 20; count += 1) model.tick();
  expect(model.route?.canaryWeight).toBe(100);
  model.route = undefined;
  model.reconcile();
  expect(model.route).toMatchObject({ canaryWeight: 100 });
});

it('while suspended nothing is written, Services included (S26)', () => {
  const model = STATES.Held('RollingUpdate');
  model.canary.spec.suspend = true;
  model.services = { ...none };
  model.reconcile();
  expect(model.services).toEqual(none);
});

it('without anything missing, it is not written again', () => {
  const model = STATES['Failed, reverted']('RollingUpdate');
  const { writes } = model;
  for (let count = 0; count < 20; count += 1) model.tick();
  expect(model.writes).toBe(writes);
});

it('a target whose release nobody knows leaves the last-known-good to come back, and then nothing is written', () => {
  const model = new Model();
  model.foreign = true;
  model.commit('a');
  model.until('Initialized');
  Object.assign(model, { primary: undefined, route: undefined, services: { ...none } });
  model.head = { kind: 'missing', message: 'no Source holds it' };
  for (let count = 0; count < 20; count += 1) model.tick();
  const { writes } = model;
  for (let count = 0; count < 100; count += 1) model.tick();
  expect(model.services).toEqual(all);
  expect(model.primary).toMatchObject({ digest: 'a', ready: 2 });
  expect(model.route).toMatchObject({ canaryWeight: 0 });
  expect([model.writes, model.broken]).toEqual([writes, []]);
});
