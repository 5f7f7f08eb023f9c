import { describe, expect, it } from 'vitest';
import type { Canary } from '../../src/api/canary/canary.ts';
import { conditionOf } from '../../src/api/kubernetes.ts';
import { type Behaviour, GOOD, Model } from './model.ts';
import { pass, untilState } from './waits.ts';

type Analysis = Partial<Canary['spec']['analysis']>;

const base = { interval: '10s', threshold: 2, metrics: [{ name: 'rate', thresholdRange: { min: 99 } }] };

/** `a` is initialized, and `b` committed on top of it. */
function released(analysis: Analysis, behaviour: Behaviour = GOOD, spec: object = {}): Model {
  const model = new Model({ analysis: { ...base, ...analysis }, ...spec } as never);
  model.commit('a');
  model.until('Initialized');
  model.commit('b', behaviour);
  return model;
}

/** Calls `look` after every step of the core. */
function afterEachStep(model: Model, look: () => void): void {
  const { reconcile } = model;
  model.reconcile = (crashAfter) => {
    const again = reconcile.call(model, crashAfter);
    look();
    return again;
  };
}

/** `phase weight` of each status that was written, without repetitions, up to the end of the release or the number of ticks. */
function timeline(model: Model, ticks = 200): string[] {
  const seen = [`${model.status.phase} ${model.status.canaryWeight}`];
  afterEachStep(model, () => {
    const now = `${model.status.phase} ${model.status.canaryWeight}`;
    if (seen.at(-1) !== now) seen.push(now);
  });
  for (let count = 0; count < ticks && (seen.length === 1 || model.status.run !== undefined); count += 1)
    model.tick(1000);
  expect(model.broken).toEqual([]);
  expect(model.outages).toEqual([]);
  return seen;
}

/** The shares of the canary up to the success of the release, without repetitions, with what is special about the route. */
function sharesOf(model: Model): string[] {
  const seen: string[] = [];
  afterEachStep(model, () => {
    const { canaryWeight, matched, mirrored } = model.route ?? {};
    const now = `${canaryWeight}${matched ? ' matched' : ''}${mirrored ? ' mirrored' : ''}`;
    if (seen.at(-1) !== now) seen.push(now);
  });
  model.until('Succeeded');
  expect(model.broken).toEqual([]);
  expect(model.outages).toEqual([]);
  return seen;
}

function promoted(model: Model): string | undefined {
  const found = conditionOf(model.status, 'Promoted');
  return found && `${found.status} ${found.reason}`;
}

function hook(type: string) {
  return { name: type, type, url: 'http://gate.example.com/' } as never;
}

