/** Steps of an analysis: what keeps one back, and what makes them begin again (design section 4). */
import { describe, expect, it } from 'vitest';
import { analysis, atWeight, expectLive, live, until, untilOver } from './faults/worlds.ts';
import type { Model } from './model.ts';
import { pass } from './waits.ts';

const told = (model: Model, reason: string) => model.events.filter((event) => event.reason === reason).length;

describe('a canary with too few ready pods for its next share (S4)', () => {
  it('stays at its step until they are there, and nobody is told before that it went on', () => {
    const model = live(
      { analysis: { ...analysis, stepWeight: undefined, stepWeights: [10, 50] } },
      (empty) => {
        empty.replicas = 10;
      },
    );
    atWeight(model, 'b', 10);
    model.scaleByHand('canary', 1);
    const readyAt50: number[] = [];
    until(model, '50 %', () => {
      if (told(model, 'WeightAdvanced') === 2) readyAt50.push(model.target?.ready ?? 0);
      return model.route?.canaryWeight === 50;
    });
    expect(readyAt50[0]).toBeGreaterThanOrEqual(5);
    untilOver(model);
    expect(told(model, 'WeightAdvanced')).toBe(2);
    expectLive(model, 'b');
  });
});

describe('the spec changes in the middle of an analysis', () => {
  it.each([
    ['steps', { stepWeight: 25, maxWeight: 50 }],
    ['metrics', { metrics: [{ name: 'rate', thresholdRange: { min: 98 }, interval: '10s' }] }],
    ['strategy', { stepWeight: undefined, maxWeight: undefined, iterations: 2 }],
  ])('%s: the analysis begins again from 0', (_, change) => {
    const model = live({ analysis });
    atWeight(model, 'b');
    model.canary.spec.analysis = { ...analysis, ...change } as typeof model.canary.spec.analysis;
    until(model, 'the traffic back at the primary', () => model.route?.canaryWeight === 0);
    until(model, 'a new start', () => told(model, 'AnalysisRestarted') === 1);
    expect(model.status).toMatchObject({ failedChecks: 0, run: { digest: 'b' } });
    untilOver(model);
    expectLive(model, 'b');
  });

  it('threshold and interval: it goes on where it is', () => {
    const model = live({ analysis });
    atWeight(model, 'b');
    model.canary.spec.analysis = { ...analysis, threshold: 5, interval: '5s' };
    const shares = new Set<number | undefined>();
    until(model, 'promotion', () => {
      shares.add(model.route?.canaryWeight);
      return model.status.phase === 'Promoting';
    });
    expect([...shares]).not.toContain(0);
    expect(told(model, 'AnalysisRestarted')).toBe(0);
    untilOver(model);
    expectLive(model, 'b');
  });
});

describe('a move of traffic that is refused', () => {
  const moves = (model: Model) =>
    model.events.filter(({ reason }) => reason === 'WeightAdvanced' || reason === 'TrafficShifted');

  it('is told once it is done, on the way to the canary and back', () => {
    const model = live();
    model.commit('b');
    model.refused.add('SetTraffic');
    pass(model, 60_000);
    expect(moves(model)).toEqual([]);
    model.refused.clear();
    until(model, 'the promotion', () => model.primary?.digest === 'b');
    model.refused.add('SetTraffic');
    pass(model, 30_000);
    expect(moves(model).map(({ message }) => message)).toEqual(['canary weight 0 % -> 50 %']);
    model.refused.clear();
    untilOver(model);
    expect(moves(model).map(({ message }) => message)).toEqual([
      'canary weight 0 % -> 50 %',
      'primary weight 50 % -> 100 %',
    ]);
  });
});
