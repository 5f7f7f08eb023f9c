import type { HookType } from '../../../src/api/canary/analysis.ts';
import { runOf } from '../../../src/rollout/world.ts';
import { type Behaviour, GOOD, Model } from '../model.ts';
import { slowlyUntil } from '../waits.ts';

/** How the pods of a workload are replaced. */
export const UPDATES = ['RollingUpdate', 'Recreate', 'DaemonSet'] as const;

/** One of them. */
export type Update = (typeof UPDATES)[number];

/**
 * The columns of the matrix: every phase and every state after promotion that a release can be met in. `older` and `good` proved themselves,
 * `good` is the last-known-good, `new` is under way or was.
 */
export const STATES = {
  Initializing: (update) => {
    const model = empty(update, { postPromotion });
    model.commit('new');
    return slowlyUntil(model, () => model.primary !== undefined);
  },
  Initialized: (update) => {
    const model = empty(update, { postPromotion });
    model.commit('good');
    model.until('Initialized');
    return model;
  },
  Waiting: (update) => {
    const model = withRelease(update, {
      closed: 'confirm-rollout',
      spec: gated,
    });
    return slowlyUntil(model, () => model.status.phase === 'Waiting');
  },
  'Progressing, no traffic yet': (update) => {
    const model = withRelease(update);
    return slowlyUntil(model, () => model.target?.digest === 'new' && model.target.desired > 0);
  },
  'Progressing by weights': (update) => untilWeight(withRelease(update), 50),
  'Progressing by A/B': (update) => untilIteration(withRelease(update, { spec: abTest }), 1),
  'Progressing by blue/green': (update) => untilIteration(withRelease(update, { spec: blueGreen }), 1),
  'Progressing, provider kubernetes': (update) =>
    untilIteration(withRelease(update, { spec: { ...blueGreen, provider: 'kubernetes' } }), 1),
  WaitingPromotion: (update) => {
    const model = withRelease(update, {
      closed: 'confirm-promotion',
      spec: gated,
    });
    return slowlyUntil(model, () => model.status.phase === 'WaitingPromotion');
  },
  'Failed, traffic on its way back': (update) => {
    const model = withRelease(update, { how: { canaryMetric: 50 } });
    untilWeight(model, 50);
    return slowlyUntil(model, () => endingOf(model) !== undefined);
  },
  'Promoting, before the first write': (update) => {
    const model = withRelease(update);
    if (model.head.kind === 'release') model.head.release.mountsConfig = true;
    const isPromoting = () => model.status.postPromotion?.state === 'Converging';
    return slowlyUntil(model, () => isPromoting() && model.primary?.digest === 'good');
  },
  'Promoting, the primary comes up': (update) => {
    const model = withRelease(update);
    return slowlyUntil(model, () => model.primary?.digest === 'new');
  },
  'Promoting with skipAnalysis': (update) => {
    const model = withRelease(update, { spec: { skipAnalysis: true } });
    return slowlyUntil(model, () => model.primary?.digest === 'new');
  },
  'Promoting, traffic goes back by steps': (update) => {
    const model = withRelease(update, { spec: stepsBack });
    slowlyUntil(model, () => model.primary?.digest === 'new');
    return slowlyUntil(model, () => [30, 40].includes(model.route?.canaryWeight ?? 0));
  },
  'Finalising: Verifying': (update) => untilState(withRelease(update), 'Verifying'),
  'Finalising: a check failed': (update) => {
    const model = untilState(withRelease(update, { spec: patient, how: { primaryMetric: 50 } }), 'Verifying');
    return slowlyUntil(model, () => model.status.postPromotion?.failedChecks === 1);
  },
  'Finalising: good, the canary still there': (update) => {
    const model = withRelease(update);
    return slowlyUntil(model, () => endingOf(model)?.reason === 'Succeeded');
  },
  Held: (update) => untilState(withRelease(update, { how: { primaryReady: false } }), 'Held'),
  'Held, onFailure hold': (update) =>
    untilState(withRelease(update, { how: { primaryReady: false }, spec: hold }), 'Held'),
  'Held, checks failed': (update) =>
    untilState(withRelease(update, { how: { primaryMetric: 50 }, spec: hold }), 'Held'),
  'Held, checks unavailable': (update) => {
    const model = untilState(withRelease(update), 'Verifying');
    model.providerDown = true;
    untilState(model, 'Held');
    model.providerDown = false;
    return model;
  },
  'Reverting, the canary serves': (update) => {
    const model = untilState(withRelease(update, { how: { primaryReady: false } }), 'Held');
    return untilState(model, 'Reverting');
  },
  'Reverting after failed checks': (update) => {
    const model = untilState(withRelease(update, { how: { primaryMetric: 50 } }), 'Reverting');
    return slowlyUntil(model, () => model.primary?.digest === 'good');
  },
  Succeeded: (update) => {
    const model = withRelease(update);
    return slowlyUntil(
      model,
      () => model.status.phase === 'Succeeded' && model.status.lastPromotedSpec === 'new',
    );
  },
  'Failed, reverted': (update) => {
    const model = untilState(withRelease(update, { how: { primaryMetric: 50 } }), 'Reverting');
    model.until('Failed');
    return model;
  },
  'Failed and Held, LKGNotReady': (update) => {
    const model = untilState(withRelease(update, { how: { primaryReady: false } }), 'Reverting');
    model.behaviours.set('good', { ...GOOD, primaryReady: false });
    return untilState(model, 'Held');
  },
  'Failed and Held, LKGFailsToo': (update) => {
    const model = untilState(withRelease(update, { how: { primaryMetric: 50 } }), 'Reverting');
    model.behaviours.set('good', { ...GOOD, primaryMetric: 50 });
    return untilState(model, 'Held');
  },
  Terminating: (update) => {
    const model = withRelease(update, { spec: { revertOnDeletion: true } });
    untilWeight(model, 50);
    model.delete();
    return slowlyUntil(model, () => model.status.phase === 'Terminating');
  },
} as const satisfies Readonly<Record<string, (update: Update) => Model>>;