describe('the phases of a release (flagger-behaviour 2.15)', () => {
  it('are those of a canary by weight, with stepWeightPromotion', () => {
    expect(timeline(released({ stepWeight: 100, stepWeightPromotion: 50 }))).toEqual([
      'Initialized 0',
      'Progressing 0',
      'Progressing 100',
      'Promoting 100',
      'Promoting 50',
      'Promoting 0',
      'Finalising 0',
      'Succeeded 0',
    ]);
  });

  it('give the matched requests of an A/B test back by stepWeightPromotion, and no others to the canary', () => {
    const match = [{ headers: { a: { exact: 'b' } } }];
    const model = released({ iterations: 1, match, stepWeightPromotion: 50 });
    expect(sharesOf(model)).toEqual(['0', '100 matched', '50 matched', '0']);
  });

  it('give them back at once with nginx, which cannot divide them', () => {
    const match = [{ headers: { a: { exact: 'b' } } }];
    const model = released({ iterations: 1, match, stepWeightPromotion: 50 }, GOOD, { provider: 'nginx' });
    expect(timeline(model)).toEqual([
      'Initialized 0',
      'Progressing 0',
      'Progressing 100',
      'Promoting 100',
      'Promoting 0',
      'Finalising 0',
      'Succeeded 0',
    ]);
  });

  it('copy requests for an interval before the first step, where the provider does that, and check them', () => {
    const model = released({ stepWeight: 50, maxWeight: 50, mirror: true }, GOOD, { provider: 'istio' });
    expect(sharesOf(model)).toEqual(['0', '0 mirrored', '50', '0']);
  });

  it('stop a release whose copied requests fail before it gets a share', () => {
    const bad = { ...GOOD, canaryMetric: 50 };
    const model = released({ stepWeight: 50, mirror: true }, bad, { provider: 'istio' });
    let most = 0;
    afterEachStep(model, () => {
      most = Math.max(most, model.route?.canaryWeight ?? 0);
    });
    model.until('Failed');
    expect(most).toBe(0);
    expect(model.route?.mirrored).toBe(false);
  });

  it('are those of blue/green', () => {
    expect(timeline(released({ iterations: 1 }))).toEqual([
      'Initialized 0',
      'Progressing 0',
      'Progressing 100',
      'Promoting 100',
      'Promoting 0',
      'Finalising 0',
      'Succeeded 0',
    ]);
  });

  it.each([
    ['blue/green', {}, ['iteration 1', 'iteration 2', 'iteration 3, canary takes traffic']],
    [
      'an A/B test',
      { match: [{ headers: { a: { exact: 'b' } } }] },
      ['iteration 1, canary takes traffic', 'iteration 2, canary takes traffic'],
    ],
  ])('say of each iteration of %s whether users see it', (_, strategy, texts) => {
    const model = released({ iterations: 2, ...strategy });
    model.until('Succeeded');
    const said = model.events.filter(({ reason }) => reason === 'IterationAdvanced');
    expect(said.map(({ message }) => message)).toEqual(texts);
  });

  it.each([
    ['blue/green', { iterations: 3 }],
    ['an A/B test', { iterations: 3, match: [{ headers: { a: { exact: 'b' } } }] }],
  ])('are told once each: no status of %s is written again for other words', (_, strategy) => {
    const model = released(strategy);
    let before = { state: '', words: '' };
    const rewritten: string[] = [];
    afterEachStep(model, () => {
      const { message = '', conditions = [], lastTransitionTime: _, ...rest } = model.status;
      const states = conditions.map(({ type, status, reason }) => [type, status, reason]);
      const now = { state: JSON.stringify([rest, states]), words: message };
      if (now.state === before.state && now.words !== before.words) rewritten.push(message);
      before = now;
    });
    model.until('Succeeded');
    for (let count = 0; count < 20; count += 1) model.tick();
    expect(rewritten).toEqual([]);
    expect(model.status.message).toBe('sha-b "release b" is live');
  });

  it('are sentences in the status and in events', () => {
    const model = released({ iterations: 2, threshold: 2 }, { ...GOOD, canaryMetric: 50 });
    const said = new Set<string>();
    for (let tick = 0; tick < 300 && model.status.phase !== 'Failed'; tick += 1) {
      model.tick();
      said.add(model.status.message?.replace(/".*"/, '').replace(/, analysis.*/, '') ?? '');
    }
    const failed = model.events.filter(({ reason }) => /Failed$/.test(reason)).map(({ message }) => message);
    expect(failed[0]).toMatch(/^failed check 1 of 2 at iteration 1: /);
    expect(failed.join('\n')).toContain('failed its analysis at iteration 1: ');
    expect([...said].filter((text) => / iteration /.test(text) && !/ (at|of) iteration /.test(text))).toEqual(
      [],
    );
  });

  it('are those of an A/B test, whose weight is that of matched requests', () => {
    const match = [{ headers: { a: { exact: 'b' } } }];
    expect(timeline(released({ iterations: 2, match }))).toEqual([
      'Initialized 0',
      'Progressing 0',
      'Progressing 100',
      'Promoting 100',
      'Promoting 0',
      'Finalising 0',
      'Succeeded 0',
    ]);
  });

  it('rise by steps for matched requests alone, where there is a match beside the steps', () => {
    const match = [{ headers: { a: { exact: 'b' } } }];
    const model = released({ stepWeight: 20, maxWeight: 40, match }, GOOD, { provider: 'istio' });
    expect(sharesOf(model)).toEqual(['0', '20 matched', '40 matched', '0']);
  });

  it('end in Failed with the traffic back first when the checks fail', () => {
    expect(timeline(released({ stepWeight: 50 }, { ...GOOD, canaryMetric: 10 }))).toEqual([
      'Initialized 0',
      'Progressing 0',
      'Progressing 50',
      'Progressing 0',
      'Failed 0',
    ]);
  });

  it('end in Failed when the canary never becomes ready, without any traffic', () => {
    const model = released({ stepWeight: 50 }, { ...GOOD, canaryReady: false });
    expect(timeline(model)).toEqual(['Initialized 0', 'Progressing 0', 'Failed 0']);
  });

  it('promote without steps under skipAnalysis, and look at the primary all the same', () => {
    const model = released({ stepWeight: 50 }, GOOD, { skipAnalysis: true });
    const seen = timeline(model);
    expect(seen[0]).toBe('Initialized 0');
    expect(seen).not.toContain('Progressing 50');
    expect(seen.slice(-3)).toEqual(['Promoting 0', 'Finalising 0', 'Succeeded 0']);
  });

  it('wait for confirm-rollout before, and for confirm-promotion with weight and iterations as they are', () => {
    const webhooks = [hook('confirm-rollout'), hook('confirm-promotion')];
    const model = released({ stepWeight: 50, maxWeight: 50, webhooks });
    model.hooks = { 'confirm-rollout': 'refused', 'confirm-promotion': 'refused' };
    expect(timeline(model, 40)).toEqual(['Initialized 0', 'Waiting 0']);
    expect(promoted(model)).toBe('Unknown Waiting');
    model.hooks = { 'confirm-promotion': 'refused' };
    expect(timeline(model, 80)).toEqual([
      'Waiting 0',
      'Progressing 0',
      'Progressing 50',
      'WaitingPromotion 50',
    ]);
    expect(promoted(model)).toBe('Unknown WaitingPromotion');
    model.hooks = {};
    expect(timeline(model).at(-1)).toBe('Succeeded 0');
  });

  it('begin again at weight 0 when a newer revision arrives, also from WaitingPromotion', () => {
    const model = released({ stepWeight: 50, maxWeight: 50, webhooks: [hook('confirm-promotion')] });
    model.hooks = { 'confirm-promotion': 'refused' };
    timeline(model, 80);
    model.commit('c');
    expect(timeline(model, 10).slice(0, 3)).toEqual([
      'WaitingPromotion 50',
      'Progressing 50',
      'Progressing 0',
    ]);
  });

  it('go from Failed, Succeeded and Initialized to the next release', () => {
    const model = released({ stepWeight: 100 }, { ...GOOD, canaryMetric: 10 });
    timeline(model);
    for (const digest of ['c', 'd']) {
      model.commit(digest);
      expect(timeline(model).at(-1)).toBe('Succeeded 0');
    }
  });

  it('stay Initializing, and say so, when the first primary does not come up; the next commit gets another try', () => {
    const model = new Model({ analysis: { ...base, stepWeight: 50 } } as never);
    model.commit('a', { ...GOOD, primaryReady: false });
    for (let count = 0; count < 100; count += 1) model.tick(1000);
    expect(model.status.phase).toBe('Initializing');
    expect(promoted(model)).toBe('Unknown Initializing');
    const stalled = conditionOf(model.status, 'Stalled');
    expect(stalled).toMatchObject({ status: 'True', reason: 'PrimaryNotReady' });
    model.commit('b');
    model.until('Initialized');
  });

  it('say Terminating and Terminated while a deletion hands the traffic back', () => {
    const model = released({ stepWeight: 50 }, GOOD, { revertOnDeletion: true });
    model.until('Succeeded');
    model.delete();
    const seen = new Set<string>();
    afterEachStep(model, () => seen.add(`${model.status.phase} ${promoted(model)}`));
    for (let count = 0; count < 60 && !model.gone; count += 1) model.tick(1000);
    expect([...seen]).toContain('Terminating Unknown Terminating');
    expect(model.status.phase).toBe('Terminated');
  });
});

