import { describe, expect, it } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import { planOf } from '../../api/canary/plan.ts';
import { nextStep } from './weights.ts';

const base = { interval: '1m', threshold: 5 };

function plan(analysis: object, provider = 'gatewayapi:v1') {
  const spec = { provider, analysis: { ...base, ...analysis } };
  return planOf({ metadata: { name: 'web' }, spec } as unknown as Canary, {
    minIntervalMs: 1_000,
    defaultProvider: 'kubernetes',
  });
}

/** Canary weights from 0 on, ending in what follows the last of them. */
function walk(analysis: object, from = 0): Array<number | string> {
  const seen: Array<number | string> = [];
  let canaryWeight = from;
  while (seen.length < 20) {
    const move = nextStep(plan(analysis), { canaryWeight, iterations: 0 });
    if (move.kind !== 'weight') return [...seen, move.kind];
    canaryWeight = move.canaryWeight;
    seen.push(canaryWeight);
  }
  return seen;
}

/** Iterations from the start, as weight and m for mirrored, ending in what follows. */
function iterate(analysis: object, provider?: string): string[] {
  const seen: string[] = [];
  for (let iterations = 0; seen.length < 20; iterations += 1) {
    const move = nextStep(plan(analysis, provider), { canaryWeight: 0, iterations });
    if (move.kind !== 'iterate') return [...seen, move.kind];
    seen.push(`${move.canaryWeight}${move.mirrored ? 'm' : ''}`);
  }
  return seen;
}

describe('the weights of a canary release (flagger-behaviour 2.7.1)', () => {
  it.each([
    [{ stepWeight: 20, maxWeight: 50 }, [20, 40, 60, 'promote']],
    [{ stepWeight: 50 }, [50, 100, 'promote']],
    [{ stepWeight: 50, maxWeight: 100 }, [50, 100, 'promote']],
    [{ stepWeight: 30, maxWeight: 90 }, [30, 60, 90, 'promote']],
    [{ stepWeight: 40 }, [40, 80, 100, 'promote']],
    [{ stepWeight: 100 }, [100, 'promote']],
    [{ stepWeight: 10, maxWeight: 5 }, [10, 'promote']],
    [{ stepWeights: [1, 2, 10, 80] }, [1, 2, 10, 80, 'promote']],
    [{ stepWeights: [1, 2, 10, 80], maxWeight: 5 }, [1, 2, 10, 80, 'promote']],
    [{ stepWeights: [1, 2, 10, 200] }, [1, 2, 10, 100, 'promote']],
    [{ stepWeights: [50] }, [50, 'promote']],
    [{ stepWeights: [0, 30] }, [30, 'promote']],
  ])('of %j are %j', (analysis, expected) => {
    expect(walk(analysis)).toEqual(expected);
  });

  it('visit the next higher step where steps do not rise, which stalls Flagger for ever', () => {
    expect(walk({ stepWeights: [10, 10, 5, 40] })).toEqual([10, 40, 'promote']);
  });

  it('go on with the next step from a weight that was set by hand, where Flagger jumps to 100', () => {
    expect(walk({ stepWeights: [10, 40, 70] }, 25)).toEqual([40, 70, 'promote']);
  });

  it('begin with one interval of copied requests where the provider copies them, and nowhere else (2.7.4)', () => {
    const move = (provider: string, iterations: number, canaryWeight = 0) =>
      nextStep(plan({ stepWeight: 20, mirror: true }, provider), { canaryWeight, iterations });
    expect(move('istio', 0)).toEqual({ kind: 'iterate', iterations: 1, canaryWeight: 0, mirrored: true });
    expect(move('istio', 1)).toEqual({ kind: 'weight', canaryWeight: 20 });
    expect(move('istio', 1, 20)).toEqual({ kind: 'weight', canaryWeight: 40 });
    expect(move('gatewayapi:v1', 0)).toEqual({ kind: 'weight', canaryWeight: 20 });
  });

  it('are stuck, and say so, without a step', () => {
    expect(walk({ stepWeight: 0 })).toEqual(['stuck']);
  });
});

describe('the iterations of other strategies (flagger-behaviour 2.7.2, 2.7.3)', () => {
  it('send all matched requests to an A/B canary from the first on', () => {
    const match = [{ headers: { a: { exact: 'b' } } }];
    expect(iterate({ iterations: 3, match })).toEqual(['100', '100', '100', 'promote']);
  });

  it('move all traffic once, after the last iteration, of a blue/green release', () => {
    expect(iterate({ iterations: 2 })).toEqual(['0', '0', '100', 'promote']);
  });

  it('mirror until then where asked to', () => {
    expect(iterate({ iterations: 2, mirror: true })).toEqual(['0m', '0m', '100', 'promote']);
  });

  it('leave the traffic where it is with provider kubernetes, ten times by default and once more', () => {
    expect(iterate({ iterations: 2, mirror: true }, 'kubernetes')).toEqual(['0', '0', '0', 'promote']);
    expect(iterate({ stepWeight: 50 }, 'kubernetes')).toHaveLength(12);
  });
});
