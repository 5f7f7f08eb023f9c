import { describe, expect, it } from 'vitest';
import { GOOD, Model } from './model.ts';
import { ALONE } from './route-model.ts';

/** What the route says of other backends and of the canary's share, each time that it changed, with the seconds since the beginning. */
function watched(model: Model, ticks: number): string[] {
  const startMs = model.nowMs;
  const seen: string[] = [];
  for (let count = 0; count < ticks; count += 1) {
    model.tick(500);
    const { others = 'none', canaryWeight } = model.route ?? {};
    const state = `${others} ${others === 'serving' ? '-' : canaryWeight}`;
    if (!seen.at(-1)?.endsWith(state)) seen.push(`${(model.nowMs - startMs) / 1000} s: ${state}`);
  }
  return seen;
}

describe('a route that named backends of somebody else', () => {
  it('names both sides two seconds before they get requests, and the others for two seconds after', () => {
    const model = new Model();
    model.leaveInPlace('a', ALONE);
    expect(watched(model, 40)).toEqual([
      '0.5 s: alone 0',
      '2 s: serving -',
      '4.5 s: idle 0',
      '6.5 s: none 0',
    ]);
    expect(model.route).toMatchObject({ canaryWeight: 0, accepted: true });
    expect([model.route?.others, model.status.otherBackends]).toEqual([undefined, undefined]);
    expect([model.outages, model.broken]).toEqual([[], []]);
  });

  it('keeps them while a first primary comes up, and goes on in the same way', () => {
    const model = new Model();
    model.target = { ...{ digest: 'a', settingsKey: 's1', desired: 2, ready: 2, oldReady: 0, version: 1 } };
    model.route = ALONE;
    model.commit('a');
    const seen = watched(model, 40).map((line) => line.split(': ')[1]);
    expect(seen).toEqual(['alone 0', 'serving -', 'idle 0', 'none 0']);
    expect([model.outages, model.broken, model.status.phase]).toEqual([[], [], 'Initialized']);
  });

  it('hands over to that of Git in the same way, before the Canary lets go of it', () => {
    const model = new Model();
    model.routeInGit = true;
    model.commit('a');
    model.until('Initialized');
    model.movesTo = 'native';
    const seen = watched(model, 60).map((line) => line.split(': ')[1]);
    expect(seen).toEqual(['none 0', 'none 100', 'idle 100', 'serving -']);
    expect([model.hasMoved, model.primary, model.outages, model.broken]).toEqual([true, undefined, [], []]);
  });

  it('waits for Git to be read before it lets go of the route', () => {
    const model = new Model();
    model.commit('a');
    model.until('Initialized');
    model.movesTo = 'native';
    model.head = { kind: 'unknown', reason: 'SourceNotRead', message: 'not read since the start' };
    watched(model, 60);
    expect([model.hasMoved, model.primary?.ready, model.route?.canaryWeight]).toEqual([false, 2, 100]);
    model.commit('a', GOOD);
    watched(model, 10);
    expect(model.hasMoved).toBe(true);
  });
});
