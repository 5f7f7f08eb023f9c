import { describe, expect, it } from 'vitest';
import type { HookType } from '../../src/api/canary/analysis.ts';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { GOOD, Model } from './model.ts';
import { expectSafe } from './waits.ts';

const url = 'http://hooks.test/';
const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];

/** `b` is committed on top of `a`, with one webhook of each of these types. */
function withHooks(
  types: readonly HookType[],
  more: { analysis?: object; spec?: object; hook?: object } = {},
): Model {
  const after = types.includes('post-promotion');
  const webhooks = types
    .filter((type) => type !== 'post-promotion')
    .map((type) => ({ name: type, type, url, ...more.hook }));
  const model = new Model({
    analysis: {
      interval: '10s',
      threshold: 2,
      stepWeight: 50,
      maxWeight: 50,
      metrics,
      ...more.analysis,
      webhooks,
    },
    postPromotion: { metrics, ...(after ? { webhooks: [{ name: 'smoke', url }] } : {}) },
    ...more.spec,
  } as never);
  model.commit('a');
  model.until('Initialized');
  model.commit('b');
  return model;
}

function ticks(model: Model, count: number): void {
  for (let tick = 0; tick < count; tick += 1) model.tick();
}

function untilPhase(model: Model, phase: string): void {
  for (let count = 0; count < 100 && model.status.phase !== phase; count += 1) model.tick();
  expect(model.status.phase).toBe(phase);
}

function reasons(model: Model): string[] {
  return model.events.map(({ reason }) => reason);
}

const NO = ['refused', 'unreachable'] as const;

describe('confirm-rollout', () => {
  it.each(NO)('keeps a release from starting while it is %s, and writes nothing meanwhile', (answer) => {
    const model = withHooks(['confirm-rollout']);
    model.hooks['confirm-rollout'] = answer;
    untilPhase(model, 'Waiting');
    ticks(model, 3);
    const { writes } = model;
    const calls = model.hookCalls.get('confirm-rollout') ?? 0;
    ticks(model, 100);
    expect(model.writes).toBe(writes);
    expect(model.hookCalls.get('confirm-rollout')).toBeGreaterThan(calls + 40);
    expect(model.target?.desired).toBe(0);
    expect(reasons(model).filter((reason) => reason === 'Waiting')).toHaveLength(1);
    expect(model.status.failedChecks).toBe(0);
    expectSafe(model);
  });

  it.each([
    [undefined, ['Waiting', 'Started', 'Initialized']],
    [true, ['Started', 'Initialized']],
  ])('is told as an alert once when it is closed, unless muteAlert is %s', (muteAlert, told) => {
    const model = withHooks(['confirm-rollout'], { hook: { muteAlert } });
    model.hooks['confirm-rollout'] = 'refused';
    untilPhase(model, 'Waiting');
    ticks(model, 20);
    expect(model.status.incidents?.map(({ outcome }) => outcome)).toEqual(told);
  });

  it('starts the release when it opens', () => {
    const model = withHooks(['confirm-rollout']);
    model.hooks['confirm-rollout'] = 'refused';
    untilPhase(model, 'Waiting');
    model.hooks = {};
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expect(reasons(model)).toContain('GateOpened');
    expectSafe(model);
  });

  it('is opened by a person also while it is asked for the first time', () => {
    const model = withHooks(['confirm-rollout']);
    model.hooks['confirm-rollout'] = 'hang';
    model.tick();
    expect(model.asked).toMatchObject({ hooks: ['confirm-rollout'] });
    model.ask('approve', 'b');
    model.tick();
    expect(model.status.answers?.approve).toMatchObject({ result: 'Done' });
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('b');
    expectSafe(model);
  });

  it('is asked with the phase before, as in Flagger, and hangs without any write', () => {
    const model = withHooks(['confirm-rollout']);
    model.hooks['confirm-rollout'] = 'hang';
    model.tick();
    expect(model.asked).toMatchObject({
      hooks: ['confirm-rollout'],
      facts: { phase: 'Initialized', digest: 'b' },
    });
    ticks(model, 20);
    expect(model.target?.desired).toBe(0);
    expect(model.status.phase).toBe('Initialized');
    expect(conditionOf(model.status, 'Ready')?.status).toBe('False');
  });

  it('is asked anew for a newer revision, also when that comes in the middle of a rollout', () => {
    const model = withHooks(['confirm-rollout']);
    untilPhase(model, 'Progressing');
    ticks(model, 3);
    model.hooks['confirm-rollout'] = 'refused';
    model.commit('c');
    untilPhase(model, 'Waiting');
    ticks(model, 5);
    expect(model.route?.canaryWeight).toBe(0);
    expect(model.target?.desired).toBe(0);
    model.hooks = {};
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
    expectSafe(model);
  });

  it('holds skipAnalysis and the fast lane, too', () => {
    const model = withHooks(['confirm-rollout'], { spec: { skipAnalysis: true } });
    model.until('Succeeded');
    model.hooks['confirm-rollout'] = 'refused';
    model.commit('a', GOOD, 's1', 'sha-back');
    untilPhase(model, 'Waiting');
    ticks(model, 10);
    expect(model.primary?.digest).toBe('b');
    expectSafe(model);
  });

  it('is opened by an approval, for this release only', () => {
    const model = withHooks(['confirm-rollout']);
    model.hooks['confirm-rollout'] = 'refused';
    untilPhase(model, 'Waiting');
    model.status = { ...model.status, run: { ...model.status.run, approved: ['Waiting'] } };
    model.until('Succeeded');
    model.commit('c');
    untilPhase(model, 'Waiting');
  });

  it('lets Git take the release back while it waits', () => {
    const model = withHooks(['confirm-rollout']);
    model.hooks['confirm-rollout'] = 'refused';
    untilPhase(model, 'Waiting');
    model.commit('a', GOOD, 's1', 'sha-revert');
    model.until('Succeeded');
    expect(model.status.lastAppliedSpec).toBe('a');
    expect(model.rejected).toEqual([]);
    expectSafe(model);
  });

  it('creates a primary that is deleted while it waits, and applies settings', () => {
    const model = withHooks(['confirm-rollout']);
    model.hooks['confirm-rollout'] = 'refused';
    untilPhase(model, 'Waiting');
    model.primary = undefined;
    model.tick();
    expect(model.primary).toMatchObject({ digest: 'a' });
    model.commit('b', GOOD, 's2');
    model.tick();
    expect(model.primary).toMatchObject({ digest: 'a', settingsKey: 's2' });
  });

  it('fails the release at its deadline, and only if it has one', () => {
    const model = withHooks(['confirm-rollout'], { hook: { deadline: '2m' } });
    model.hooks['confirm-rollout'] = 'refused';
    untilPhase(model, 'Waiting');
    ticks(model, 20);
    expect(model.status.phase).toBe('Waiting');
    model.until('Failed');
    expect(model.rejected.map(({ reason }) => reason)).toEqual(['GateDeadlineExceeded']);
    expectSafe(model);
  });
});

