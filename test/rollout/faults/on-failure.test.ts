/** What `onFailure` says is looked at as long as a release is held, and `halt` means that templates stand still (issue 11, 7). */
import { describe, expect, it } from 'vitest';
import type { OnFailure } from '../../../src/api/canary/analysis.ts';
import { GOOD, type Model } from '../model.ts';
import { pass, standing } from '../waits.ts';
import { analysis, expectBack, expectLive, LONG_MS, live, metrics, until } from './worlds.ts';

const LIVE = { first: '0000000000000000', second: '1111111111111111' };

/** `b` is held, since it does not come up on the primary, or fails its checks there. */
function held(
  onFailure: OnFailure,
  how: 'PrimaryNotReady' | 'ChecksFailed' = 'PrimaryNotReady',
  spec: object = {},
): Model {
  const model = live({ postPromotion: { onFailure, metrics }, ...spec });
  const failing = how === 'ChecksFailed' ? { primaryMetric: 50 } : { primaryReady: false };
  model.commit('b', { ...GOOD, ...failing });
  until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
  pass(model, 20_000);
  model.written.length = 0;
  model.outages.length = 0;
  return model;
}

function switchTo(model: Model, onFailure: OnFailure): void {
  model.canary.spec.postPromotion = { ...model.canary.spec.postPromotion, onFailure };
}

/** `b` was superseded before it was verified, `c` failed its analysis, and `b` stays on the primary. */
function leftUnderHalt(): Model {
  const model = live({ postPromotion: { onFailure: 'halt', metrics, successThreshold: 50 } });
  model.commit('b');
  until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
  model.commit('c', { ...GOOD, canaryMetric: 50 });
  until(model, 'the rejection', () => model.rejected.length > 0);
  pass(model, 120_000);
  expect(model.primary?.digest).toBe('b');
  return model;
}

