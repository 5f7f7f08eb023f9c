import fc from 'fast-check';
import { canaryVerbs } from '../../src/api/annotations.ts';
import type { HookType } from '../../src/api/canary/analysis.ts';
import type { HookAnswer } from '../../src/api/observed.ts';
import { type Behaviour, GOOD, Model } from './model.ts';

/** Something that happens to the world between two reconciles. */
export type Event =
  | { kind: 'commit'; digest: string; behaviour: Behaviour; settings: string }
  | { kind: 'heal'; digest: string }
  | { kind: 'break'; digest: string; behaviour: Behaviour }
  | { kind: 'provider'; down: boolean }
  /** A quota has no room for a new pod of the primary beside the canary, or has again. */
  | { kind: 'quota'; isFull: boolean }
  | { kind: 'hook'; type: HookType; answer: HookAnswer['verdict'] | 'hang' }
  | { kind: 'unknown' }
  | { kind: 'verb'; verb: string; digest: string; token: number }
  | { kind: 'pause'; value: string }
  | { kind: 'damage'; digest: string; inGit: boolean }
  | { kind: 'restore' }
  | { kind: 'applyAgain' }
  | { kind: 'lose'; what: 'primary' | 'target' | 'route' }
  | { kind: 'loseService'; of: 'apex' | 'primary' | 'canary' }
  | { kind: 'edit'; weight: number }
  | { kind: 'suspend'; value: boolean }
  /** Somebody changes how releases are tried, or how they are verified. */
  | { kind: 'respec'; spec: number }
  /** Somebody deletes the primary's copy of its config, or a crash leaves that of another release. */
  | { kind: 'copy'; of: string | undefined }
  /** The window closes for so long; undefined: the Source has none any more. */
  | { kind: 'window'; closedMs: number | undefined }
  | { kind: 'tick'; ms: number }
  | { kind: 'crash'; after: number };

/** Most releases get as far as the primary: what happens from there on is what the rules are about. */
const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(GOOD) },
  {
    weight: 3,
    arbitrary: fc.record({
      canaryReady: fc.constant(true),
      primaryReady: fc.boolean(),
      canaryMetric: fc.constant(100),
      primaryMetric: fc.constantFrom(100, 50, undefined),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      canaryReady: fc.boolean(),
      primaryReady: fc.boolean(),
      canaryMetric: fc.constantFrom(100, 50, undefined),
      primaryMetric: fc.constantFrom(100, 50, undefined),
    }),
  },
);
const digest = fc.constantFrom('a', 'b', 'c');
const hookTypes: readonly HookType[] = [
  'confirm-rollout',
  'pre-rollout',
  'rollout',
  'confirm-traffic-increase',
  'confirm-promotion',
  'post-rollout',
  'rollback',
  'post-promotion',
];
const webhooks = hookTypes
  .filter((type) => type !== 'post-promotion')
  .map((type) => ({ name: type, type, url: 'http://hooks.test/' }));

const steps = { interval: '10s', threshold: 2 };
/** What a spec is changed to: fewer, more and other steps, other strategies, no analysis, other policies and deadlines. */
const respecs = [
  { analysis: { ...steps, stepWeights: [10, 20] } },
  { analysis: { ...steps, stepWeights: [20, 70, 90] } },
  { analysis: { ...steps, stepWeight: 50, maxWeight: 50, stepWeightPromotion: 30 } },
  { analysis: { ...steps, iterations: 2 } },
  {
    analysis: {
      ...steps,
      iterations: 2,
      stepWeightPromotion: 40,
      match: [{ headers: { x: { exact: 'y' } } }],
    },
  },
  { skipAnalysis: true },
  { skipAnalysis: false },
  { progressDeadlineSeconds: 5 },
  { progressDeadlineSeconds: 60 },
  { postPromotion: { onFailure: 'halt', successThreshold: 0 } },
  { postPromotion: { onFailure: 'revert', successThreshold: 3 } },
  { postPromotion: undefined },
] as const;

/** Any of them. */
export const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      digest,
      behaviour,
      settings: fc.constantFrom('s1', 's2'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('heal' as const), digest }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('break' as const),
      digest: fc.constantFrom('b', 'c'),
      behaviour,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('provider' as const), down: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('quota' as const), isFull: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('hook' as const),
      type: fc.constantFrom<HookType>(...hookTypes),
      answer: fc.constantFrom(
        'approved' as const,
        'refused' as const,
        'unreachable' as const,
        'hang' as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unknown' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('verb' as const),
      verb: fc.constantFrom(...canaryVerbs, 'no-such-verb'),
      digest,
      token: fc.nat(5),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('pause' as const), value: fc.constantFrom('true', '') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('damage' as const), digest, inGit: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restore' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('applyAgain' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('lose' as const),
      what: fc.constantFrom('primary' as const, 'target' as const, 'route' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('loseService' as const),
      of: fc.constantFrom('apex' as const, 'primary' as const, 'canary' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('edit' as const), weight: fc.constantFrom(0, 30, 100) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('suspend' as const), value: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('respec' as const), spec: fc.nat(respecs.length - 1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('copy' as const), of: fc.constantFrom('a', 'b', undefined) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('window' as const),
      closedMs: fc.constantFrom(0, 20_000, 90_000, undefined),
    }),
  },
  {
    weight: 24,
    arbitrary: fc.record({
      kind: fc.constant('tick' as const),
      ms: fc.constantFrom(1000, 5000, 11_000, 12_000, 30_000, 61_000),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('crash' as const), after: fc.nat(4) }) },
);

