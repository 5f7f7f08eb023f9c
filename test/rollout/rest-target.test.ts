import { describe, expect, it } from 'vitest';
import { Model } from './model.ts';

/** The target is applied by another tool, and rests. */
function atRest(): Model {
  const model = new Model();
  model.foreign = true;
  model.commit('a');
  model.until('Initialized');
  model.tick();
  expect(model.target?.desired).toBe(0);
  return model;
}

/** The tool scales it up at every interval; the seconds after which it was scaled down again, and how often. */
function foughtFor(model: Model, seconds: number): number {
  let scaledDown = 0;
  for (let passed = 0; passed < seconds; passed += 10) {
    model.applyAgain();
    model.tick(10_000);
    if (model.target?.desired === 0) scaledDown += 1;
  }
  return scaledDown;
}

describe('a target that another tool scales up while it rests (flagger issues 1504, 1575, 1158, 1399)', () => {
  it('is scaled down less and less often, without traffic, and told of once', () => {
    const model = atRest();
    const first = foughtFor(model, 600);
    const second = foughtFor(model, 600);
    expect(first).toBeGreaterThan(1);
    expect(second).toBeLessThan(first);
    expect(model.route?.canaryWeight).toBe(0);
    expect(model.events.filter(({ reason }) => reason === 'TargetScaledUp')).toHaveLength(1);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it('that somebody scaled up once is scaled down without a word', () => {
    const model = atRest();
    foughtFor(model, 10);
    expect(model.target?.desired).toBe(0);
    expect(model.events.filter(({ reason }) => reason === 'TargetScaledUp')).toEqual([]);
  });
});