describe('the deadline of a gate', () => {
  const hour = 3_600_000;

  it('ends it by an answer of that moment, also where the interval is longer', () => {
    const model = withHooks(['confirm-rollout'], {
      analysis: { interval: '10m' },
      hook: { deadline: '5m' },
    });
    model.hooks['confirm-rollout'] = 'refused';
    untilPhase(model, 'Waiting');
    ticks(model, 24);
    model.hooks['confirm-rollout'] = 'approved';
    ticks(model, 40);
    expect(model.status.phase).toBe('Progressing');
    expect(model.rejected).toEqual([]);
    expectSafe(model);
  });

  it.each([
    ['a closed window', 'confirm-rollout', 'Waiting', (model: Model) => model.closeWindow(hour)],
    ['a freeze', 'confirm-promotion', 'WaitingPromotion', (model: Model) => model.freezeFor(hour)],
    [
      'a suspension',
      'confirm-promotion',
      'WaitingPromotion',
      (model: Model) => {
        model.canary.spec.suspend = true;
      },
    ],
  ] as const)('begins anew after %s, during which the gate is not asked', (_, type, phase, begin) => {
    const model = withHooks([type], { hook: { deadline: '5m' } });
    model.window = { open: true };
    model.hooks[type] = 'refused';
    untilPhase(model, phase);
    begin(model);
    ticks(model, hour / 5000);
    delete model.canary.spec.suspend;
    ticks(model, 30);
    expect(model.status.phase).toBe(phase);
    expect(model.rejected).toEqual([]);
    model.until('Failed');
    expect(model.rejected.map(({ reason }) => reason)).toEqual(['GateDeadlineExceeded']);
    expectSafe(model);
  });
});