describe('onFailure halt', () => {
  it('stays undisturbed by a newer commit: the last-known-good is not written in between', () => {
    const model = held('halt');
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.written).toEqual(['c']);
    expect(model.asks).toContain('primary analysis c');
    expectLive(model, 'c');
    expect(model.outages).toEqual([]);
  });

  it('goes back to Held when the newer commit fails on the primary', () => {
    const model = held('halt');
    model.commit('c', { ...GOOD, primaryMetric: 50 });
    pass(model, LONG_MS);
    expect(model.written).not.toContain('a');
    expect(model.status.postPromotion?.state).toBe('Held');
    expect(model.route?.canaryWeight).toBe(100);
    expect(model.rejected.map(({ digest }) => digest)).toContain('c');
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it.each([
    ['a person', (model: Model) => model.ask('abort', 'c@1')],
    ['a webhook', (model: Model) => Object.assign(model.hooks, { rollback: 'approved' })],
  ])('keeps the newer commit off the primary for good when %s takes it back', (_name, takeBack) => {
    const webhooks = [{ name: 'back', type: 'rollback' as const, url: 'http://back.test' }];
    const model = held('halt', 'PrimaryNotReady', { analysis: { ...analysis, webhooks } });
    model.commit('c');
    until(model, 'half of the traffic on c', () => model.route?.canaryWeight === 50);
    takeBack(model);
    pass(model, 30_000);
    model.hooks = {};
    const { writes } = model;
    pass(model, LONG_MS);
    expect(standing(model)).toMatch(/^Promoting\/Held \w+, 100 % on the canary/);
    expect(model.writes).toBe(writes);
    expect(model.rejected.map(({ digest }) => digest)).toEqual(['c']);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it.each([
    ['is tried on the primary', 'approved'],
    ['waits for confirm-rollout', 'refused'],
  ] as const)(
    'goes back to the last-known-good when a person asks for it while a newer commit %s',
    (_name, gate) => {
      const webhooks = [{ name: 'gate', type: 'confirm-rollout' as const, url: 'http://hooks.test/' }];
      const model = held('halt', 'PrimaryNotReady', { analysis: { ...analysis, webhooks } });
      model.hooks['confirm-rollout'] = gate;
      model.commit('c');
      const weight = gate === 'approved' ? 50 : 100;
      until(model, 'c', () => model.status.run?.digest === 'c' && model.route?.canaryWeight === weight);
      model.ask('rollback-to', 'a');
      until(model, 'the end', () => model.status.run === undefined);
      expectBack(model, { rejected: 'c' });
      expect(model.outages).toEqual([]);
    },
  );

  it('lets a fix through when neither side serves any more', () => {
    const model = live({ postPromotion: { onFailure: 'halt', metrics } });
    model.commit('b');
    until(model, 'Verifying', () => model.status.postPromotion?.state === 'Verifying');
    model.die('b');
    pass(model, 60_000);
    model.written.length = 0;
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.written).toEqual(['c']);
    expectLive(model, 'c');
  });

  it('lets a fix through on the canary when only old pods of the primary serve', () => {
    const model = live({ postPromotion: { onFailure: 'halt', metrics } });
    model.commit('b', { ...GOOD, primaryReady: false });
    until(model, 'b on the primary', () => model.primary?.digest === 'b');
    model.die('b');
    pass(model, 120_000);
    expect(standing(model)).toMatch(/^Promoting\/Held PrimaryNotReady, 0 % on the canary/);
    model.written.length = 0;
    model.outages.length = 0;
    model.commit('c');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.written).toEqual(['c']);
    expect(model.asks).toContain('canary analysis c');
    expectLive(model, 'c');
    expect(model.outages).toEqual([]);
  });

  it('does not undo a release that was superseded, when the newer one fails its analysis', () => {
    const model = leftUnderHalt();
    expect(model.status.message).toMatch(/^the primary runs sha-b .* onFailure keeps it/);
    model.commit('d');
    pass(model, 100_000, () => model.primary?.digest === 'd');
    model.commit('a');
    pass(model, LONG_MS, () => model.status.phase === 'Succeeded');
    expect(model.written).toEqual(['b', 'd', 'a']);
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it('takes back what was never verified when a person asks for the last-known-good', () => {
    const model = leftUnderHalt();
    model.ask('rollback-to', 'a');
    pass(model, LONG_MS, () => model.primary?.digest === 'a' && model.status.phase === 'Failed');
    expect(model.route?.canaryWeight).toBe(0);
    pass(model, 120_000);
    expect(model.rejected.map(({ digest, reason }) => [digest, reason])).toEqual([
      ['c', expect.any(String)],
      ['b', 'RolledBack'],
    ]);
    expect(model.status.lastPromotedSpec).toBe('a');
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  });

  it.each([0, 1, 2, 3])(
    'takes it back also if the program is killed again and again after %d writes of the request',
    (writes) => {
      const model = leftUnderHalt();
      model.ask('rollback-to', 'a');
      for (let kills = 0; kills < 60; kills += 1) {
        model.tick(1000, kills % 2 === 0 ? writes : writes + 1);
        model.leadAnew();
      }
      pass(model, LONG_MS, () => model.status.run === undefined && model.primary?.digest === 'a');
      pass(model, 60_000);
      expect(model.status).toMatchObject({ phase: 'Failed', lastPromotedSpec: 'a' });
      expect(model.rejected.map(({ digest }) => digest)).toEqual(['c', 'b']);
      expect(model.primary?.digest).toBe('a');
      expect(model.outages).toEqual([]);
      expect(model.broken).toEqual([]);
    },
  );

  it('writes nothing when a Secret outside Git is rotated', () => {
    const model = live({ postPromotion: { onFailure: 'halt' } });
    model.commit(`b+${LIVE.first}`, { ...GOOD, primaryReady: false });
    until(model, 'Held', () => model.status.postPromotion?.state === 'Held');
    pass(model, 20_000);
    model.written.length = 0;
    model.rotate(LIVE.second);
    pass(model, 300_000);
    expect(model.written).toEqual([]);
    expect(model.target?.digest).toBe(`b+${LIVE.first}`);
    expect(model.status.postPromotion?.state).toBe('Held');
    expect(model.broken).toEqual([]);
  });

  it('leaves the config of the primary as it stands', () => {
    const model = held('halt');
    model.copy = undefined;
    pass(model, 60_000);
    expect(model.copy).toBeUndefined();
  });
});

describe('a newer commit that waits for confirm-rollout while a release is held, whose primary cannot be taken back', () => {
  const gate = (deadline?: string) => ({
    ...analysis,
    webhooks: [
      {
        name: 'gate',
        type: 'confirm-rollout' as const,
        url: 'http://hooks.test/',
        ...(deadline && { deadline }),
      },
    ],
  });
  const ONLY_CANARY = /, 100 % on the canary, primary b 2\/2, canary b 2\/2/;
  /** `b` fails its checks on the primary, and its canary serves; `x` was rejected before. */
  const waiting = (how: string, analysed = gate()) => {
    const model = held(how === 'halt' ? 'halt' : 'hold', 'ChecksFailed', { analysis: analysed });
    if (how !== 'halt') model.damaged.add('a');
    const time = new Date(model.nowMs).toISOString();
    model.rejected.push({ digest: 'x', commit: 'sha-x', reason: 'ChecksFailed', time });
    model.hooks['confirm-rollout'] = 'refused';
    model.commit('c');
    pass(model, 30_000);
    expect(standing(model)).toMatch(/^Waiting/);
    return model;
  };

  const expectOnPrimary = (model: Model) => {
    until(model, 'c is live', () => model.status.lastPromotedSpec === 'c' && model.status.run === undefined);
    expect(model.asks).toContain('primary analysis c');
    expect(model.outages).toEqual([]);
    expect(model.broken).toEqual([]);
  };

  describe.each(['halt', 'the last-known-good is lost'])('%s', (how) => {
    it('leaves the canary its traffic and its pods, and is tried on the primary once the gate opens', () => {
      const model = waiting(how);
      expect(standing(model)).toMatch(ONLY_CANARY);
      pass(model, LONG_MS);
      expect(standing(model)).toMatch(ONLY_CANARY);
      model.hooks['confirm-rollout'] = 'approved';
      expectOnPrimary(model);
    });

    it.each([0, 1, 2, 3])(
      'whoever leads, and whenever it is killed (after %i writes), the canary keeps its traffic until the gate opens',
      (writes) => {
        const model = waiting(how);
        const kill = (times: number) => {
          for (let kills = 0; kills < times; kills += 1) {
            model.tick(1000, writes + (kills % 2));
            model.leadAnew(kills % 2 === 0 ? 3_600_000 : -3_600_000);
          }
        };
        kill(30);
        expect(standing(model)).toMatch(ONLY_CANARY);
        model.hooks['confirm-rollout'] = 'approved';
        kill(60);
        model.leadAnew();
        expectOnPrimary(model);
      },
    );

    it.each([
      ['a person aborts it', (model: Model) => model.ask('abort', 'c'), 'Aborted'],
      ['Git moves on to a rejected release', (model: Model) => model.commit('x'), 'Rejected'],
      ['the deadline of the gate passes', () => undefined, 'GateDeadlineExceeded'],
    ])('no traffic comes back to the primary when %s', (_name, end, reason) => {
      const model = waiting(how, gate(reason === 'GateDeadlineExceeded' ? '60s' : undefined));
      end(model);
      pass(model, LONG_MS);
      expect(standing(model)).toMatch(ONLY_CANARY);
      expect(model.status.postPromotion).toMatchObject({ state: 'Held', reason });
      expect(model.written).toEqual([]);
      model.commit('c');
      pass(model, 30_000);
      expect(model.status.phase).toBe(reason === 'Rejected' ? 'Waiting' : 'Promoting');
      model.hooks['confirm-rollout'] = 'approved';
      model.commit('d');
      until(model, 'a fix is live', () => model.status.lastPromotedSpec === 'd');
      expect(model.outages).toEqual([]);
      expect(model.broken).toEqual([]);
    });
  });
});

describe('onFailure is changed while a release is held', () => {
  it.each([
    ['hold', 'PrimaryNotReady', 'revert'],
    ['hold', 'ChecksFailed', 'revert'],
    ['hold', 'ChecksFailed', 'auto'],
    ['halt', 'PrimaryNotReady', 'revert'],
  ] as const)('from %s (%s) to %s: it goes back at once', (from, how, to) => {
    const model = held(from, how);
    switchTo(model, to);
    model.tick(1000);
    expect(model.reverts).toEqual(['b']);
    pass(model, LONG_MS, () => model.status.run === undefined);
    expectBack(model, { rejected: 'b' });
    expect(model.outages).toEqual([]);
  });

  it('from hold (PrimaryNotReady) to auto: it goes back at the deadline', () => {
    const model = held('hold');
    switchTo(model, 'auto');
    pass(model, 180_000, () => model.status.run === undefined);
    expectBack(model, { rejected: 'b' });
  });

  it('from auto to hold: it has no end any more', () => {
    const model = held('auto');
    switchTo(model, 'hold');
    pass(model, LONG_MS);
    expect(standing(model)).toMatch(/^Promoting\/Held PrimaryNotReady, 100 % on the canary/);
    expect(model.broken).toEqual([]);
  });
});