describe('the condition Promoted (flagger-behaviour 1.4)', () => {
  it('has the phase as its reason throughout', () => {
    const model = released({ stepWeight: 50, stepWeightPromotion: 50 });
    const seen = new Set([promoted(model)]);
    afterEachStep(model, () => seen.add(promoted(model)));
    model.until('Succeeded');
    expect([...seen]).toEqual([
      'True Initialized',
      'Unknown Progressing',
      'Unknown Promoting',
      'Unknown Finalising',
      'True Succeeded',
    ]);
    model.commit('c', { ...GOOD, canaryMetric: 10 });
    timeline(model);
    expect(promoted(model)).toBe('False Failed');
  });
});

describe('thresholds', () => {
  it.each([
    [1, 1],
    [3, 3],
    [0, 1],
    [-2, 1],
  ])('of %i stop a release at failed check %i', (threshold, failed) => {
    const model = released({ stepWeight: 50, threshold }, { ...GOOD, canaryMetric: 10 });
    timeline(model);
    expect(model.status).toMatchObject({ phase: 'Failed', failedChecks: failed });
  });

  it('count failed checks over the whole run: passes between them take nothing back', () => {
    const model = released({ stepWeight: 10, threshold: 3 });
    for (let count = 0; count < 300 && model.status.phase !== 'Failed'; count += 1) {
      model.behaviours.set('b', { ...GOOD, canaryMetric: count % 30 < 15 ? 100 : 10 });
      model.tick(1000);
    }
    expect(model.status).toMatchObject({ phase: 'Failed', failedChecks: 3 });
  });
});