describe('confirm-promotion', () => {
  it.each(NO)(
    '%s: the weight stays as read back, iterations are untouched, checks go on (2.19, 8)',
    (answer) => {
      const model = withHooks(['confirm-promotion']);
      model.hooks['confirm-promotion'] = answer;
      untilPhase(model, 'WaitingPromotion');
      ticks(model, 10);
      expect(model.status).toMatchObject({
        phase: 'WaitingPromotion',
        canaryWeight: 50,
        iterations: 0,
        failedChecks: 0,
      });
      expect(model.route?.canaryWeight).toBe(50);
      expect(model.primary?.digest).toBe('a');
      expect(reasons(model).filter((reason) => reason === 'WaitingPromotion')).toHaveLength(1);
      model.hooks = {};
      model.until('Succeeded');
      expect(model.primary?.digest).toBe('b');
      expectSafe(model);
    },
  );

  it('does not keep a release whose checks fail', () => {
    const model = withHooks(['confirm-promotion']);
    model.hooks['confirm-promotion'] = 'refused';
    untilPhase(model, 'WaitingPromotion');
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    model.until('Failed');
    expect(model.rejected.map(({ reason }) => reason)).toEqual(['AnalysisFailed']);
    expectSafe(model);
  });

  it('opened by an approval promotes at the next look, unless the last check failed', () => {
    const model = withHooks(['confirm-promotion']);
    model.hooks['confirm-promotion'] = 'refused';
    untilPhase(model, 'WaitingPromotion');
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    while (model.status.failedChecks === 0) model.tick();
    model.status = { ...model.status, run: { ...model.status.run, approved: ['WaitingPromotion'] } };
    model.tick(1000);
    expect(model.status.phase).toBe('WaitingPromotion');
    model.behaviours.set('b', GOOD);
    model.until('Succeeded');
    expectSafe(model);
  });

  it('is polled at every interval of an A/B test, whose iterations stand still', () => {
    const analysis = {
      stepWeight: undefined,
      maxWeight: undefined,
      iterations: 2,
      match: [{ headers: { x: { exact: 'y' } } }],
    };
    const model = withHooks(['confirm-promotion'], { analysis });
    model.hooks['confirm-promotion'] = 'refused';
    untilPhase(model, 'WaitingPromotion');
    const calls = model.hookCalls.get('confirm-promotion') ?? 0;
    ticks(model, 20);
    expect(model.hookCalls.get('confirm-promotion')).toBeGreaterThanOrEqual(calls + 9);
    expect(model.status.iterations).toBe(2);
    expectSafe(model);
  });

  it('guards all traffic of blue/green as well as its promotion', () => {
    const model = withHooks(['confirm-promotion'], {
      analysis: { stepWeight: undefined, maxWeight: undefined, iterations: 1 },
    });
    model.hooks['confirm-promotion'] = 'refused';
    untilPhase(model, 'WaitingPromotion');
    ticks(model, 10);
    expect(model.route?.canaryWeight).toBe(0);
    model.hooks = {};
    untilPhase(model, 'Progressing');
    model.hooks['confirm-promotion'] = 'refused';
    untilPhase(model, 'WaitingPromotion');
    expect(model.route?.canaryWeight).toBe(100);
    expect(model.primary?.digest).toBe('a');
    model.hooks = {};
    model.until('Succeeded');
    expectSafe(model);
  });

  it('fails the release at its deadline, with all traffic back on the primary', () => {
    const model = withHooks(['confirm-promotion'], { hook: { deadline: '1m' } });
    model.hooks['confirm-promotion'] = 'unreachable';
    model.until('Failed');
    expect(model.route?.canaryWeight).toBe(0);
    expect(model.rejected.map(({ reason }) => reason)).toEqual(['GateDeadlineExceeded']);
    expectSafe(model);
  });
});

describe('confirm-traffic-increase', () => {
  it('closed keeps the weight, without failed checks and without repeating pre-rollout (1248)', () => {
    const model = withHooks(['pre-rollout', 'confirm-traffic-increase']);
    model.hooks['confirm-traffic-increase'] = 'refused';
    ticks(model, 30);
    expect(model.status).toMatchObject({ phase: 'Progressing', canaryWeight: 0, failedChecks: 0 });
    expect(model.hookCalls.get('pre-rollout')).toBe(1);
    expect(model.hookCalls.get('confirm-traffic-increase')).toBeGreaterThan(10);
    model.hooks = {};
    model.until('Succeeded');
    expect(model.hookCalls.get('pre-rollout')).toBe(1);
    expectSafe(model);
  });

  it('closed copies no requests to the canary before the first step either', () => {
    const model = withHooks(['confirm-traffic-increase'], {
      analysis: { mirror: true },
      spec: { provider: 'istio' },
    });
    model.hooks['confirm-traffic-increase'] = 'refused';
    for (let count = 0; count < 30; count += 1) {
      model.tick();
      expect(model.route?.mirrored).toBe(false);
    }
    expect(model.status).toMatchObject({ phase: 'Progressing', failedChecks: 0 });
    model.hooks = {};
    while (model.status.phase === 'Progressing' && !model.route?.mirrored) model.tick(1000);
    expect(model.route).toMatchObject({ mirrored: true, canaryWeight: 0 });
    model.until('Succeeded');
    expectSafe(model);
  });

  it('closed in the middle keeps the weight while checks go on', () => {
    const model = withHooks(['confirm-traffic-increase'], { analysis: { stepWeight: 20, maxWeight: 60 } });
    while (model.route?.canaryWeight !== 20) model.tick();
    model.hooks['confirm-traffic-increase'] = 'unreachable';
    ticks(model, 20);
    expect(model.route?.canaryWeight).toBe(20);
    model.behaviours.set('b', { ...GOOD, canaryMetric: 50 });
    model.until('Failed');
    expectSafe(model);
  });
});