/** What every history begins with: a release. */
export const commitOfB = fc.record({
  ...{ kind: fc.constant('commit' as const), digest: fc.constant('b') },
  ...{ behaviour, settings: fc.constant('s1') },
});
/** A release, and what happens from then on. */
const history: fc.Arbitrary<Event[]> = fc
  .tuple(commitOfB, fc.array(event, { minLength: 1, maxLength: 40, size: 'max' }))
  .map(([first, later]) => [first, ...later]);

/** Strategies, providers and policies. */
export const specs = [
  {},
  {
    analysis: { interval: '10s', threshold: 2, stepWeight: 50, maxWeight: 50, webhooks },
    postPromotion: { webhooks: [{ name: 'smoke', url: 'http://hooks.test/' }] },
  },
  {
    analysis: { interval: '10s', threshold: 1, iterations: 1, webhooks },
    postPromotion: { onFailure: 'hold' },
  },
  { skipAnalysis: true, analysis: { interval: '10s', threshold: 1, stepWeight: 50, webhooks } },
  { analysis: { interval: '10s', threshold: 1, stepWeights: [5, 30, 60] } },
  { analysis: { interval: '10s', threshold: 1, iterations: 2 } },
  {
    analysis: {
      interval: '10s',
      threshold: 1,
      iterations: 2,
      stepWeightPromotion: 40,
      match: [{ headers: { x: { exact: 'y' } } }],
    },
  },
  { provider: 'kubernetes', analysis: { interval: '10s', threshold: 1, iterations: 2 } },
  { skipAnalysis: true },
  { postPromotion: { successThreshold: 3, onFailure: 'hold' } },
  { postPromotion: { successThreshold: 0, onFailure: 'revert' } },
  {
    analysis: { interval: '10s', threshold: 1, stepWeight: 40, stepWeightPromotion: 30 },
    postPromotion: { onFailure: 'halt' },
  },
];

/** Plays a history. */
export function play(model: Model, events: readonly Event[]): void {
  for (const entry of events) apply(model, entry);
}

/** Plays one event. */
export function apply(model: Model, entry: Event): void {
  switch (entry.kind) {
    case 'commit':
      model.behaviours.set(entry.digest, model.behaviours.get(entry.digest) ?? entry.behaviour);
      return model.commit(entry.digest, model.behaviours.get(entry.digest), entry.settings);
    case 'heal':
      model.behaviours.set(entry.digest, GOOD);
      return;
    case 'break':
      model.behaviours.set(entry.digest, entry.behaviour);
      return;
    case 'provider':
      model.providerDown = entry.down;
      return;
    case 'quota':
      model.crowdedBy = entry.isFull ? 'FailedCreate' : undefined;
      return;
    case 'hook':
      model.hooks[entry.type] = entry.answer;
      return;
    case 'unknown':
      model.head = { kind: 'unknown', reason: 'RenderFailed', message: 'apps/x.yaml:3 is broken' };
      return;
    case 'verb':
      return model.ask(entry.verb, `${entry.digest}@${entry.token}`);
    case 'pause':
      return model.ask('pause', entry.value);
    case 'damage':
      model.damaged.add(entry.digest);
      if (entry.inGit) model.inGit.add(entry.digest);
      else model.inGit.delete(entry.digest);
      return;
    case 'restore':
      return model.damaged.clear();
    case 'lose':
      model[entry.what] = undefined;
      return;
    case 'loseService':
      model.services[entry.of] = false;
      return;
    case 'edit':
      return routed(model, entry.weight);
    case 'suspend':
      model.canary.spec.suspend = entry.value;
      return;
    case 'respec':
      Object.assign(model.canary.spec, respecs[entry.spec]);
      return;
    case 'copy':
      model.copy = entry.of;
      return;
    case 'applyAgain':
      return model.applyAgain();
    case 'window':
      if (entry.closedMs === undefined) model.window = undefined;
      else model.closeWindow(entry.closedMs);
      return;
    case 'tick':
      return model.tick(entry.ms);
    case 'crash':
      return model.tick(1000, entry.after);
  }
}

/** Somebody else changes the weights. */
function routed(model: Model, canaryWeight: number): void {
  if (model.route) model.route = { ...model.route, primaryWeight: 100 - canaryWeight, canaryWeight };
}

/**
 * How the pods of a workload are replaced and counted: a DaemonSet is cleared first, as Recreate is, and a scaler has its own mind. Foreign:
 * as RollingUpdate, with a target that another tool applies.
 */
export const updates = [
  'RollingUpdate',
  'Recreate',
  'DaemonSet',
  'scaled by HPA',
  'scaled by KEDA',
  'Foreign',
] as const;
/** One of them. */
export type Update = (typeof updates)[number];

/** `a` is live and proven; `further` is laid over the spec. */
export function start(specIndex: number, update: Update, further = (spec: object): object => spec): Model {
  const model = new Model(further(specs[specIndex] ?? {}) as never);
  model.foreign = update === 'Foreign';
  model.commit('a');
  model.until('Initialized');
  model.outages.length = 0;
  model.recreate = update === 'Recreate';
  model.followsNodes = update === 'DaemonSet';
  if (update === 'scaled by HPA') model.scale('HorizontalPodAutoscaler', 4);
  if (update === 'scaled by KEDA') model.scale('ScaledObject', 4);
  return model;
}

/** Worlds and what happens to them. */
export const worlds = fc.record({
  spec: fc.nat(specs.length - 1),
  update: fc.constantFrom(...updates),
  events: history,
});