describe('a suspended Canary', () => {
  it('that is reverted has its whole deadline again to clear the primary for that', () => {
    const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
    const postPromotion = { metrics, onFailure: 'revert' };
    const model = released({ stepWeight: 50 }, { ...GOOD, primaryMetric: 50 }, { postPromotion });
    model.recreate = true;
    untilState(model, 'Verifying');
    model.breakPods('canary', 1);
    untilState(model, 'Reverting');
    model.tick(1000);
    model.canary.spec.suspend = true;
    for (let count = 0; count < 60; count += 1) model.tick(60_000);
    model.canary.spec.suspend = false;

    // Half of the pods carry half of the traffic, until they get all of it at the deadline.
    for (let count = 0; count < 40; count += 1) model.tick(1000);
    expect([model.route?.canaryWeight, model.primary?.digest]).toEqual([50, 'b']);
    model.until('Failed');
    expect(model.primary?.digest).toBe('a');
    // The rule of the model knows no such deadline.
    expect(model.broken.filter(({ rule }) => rule !== 'S4')).toEqual([]);
  });

  it('stands still with its weights, and goes on with what Git says then', () => {
    const model = released({ stepWeight: 50 });
    for (let count = 0; count < 60 && model.route?.canaryWeight !== 50; count += 1) model.tick(1000);
    model.canary.spec.suspend = true;
    model.tick(1000);
    const { writes } = model;
    model.commit('c');
    for (let count = 0; count < 60; count += 1) model.tick(1000);
    expect(model.route?.canaryWeight).toBe(50);
    expect(model.writes).toBe(writes);
    model.canary.spec.suspend = false;
    model.until('Succeeded');
    expect(model.primary?.digest).toBe('c');
  });
});

it('a release that is held because its checks failed is not said to be verified still', () => {
  const postPromotion = { ...new Model().canary.spec.postPromotion, onFailure: 'hold' as const };
  const bad = { ...GOOD, primaryMetric: 50 };
  const model = released({ stepWeight: 50 }, bad, { postPromotion });
  const isHeld = () => model.status.postPromotion?.state === 'Held';
  for (let tick = 0; tick < 300 && !isHeld(); tick += 1) model.tick();
  const verified = () => conditionOf(model.status, 'Verified');
  const told = {
    status: 'Unknown',
    reason: 'ChecksFailed',
    message: expect.stringMatching(/^the release is held: .*50/),
  };
  expect(verified()).toMatchObject(told);
  model.tick();
  expect(verified()).toMatchObject(told);
});

describe('the conditions that kstatus and kubectl wait read', () => {
  const conditionsOf = ({ status }: Model) =>
    Object.fromEntries((status.conditions ?? []).map((one) => [one.type, one.status]));

  it.each([
    { kind: 'unknown', reason: 'InvalidManifests', message: 'web.yaml:3: unknown field' },
    { kind: 'missing', message: 'the Source holds no Deployment podinfo' },
  ] as const)('are not Ready while a person has to correct what Git has at rest: $message', (head) => {
    const model = new Model({ analysis: { ...base, stepWeight: 50 } } as never);
    model.commit('a');
    model.until('Initialized');
    pass(model, 60_000);
    expect(conditionsOf(model)).toMatchObject({ Ready: 'True', Reconciling: 'False', Stalled: 'False' });

    model.head = head;
    pass(model, 60_000);

    expect(conditionsOf(model)).toMatchObject({ Ready: 'False', Reconciling: 'False', Stalled: 'True' });
  });
});

it('a primary whose image somebody set by hand is not said to be live as released', () => {
  const model = released({ stepWeight: 50 });
  model.until('Succeeded');
  pass(model, 20_000);
  expect(model.status.message).toMatch(/b.* is live$/);

  model.editPrimary('podinfo:by-hand');
  pass(model, 20_000);

  expect(model.status.message).toMatch(
    /b.* was promoted, but kubectl-set changed spec\.template\.spec\.containers\[app\]\.image \(podinfo:by-hand, not b\)/,
  );
});

it('a release that Git took back while it was verified is not said to be verified still', () => {
  const postPromotion = { ...new Model().canary.spec.postPromotion, successThreshold: 5 };
  const model = released({ stepWeight: 50 }, GOOD, { postPromotion });
  const isVerifying = () => model.status.postPromotion?.state === 'Verifying';
  for (let tick = 0; tick < 300 && !isVerifying(); tick += 1) model.tick();
  model.commit('a');
  model.until('Succeeded');
  const verified = conditionOf(model.status, 'Verified');
  expect(verified).toMatchObject({ status: 'False', reason: 'RevertedInGit' });
});