describe('pre-rollout and rollout', () => {
  it.each(NO)('pre-rollout %s fails the release before any traffic, once per interval', (answer) => {
    const model = withHooks(['pre-rollout'], { analysis: { threshold: 3 } });
    model.hooks['pre-rollout'] = answer;
    model.until('Failed');
    expect(model.hookCalls.get('pre-rollout')).toBe(3);
    expect(reasons(model)).not.toContain('WeightAdvanced');
    expectSafe(model);
  });

  it('pre-rollout that passes at the second time goes on', () => {
    const model = withHooks(['pre-rollout']);
    model.hooks['pre-rollout'] = 'refused';
    while ((model.status.failedChecks ?? 0) === 0) model.tick();
    model.hooks = {};
    model.until('Succeeded');
    expect(model.hookCalls.get('pre-rollout')).toBe(2);
  });

  it.each(NO)('rollout %s is a failed check with its finding', (answer) => {
    const model = withHooks(['rollout']);
    model.hooks.rollout = answer;
    model.until('Failed');
    expect(model.status.checks?.[0]).toMatchObject({
      name: 'rollout',
      verdict: 'fail',
      detail: 'answered 403',
    });
    expect(model.hookCalls.get('rollout')).toBe(2);
    expectSafe(model);
  });

  it('a webhook that hangs is asked once and keeps the rollout where it is', () => {
    const model = withHooks(['rollout']);
    while (model.route?.canaryWeight !== 50) model.tick();
    model.hooks.rollout = 'hang';
    ticks(model, 10);
    const { key } = model.asked ?? { key: '' };
    ticks(model, 20);
    expect(model.asked?.key).toBe(key);
    expect(model.route?.canaryWeight).toBe(50);
    model.hooks = {};
    model.until('Succeeded');
    expectSafe(model);
  });
});

describe('rollback', () => {
  it.each([
    ['Waiting', 'confirm-rollout'],
    ['WaitingPromotion', 'confirm-promotion'],
  ] as const)('approved in %s takes the release back before the first write (2.19, 9)', (phase, gate) => {
    const model = withHooks([gate, 'rollback']);
    model.hooks[gate] = 'refused';
    untilPhase(model, phase);
    ticks(model, 5);
    expect(model.status.phase).toBe(phase);
    model.hooks.rollback = 'approved';
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expect(model.rejected.map(({ reason }) => reason)).toEqual(['RolledBackByWebhook']);
    expect(model.route?.canaryWeight).toBe(0);
    expectSafe(model);
  });

  it.each([0, 1, 2, 3])('approved in Waiting survives a crash after %i writes', (writes) => {
    const model = withHooks(['confirm-rollout', 'rollback']);
    model.hooks['confirm-rollout'] = 'refused';
    untilPhase(model, 'Waiting');
    model.hooks.rollback = 'approved';
    model.nowMs += 11_000;
    while (!model.answer?.hooks.some(({ verdict, type }) => type === 'rollback' && verdict === 'approved'))
      model.reconcile();
    model.reconcile(writes);
    model.answer = undefined;
    model.hooks = {};
    ticks(model, 50);
    expect(model.rejected.map(({ reason }) => reason)).toEqual(writes > 0 ? ['RolledBackByWebhook'] : []);
    expect(model.status.phase).toBe(writes > 0 ? 'Failed' : 'Succeeded');
    expectSafe(model);
  });

  it.each([
    [
      'before the canary is ready',
      (model: Model) => model.behaviours.set('b', { ...GOOD, canaryReady: false }),
    ],
    [
      'while paused',
      (model: Model) => (model.canary.metadata.annotations = { 'holdfast.dev/pause': 'true' }),
    ],
    ['in the analysis', () => undefined],
  ])('approved %s takes the release back', (_when, prepare) => {
    const model = withHooks(['rollback']);
    prepare(model);
    ticks(model, 3);
    expect(model.status.phase).toBe('Progressing');
    model.hooks.rollback = 'approved';
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expectSafe(model);
  });

  it.each(['Converging', 'Verifying', 'Held'])('approved in %s reverts', (state) => {
    const model = withHooks(['rollback'], {
      spec: { postPromotion: { onFailure: 'hold', successThreshold: 50 } },
    });
    if (state !== 'Verifying') model.behaviours.set('b', { ...GOOD, primaryReady: false });
    for (let count = 0; count < 200 && model.status.postPromotion?.state !== state; count += 1) model.tick();
    if (state === 'Converging') model.tick();
    expect(model.status.postPromotion?.state).toBe(state);
    expect(model.primary?.digest).toBe('b');
    model.hooks.rollback = 'approved';
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expect(model.status.history?.[0]).toMatchObject({ digest: 'b', reason: 'RolledBackByWebhook' });
    expect(conditionOf(model.status, 'Reverted')?.status).toBe('True');
    expectSafe(model);
  });

  it.each(['unreachable', 'refused'] as const)(
    'that is %s has no effect, and no write of its own',
    (answer) => {
      const model = withHooks(['rollback'], { spec: { postPromotion: { onFailure: 'hold' } } });
      model.behaviours.set('b', { ...GOOD, primaryReady: false });
      model.hooks.rollback = answer;
      for (let count = 0; count < 200 && model.status.postPromotion?.state !== 'Held'; count += 1)
        model.tick();
      ticks(model, 10);
      const { writes } = model;
      const calls = model.hookCalls.get('rollback') ?? 0;
      ticks(model, 50);
      expect(model.writes).toBe(writes);
      expect(model.hookCalls.get('rollback')).toBeGreaterThanOrEqual(calls + 20);
    },
  );
});

