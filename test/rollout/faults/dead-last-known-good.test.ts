/** Without a last-known-good that comes up, the way on leads through the primary, and a release is analysed there as anywhere else. */
import { describe, expect, it } from 'vitest';
import { conditionOf } from '../../../src/api/kubernetes.ts';
import { GOOD, type Model } from '../model.ts';
import { pass, standing } from '../waits.ts';
import {
  analysis,
  atWeight,
  expectBack,
  expectLive,
  fallen,
  LONG_MS,
  live,
  metrics,
  seenBy,
  until,
} from './worlds.ts';

/** The shares that a release on the primary had, as requests follow them, in order. */
function sharesOnPrimary(model: Model, digest: string): number[] {
  return seenBy(model, () => (model.primary?.digest === digest ? model.served?.primaryWeight : undefined));
}

/** `b` does not come up on the primary, which under `manual` nothing but a newer revision is written to. */
function heldByHand(): Model {
  const model = live({ postPromotion: { onFailure: 'manual' } });
  model.commit('b', { ...GOOD, primaryReady: false });
  until(model, 'all on the canary', () => model.route?.canaryWeight === 100);
  return model;
}

describe('the last-known-good dies while the canary serves, and the canary fails its analysis (issue 11, 2)', () => {
  const dying = () => {
    const model = live();
    atWeight(model, 'b');
    model.die('a');
    model.tick(1000);
    model.outages.length = 0;
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    return model;
  };

  it('the canary serves on, and people are told that the last-known-good is not ready', () => {
    const model = dying();
    pass(model, 180_000);
    expect(standing(model)).toMatch(/^Failed\/Held LKGNotReady, 100 % on the canary/);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it('and a pushed fix gets through, analysed on the primary', () => {
    const model = dying();
    pass(model, 180_000);
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.asks).toContain('primary analysis c');
    expect(model.outages).toEqual([]);
  });
});

describe.each([
  ['reverted', fallen],
  ['left as it is', heldByHand],
])('a release is to be tried on the primary, which was %s and comes up again', (_name, held) => {
  it('and is tried on the canary, if the canary has too few pods for all traffic: it has not failed', () => {
    const model = held();
    model.refused.add('ApplyPrimary');
    model.commit('c');
    until(model, 'c before the primary', () => model.status.run?.side === 'primary');
    for (const digest of ['a', 'b']) model.behaviours.set(digest, GOOD);
    until(model, 'a ready primary', () => model.primary?.ready === 2);
    model.breakPods('canary', 1);
    Object.assign(model.route ?? {}, { primaryWeight: 50, canaryWeight: 50 });
    model.refused.clear();
    const known = model.events.length;
    until(model, 'the end of c', () => model.status.phase === 'Succeeded' && model.status.run === undefined);
    expectLive(model, 'c');
    expect(model.events.slice(known).filter(({ type }) => type === 'Warning')).toEqual([]);
    expect(model.status.history?.map(({ digest, result }) => `${digest} ${result}`)).not.toContain(
      'c Failed',
    );
    expect(model.outages).toEqual([]);
  });
});

describe('a newer revision goes through the primary (issue 11, 9)', () => {
  it('and its share rises step by step, each after a check', () => {
    const model = fallen();
    const shares = sharesOnPrimary(model, 'c');
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(shares).toEqual([0, 50, 100]);
    expect(model.asks).toContain('primary analysis c');
    expect(model.written).toEqual(['c']);
    expect(model.outages).toEqual([]);
  });

  it('and one that fails its checks there goes back to the canary, rejected', () => {
    const model = fallen();
    const shares = sharesOnPrimary(model, 'c');
    model.commit('c', { ...GOOD, primaryMetric: 50 });
    pass(model, 300_000);
    expect(Math.max(...shares)).toBeLessThanOrEqual(50);
    expect(model.rejected.map(({ digest }) => digest)).toContain('c');
    expect(standing(model)).toMatch(/^Failed\/Held LKGNotReady, 100 % on the canary/);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it.each([
    ['RollingUpdate', false],
    ['Recreate', true],
  ])('but never over a primary that has ready pods and all the traffic (%s)', (_name, recreate) => {
    const model = fallen({}, (empty) => {
      empty.recreate = recreate;
    });
    model.breakPods('primary', 1, { of: 'a' });
    model.behaviours.set('b', { ...GOOD, canaryReady: false, primaryReady: false });
    model.behaviours.set('a', GOOD);
    pass(model, 5000);
    expect(model.route?.canaryWeight).toBe(0);
    model.outages.length = 0;
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.outages).toEqual([]);
    expectLive(model, 'c');
  });
});

describe('Git leaves a release that is tried on the primary', () => {
  const half = (spec: object = {}) => {
    const model = fallen(spec);
    model.commit('c');
    until(model, 'half of the traffic on c', () => model.route?.canaryWeight === 50);
    return model;
  };

  it.each([
    ['comes up now', true],
    ['still does not come up', false],
  ])('for the last-known-good, which %s: the rest of the traffic never follows', (_name, primaryReady) => {
    const model = half();
    const shares = sharesOnPrimary(model, 'c');
    model.commit('a', { ...GOOD, primaryReady });
    pass(model, 200_000);
    expect(Math.max(...shares)).toBeLessThanOrEqual(50);
    expect(model.written).toEqual(['c', 'a']);
    expect(standing(model)).toMatch(
      primaryReady ? /^Succeeded, 0 % on the canary/ : /^Failed\/Held LKGNotReady, 100 % on the canary/,
    );
    expect(model.rejected.map(({ digest }) => digest)).toEqual(['b']);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it('or its gate does not open before its deadline: the canary serves again', () => {
    const type = 'confirm-promotion' as const;
    const webhooks = [{ name: 'gate', type, url: 'http://hooks.test/', deadline: '30s' }];
    const model = fallen({ analysis: { ...analysis, webhooks } });
    model.hooks[type] = 'refused';
    const shares = sharesOnPrimary(model, 'c');
    model.commit('c');
    pass(model, 300_000);
    expect(Math.max(...shares)).toBe(50);
    expect(standing(model)).toMatch(/^Failed\/Held LKGNotReady, 100 % on the canary/);
    expect(model.rejected).toMatchObject([{ digest: 'b' }, { digest: 'c', reason: 'GateDeadlineExceeded' }]);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it('for a release that was rejected: the canary serves again', () => {
    const model = half();
    const shares = sharesOnPrimary(model, 'c');
    model.commit('b', { ...GOOD, primaryReady: false });
    pass(model, 200_000);
    expect(Math.max(...shares)).toBeLessThanOrEqual(50);
    expect(standing(model)).toMatch(/^Failed\/Held LKGNotReady, 100 % on the canary/);
    expect(model.rejected.map(({ digest }) => digest)).toEqual(['b']);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });
});

const { stepWeight: _, maxWeight: __, ...base } = analysis;
const matched = { ...base, iterations: 2, match: [{ headers: { beta: { exact: 'yes' } } }] };

it.each([
  ['HorizontalPodAutoscaler', 'by weight', analysis],
  ['ScaledObject', 'by weight', analysis],
  ['HorizontalPodAutoscaler', 'by match', matched],
] as const)(
  'a release that is tried on a primary without load gets the pods for its next share (%s, %s)',
  (kind, _how, tried) => {
    const model = live({ analysis: tried });
    model.scale(kind, 4);
    model.tick();
    model.commit('b');
    until(model, 'pods of b', () => model.target?.digest === 'b');
    model.die('a');
    until(model, 'b alone', () => model.route?.canaryWeight === 100);
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.scalers?.left('primary')).toEqual([]);
  },
);

it('a release of another tool has no request before its analysis while pods of the last-known-good serve', () => {
  const model = live({}, (empty) => {
    empty.foreign = true;
  });
  model.commit('b', { ...GOOD, primaryReady: false });
  until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
  pass(model, 10_000);
  model.breakPods('primary', 1, { of: 'a' });
  until(model, 'Failed and Held', () => standing(model).startsWith('Failed/Held LKGNotReady'));
  model.commit('c', { ...GOOD, canaryMetric: 50 });
  model.tick(1000);
  const shares = seenBy(model, () => model.route?.canaryWeight);
  pass(model, 120_000);
  expect(shares).toEqual([0, 50, 0]);
  expect(model.rejected.map(({ digest }) => digest)).toEqual(['b', 'c']);
  expect(model.broken).toEqual([]);
});

it('a rollback beside another tool gets through when only pods of the primary serve', () => {
  const model = live({ postPromotion: { metrics, onFailure: 'revert' } }, (empty) => {
    empty.foreign = true;
  });
  model.commit('b');
  model.until('Succeeded');
  model.commit('c');
  until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
  model.behaviours.set('b', { ...GOOD, primaryReady: false });
  model.behaviours.set('c', { ...GOOD, canaryReady: false, primaryMetric: 50 });
  model.breakPods('canary', 2);
  until(model, 'Failed and Held', () => standing(model).startsWith('Failed/Held LKGNotReady'));
  expect(standing(model)).toMatch(/, 0 % on the canary, primary b 0\/2, canary c 0\/2/);
  model.ask('rollback-to', 'a@1');
  until(
    model,
    'a is live',
    () => model.status.lastKnownGood?.digest === 'a' && model.status.run === undefined,
  );
  expect(model.primary?.digest).toBe('a');
  expect(model.outages).toEqual([]);
  expect(model.broken).toEqual([]);
});

it('a release of another tool goes through the primary when nothing else serves there', () => {
  const model = live({}, (empty) => {
    empty.foreign = true;
  });
  atWeight(model, 'b');
  model.die('a');
  model.tick(1000);
  model.commit('c');
  pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
  expectLive(model, 'c');
  expect(model.asks).toContain('primary analysis c');
});

describe('the last-known-good does not come up, and the canary has too few pods for all traffic', () => {
  const allOrNothing = { interval: '10s', threshold: 2, iterations: 2, metrics };
  /** `a` is older than `b`. `c` failed its checks on the primary, and `b` does not come up there; half of the canary's pods are broken. */
  const short = (spec: object) => {
    const model = live({ ...spec, postPromotion: { metrics, onFailure: 'revert' } });
    model.commit('b');
    model.until('Succeeded');
    model.commit('c');
    until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
    model.behaviours.set('c', { ...GOOD, primaryMetric: 50 });
    model.behaviours.set('b', { ...GOOD, primaryReady: false });
    model.breakPods('canary', 1, { of: 'c' });
    until(model, 'Failed and Held', () => standing(model).startsWith('Failed/Held LKGNotReady'));
    return model;
  };

  it.each([
    ['a newer commit', (model: Model) => model.commit('d'), 'd'],
    ['a retry', (model: Model) => model.ask('retry', 'c@1'), 'c'],
    ['a rollback', (model: Model) => model.ask('rollback-to', 'a@1'), 'a'],
  ])('it comes up after all and serves, and then %s is tried on the canary', (_name, ask, digest) => {
    for (const spec of [{ analysis }, { provider: 'kubernetes', analysis: allOrNothing }]) {
      const model = short(spec);
      ask(model);
      pass(model, 30_000);
      if (digest !== 'd') expect(model.status.message).toContain('once the canary carries all traffic');
      model.behaviours.set('b', GOOD);
      until(model, 'it serves alone', () => model.route?.canaryWeight === 0 && !model.status.postPromotion);
      expect(model.primary?.digest).toBe('b');
      model.healPods();
      model.behaviours.set('c', GOOD);
      until(model, 'it is tried', () => model.status.lastKnownGood?.digest === digest);
      expect(model.asks).not.toContain(`primary analysis ${digest}`);
      expect(model.broken).toEqual([]);
      expect(model.outages).toEqual([]);
    }
  });

  it('a newer commit is tried on the canary after the deadline, while the primary serves', () => {
    for (const spec of [{ analysis }, { provider: 'kubernetes', analysis: allOrNothing }]) {
      const model = short(spec);
      model.commit('d');
      pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
      expectLive(model, 'd');
      expect(model.asks).toContain('canary analysis d');
      expect(model.outages).toEqual([]);
    }
  });

  it.each([
    ['retry', 'c'],
    ['rollback-to', 'a'],
  ] as const)('a %s waits for them no longer than a newer commit does', (verb, digest) => {
    for (const spec of [{ analysis }, { provider: 'kubernetes', analysis: allOrNothing }]) {
      const model = short(spec);
      model.ask(verb, `${digest}@1`);
      pass(model, 50_000);
      const { next, answers } = model.status;
      expect([next?.action, answers]).toEqual([expect.stringContaining('or without that'), undefined]);
      pass(model, 15_000);
      expect(model.status.answers?.[verb]?.result).toBe('Done');
      model.healPods();
      model.behaviours.set('c', GOOD);
      until(model, 'it is live', () => model.status.lastKnownGood?.digest === digest);
      expect(model.asks).not.toContain(`primary analysis ${digest}`);
      expect(model.broken).toEqual([]);
      expect(model.outages).toEqual([]);
    }
  });
});

describe('a newer revision, when neither side serves any more', () => {
  it('goes to the primary, and is analysed there under all the traffic', () => {
    const model = fallen();
    model.die('b');
    pass(model, 30_000);
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.asks).toContain('primary analysis c');
  });
});

describe('the record of the last-known-good is lost while a release is held (issue 11, 16)', () => {
  it('and a newer commit gets through the primary, analysed there', () => {
    const model = live({ postPromotion: { onFailure: 'hold' } });
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
    pass(model, 20_000);
    model.damaged.add('a');
    model.written.length = 0;
    const shares = sharesOnPrimary(model, 'c');
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.written).toEqual(['c']);
    expect(shares).toEqual([0, 50, 100]);
    expect(model.outages).toEqual([]);
  });

  /** `c` is at head; half of the canary's pods are broken, and old pods of the primary serve. */
  const halfServing = () => {
    const model = live({ postPromotion: { onFailure: 'hold' } });
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
    model.damaged.add('a');
    model.written.length = 0;
    model.breakPods('canary', 1, { of: 'b' });
    if (model.route) Object.assign(model.route, { primaryWeight: 50, canaryWeight: 50 });
    model.commit('c');
    pass(model, 50_000);
    expect(standing(model)).toMatch(
      /^Promoting\/Held .* sha-c "release c" is tried once the canary carries all traffic; sha-b/,
    );
    expect(model.written).toEqual([]);
    return model;
  };

  it('but only once the canary carries all traffic: until then old pods of the primary serve, and it stays held', () => {
    const model = halfServing();
    model.healPods();
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.asks).toContain('primary analysis c');
  });

  it('and it is tried on the canary when that never carries all traffic, while old pods of the primary serve', () => {
    const model = halfServing();
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.asks).toContain('canary analysis c');
    expect(model.outages).toEqual([]);
  });
});

describe('the record of the last-known-good is lost during the revert', () => {
  /** `b` is the last-known-good, and `a` was before; `c` fails its checks after promotion. */
  const losing = () => {
    const model = live({}, (empty) => {
      empty.recreate = true;
    });
    model.commit('b');
    model.until('Succeeded');
    model.commit('c', { ...GOOD, primaryMetric: 50 });
    until(model, 'Reverting', () => model.status.postPromotion?.state === 'Reverting');
    model.damaged.add('b');
    pass(model, 60_000);
    expect(standing(model)).toMatch(/^Promoting\/Held ChecksFailed/);
    model.outages.length = 0;
    model.written.length = 0;
    return model;
  };

  it('and a newer commit gets through the primary, analysed there', () => {
    const model = losing();
    model.commit('d');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expectLive(model, 'd');
    expect(model.written).toEqual(['d']);
    expect(model.outages).toEqual([]);
  });

  it('and the older release that the message names can be rolled back to', () => {
    const model = losing();
    expect(conditionOf(model.status, 'RollbackReady')?.message).toContain('sha-a');
    model.ask('rollback-to', 'a@1');
    pass(model, LONG_MS);
    expectBack(model, { rejected: 'c', good: 'a' });
    expect(model.written).toEqual(['a']);
    expect(model.outages).toEqual([]);
  });

  it('and goes on once it is restored', () => {
    const model = losing();
    model.damaged.clear();
    pass(model, LONG_MS, () => model.status.run === undefined);
    expectBack(model, { rejected: 'c', good: 'b' });
  });
});

describe('a rollback to an older release that does not come up on the primary', () => {
  const rolledBack = (onFailure: 'hold' | 'auto') => {
    const model = live({ postPromotion: { onFailure, metrics } });
    model.commit('b');
    model.until('Succeeded');
    model.behaviours.set('a', { ...GOOD, primaryReady: false });
    model.ask('rollback-to', 'a@1');
    return model;
  };
  const expectFixed = (model: Model) => {
    model.commit('c');
    until(model, 'the fix', () => model.status.phase === 'Succeeded');
    expectLive(model, 'c');
    expect(model.asks).toContain('primary analysis c');
    expect(model.outages).toEqual([]);
  };

  it('is held, and a pushed fix gets through without the release that was left', () => {
    const model = rolledBack('hold');
    until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
    model.written.length = 0;
    expectFixed(model);
    expect(model.written).toEqual(['c']);
  });

  it('is taken back, and a pushed fix gets through when that does not come up either', () => {
    const model = rolledBack('auto');
    until(model, 'the revert', () => model.status.postPromotion?.state === 'Reverting');
    model.behaviours.set('b', { ...GOOD, primaryReady: false });
    until(model, 'Failed and Held', () => standing(model).startsWith('Failed/Held LKGNotReady'));
    expectFixed(model);
  });
});