/** Name of a column. */
export type State = keyof typeof STATES;

/** Every column, in the order of a release's life. */
export const states = Object.keys(STATES) as State[];

const metrics = [{ name: 'rate', thresholdRange: { min: 99 }, interval: '10s' }];
const analysis = { interval: '10s', threshold: 2, metrics };
const postPromotion = { metrics, successThreshold: 2 };
const patient = { postPromotion: { ...postPromotion, threshold: 2 } };
const hold = { postPromotion: { ...postPromotion, onFailure: 'hold' as const } };
const abTest = { analysis: { ...analysis, iterations: 2, match: [{ headers: { x: { exact: 'y' } } }] } };
const blueGreen = { analysis: { ...analysis, iterations: 2 } };
const stepsBack = { analysis: { ...analysis, stepWeight: 60, maxWeight: 60, stepWeightPromotion: 30 } };
const gates = ['confirm-rollout', 'confirm-promotion'] as const;
const gated = {
  analysis: {
    ...analysis,
    stepWeight: 50,
    maxWeight: 50,
    webhooks: gates.map((type) => ({ name: type, type, url: 'http://hooks.test/' })),
  },
};

interface Start {
  spec?: object;
  /** How `new` behaves, where it is not good. */
  how?: Partial<Behaviour>;
  /** A gate that does not open. */
  closed?: HookType;
}

function empty(update: Update, spec: object): Model {
  const model = new Model(spec as never);
  model.recreate = update === 'Recreate';
  model.followsNodes = update === 'DaemonSet';
  return model;
}

/** `older` and `good` have proven themselves, and `new` is at head. */
function withRelease(update: Update, { spec = {}, how = {}, closed }: Start = {}): Model {
  const model = empty(update, { postPromotion, ...spec });
  model.commit('older');
  model.until('Initialized');
  model.commit('good');
  model.until('Succeeded');
  slowlyUntil(model, () => model.target?.desired === 0);
  if (closed) model.hooks[closed] = 'refused';
  model.commit('new', { ...GOOD, ...how });
  return model;
}

function endingOf(model: Model) {
  return runOf(model.status)?.ending;
}

function untilState(model: Model, state: string): Model {
  return slowlyUntil(model, () => model.status.postPromotion?.state === state);
}

function untilWeight(model: Model, weight: number): Model {
  return slowlyUntil(model, () => model.route?.canaryWeight === weight);
}

function untilIteration(model: Model, iteration: number): Model {
  return slowlyUntil(model, () => model.status.run !== undefined && model.status.iterations === iteration);
}