describe('post-rollout', () => {
  it.each([
    ['Succeeded', GOOD],
    ['Failed', { ...GOOD, canaryMetric: 50 }],
  ] as const)('is told once that a release %s', (phase, behaviour) => {
    const model = withHooks(['post-rollout']);
    model.behaviours.set('b', behaviour);
    model.until(phase);
    ticks(model, 20);
    expect(model.hookCalls.get('post-rollout')).toBe(1);
    expect(model.status.history?.[0]?.postRollout).toBe('Passed');
    expect(model.status.phase).toBe(phase);
  });

  it('that fails changes nothing of the release, and is not repeated', () => {
    const model = withHooks(['post-rollout']);
    model.hooks['post-rollout'] = 'refused';
    model.until('Succeeded');
    ticks(model, 20);
    expect(model.hookCalls.get('post-rollout')).toBe(1);
    expect(model.status).toMatchObject({ phase: 'Succeeded', history: [{ postRollout: 'Failed' }] });
    expect(reasons(model)).toContain('PostRolloutFailed');
  });

  it('is heard before the next release starts', () => {
    const model = withHooks(['post-rollout']);
    model.hooks['post-rollout'] = 'hang';
    model.until('Succeeded');
    model.commit('c');
    ticks(model, 5);
    expect(model.status.lastAppliedSpec).toBe('b');
    model.hooks = {};
    untilPhase(model, 'Progressing');
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
  });
});

describe('post-promotion', () => {
  it('that says no reverts, and is asked again of the last-known-good', () => {
    const model = withHooks(['post-promotion']);
    for (let count = 0; count < 100 && model.status.postPromotion?.state !== 'Verifying'; count += 1)
      model.tick();
    model.hooks['post-promotion'] = 'refused';
    while (model.status.postPromotion?.state !== 'Reverting') model.tick();
    model.hooks = {};
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    expect(model.status.history?.[0]).toMatchObject({ digest: 'b', reason: 'ChecksFailed' });
    expect([...model.gatesPassed]).toContain('post-promotion a');
    expectSafe(model);
  });

  it('that cannot be reached stops the clock and ends in Held, never in a revert (S29)', () => {
    const model = withHooks(['post-promotion']);
    model.hooks['post-promotion'] = 'unreachable';
    for (let count = 0; count < 200 && model.status.postPromotion?.state !== 'Held'; count += 1) model.tick();
    ticks(model, 100);
    expect(model.status.postPromotion).toMatchObject({ state: 'Held', reason: 'ChecksUnavailable' });
    expect(model.primary?.digest).toBe('b');
    expect(model.rejected).toEqual([]);
    model.hooks = {};
    model.until('Succeeded');
    expectSafe(model);
  });
});
