import { writtenOnFailureSchema } from '../../api/canary/analysis.ts';
import { hooksOf } from '../../api/canary/canary.ts';
import { planOf } from '../../api/canary/plan.ts';
import { InputError } from '../../api/problems.ts';
import { type Cause, causes } from '../../health/causes.ts';
import type { PodFault, WorkloadView } from '../../health/workload-view.ts';
import { runOf, type World } from '../../rollout/world.ts';

/** The world as it would be. A cause without a release under way is that of one whose primary was just written. */
export function applyHypothesis(world: World, hypothesis: Hypothesis): World {
  const { onFailure, cause, checks, others } = hypothesis;
  const { canary } = world;
  const postPromotion = { ...canary.spec.postPromotion, onFailure };
  const asked = onFailure
    ? { ...world, canary: { ...canary, spec: { ...canary.spec, postPromotion } } }
    : world;
  const isAboutChecks = checks !== undefined || others !== undefined;
  if (!isAboutChecks && !cause && !hypothesis.canary) return asked;
  const isPastPromotion =
    runOf(asked.status) !== undefined && asked.status.postPromotion?.state !== undefined;
  const past = isPastPromotion ? asked : promoted(asked);
  return isAboutChecks ? failingChecks(past, hypothesis) : failing(past, hypothesis);
}

/** All traffic is on a primary that is well, and the last check after promotion failed; others fail as well. */
function failingChecks(world: World, { others = 0 }: Hypothesis): World {
  const { primary, canary, status } = world;
  const [metric] = planOf(canary, world.options).postPromotion.metrics;
  const name = metric?.name ?? hooksOf(canary, 'post-promotion')[0]?.name;
  if (name === undefined || !primary)
    throw new InputError('--what-if checks=fail: this Canary has no checks after promotion');
  const time = new Date(world.nowMs).toISOString();
  return {
    ...world,
    status: {
      ...status,
      phase: 'Finalising',
      postPromotion: { state: 'Verifying', reason: 'Verifying', startTime: time, failedChecks: 1 },
      checks: [{ name, verdict: 'fail', detail: 'assumed', time }],
    },
    primary: healthy(primary, Math.max(1, primary.desiredReplicas)),
    peers: { ...world.peers, failingNow: Math.max(world.peers.failingNow, others) },
  };
}

const imagined = 'v1:what-if';

/** A release that has passed its analysis: the canary runs it, the primary was written, and Git and metrics do not change. */
function promoted(world: World): World {
  const { primary } = world;
  if (!primary) throw new InputError('--what-if: this Canary has no primary yet, so nothing can be promoted');
  const time = new Date(world.nowMs).toISOString();
  const run = {
    digest: imagined,
    commit: '',
    subject: 'a future release',
    startTime: time,
    restartKey: planOf(world.canary, world.options).restartKey,
    mountsConfig: false,
    fastLane: false,
    checkNumber: 1,
  };
  const postPromotion = { state: 'Converging' as const, reason: 'Promoting', startTime: time };
  return {
    ...world,
    head: { kind: 'unknown', reason: 'Unknown', message: 'assumed' },
    status: { ...world.status, phase: 'Promoting', postPromotion, run },
    primary: { ...primary, digest: imagined },
    target: { ...healthy(world.target ?? primary, primary.desiredReplicas), digest: imagined },
  };
}

function failing(world: World, { cause = 'CrashLoop', canary = 'healthy' }: Hypothesis): World {
  const { primary, target } = world;
  if (!primary) return world;
  const container = primary.images[0]?.container ?? 'app';
  const faultsOf = (pod: string) => sampleFaults(cause, pod, container);
  const pods = Math.max(1, primary.desiredReplicas);
  const copy = target && { ...target, podContainers: [...new Set([...target.podContainers, container])] };
  return {
    ...world,
    primary: notUp(primary, faultsOf(`${primary.name}-assumed`)),
    target: copy && (canary === 'healthy' ? healthy(copy, pods) : notUp(copy, canaryFaults(canary, copy))),
  };

  function canaryFaults(state: Exclude<AssumedCanary, 'healthy'>, { name }: WorkloadView) {
    return state === 'sameFault' ? faultsOf(`${name}-assumed`) : [];
  }
}

/** One pod of the new template, not ready; pods of the old template keep running where the strategy says so. */
function notUp(view: WorkloadView, faults: WorkloadView['faults']): WorkloadView {
  const old = view.keepsReadyPod ? view.desiredReplicas : 0;
  return {
    ...view,
    observed: true,
    replicas: old + 1,
    updatedReplicas: 1,
    readyReplicas: old,
    availableReplicas: old,
    updatedReadyReplicas: 0,
    endpoints: view.endpoints === undefined ? undefined : 0,
    faults,
  };
}

function healthy(view: WorkloadView, pods: number): WorkloadView {
  return {
    ...view,
    observed: true,
    desiredReplicas: pods,
    replicas: pods,
    updatedReplicas: pods,
    readyReplicas: pods,
    availableReplicas: pods,
    updatedReadyReplicas: pods,
    endpoints: view.endpoints === undefined ? undefined : pods,
    faults: [],
  };
}

/** What is assumed in place of what is. */
export interface Hypothesis {
  readonly onFailure?: (typeof writtenOnFailureSchema.options)[number] | undefined;
  readonly cause?: Cause | undefined;
  /** The state of the canary while the primary fails. */
  readonly canary?: AssumedCanary | undefined;
  /** The checks after promotion fail. */
  readonly checks?: 'fail' | undefined;
  /** So many other Canaries fail their checks at the same time. */
  readonly others?: number | undefined;
}

const assumedCanaries = ['healthy', 'sameFault', 'notReady'] as const;
/** States of the canary that can be assumed. */
type AssumedCanary = (typeof assumedCanaries)[number];

/** Reads `onFailure=revert`, `cause=CrashLoop`, `canary=sameFault`; the last of a key wins. Throws InputError. */
export function parseHypothesis(texts: readonly string[]): Hypothesis {
  return Object.assign({}, ...texts.map(parseOne)) as Hypothesis;
}

function parseOne(text: string): Hypothesis {
  const [key, value = ''] = text.split('=', 2);
  switch (key) {
    case 'onFailure':
      return { onFailure: oneOf(writtenOnFailureSchema.options, value, text) };
    case 'cause':
      return { cause: oneOf(Object.keys(causes) as Cause[], value, text) };
    case 'canary':
      return { canary: oneOf(assumedCanaries, value, text) };
    case 'checks':
      return { checks: oneOf(['fail'] as const, value, text) };
    case 'others':
      if (/^[0-9]{1,4}$/.test(value)) return { others: Number(value) };
      throw new InputError(`--what-if ${text}: must be a number of Canaries`);
    default:
      throw new InputError(
        `--what-if ${text}: must be onFailure=..., cause=..., canary=..., checks=fail or others=..., for example --what-if cause=CrashLoop`,
      );
  }
}

function oneOf<T extends string>(values: readonly T[], value: string, text: string): T {
  const found = values.find((candidate) => candidate.toLowerCase() === value.toLowerCase());
  if (found) return found;
  throw new InputError(`--what-if ${text}: must be one of ${values.join(', ')}`);
}

/** A fault as each cause shows it, to ask what would be done about it. */
const faults: Readonly<Record<Exclude<Cause, 'ProgressStopped'>, Omit<PodFault, 'pod' | 'container'>>> = {
  Paused: { reason: 'DeploymentPaused', message: 'spec.paused is true' },
  SidecarFails: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' },
  ImageMissing: { reason: 'ErrImagePull', message: 'failed to resolve reference: not found' },
  PullDenied: { reason: 'ErrImagePull', message: 'failed to authorize: 401 Unauthorized' },
  PullFails: { reason: 'ImagePullBackOff', message: 'the registry does not answer' },
  ConfigCopyMissing: {
    reason: 'CreateContainerConfigError',
    message: 'configmap "settings-primary" not found',
  },
  ReferenceMissing: { reason: 'CreateContainerConfigError', message: 'secret "database" not found' },
  QuotaExceeded: { reason: 'FailedCreate', message: 'is forbidden: exceeded quota' },
  CreationRefused: { reason: 'FailedCreate', message: 'is forbidden: violates PodSecurity' },
  Unschedulable: { reason: 'Unschedulable', message: 'Insufficient cpu' },
  GateClosed: { reason: 'SchedulingGated', message: 'scheduling is blocked due to non-empty gates' },
  NodeLost: { reason: 'Evicted', message: 'the node was low on memory' },
  InitFails: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container', init: true },
  OutOfMemory: { reason: 'OOMKilled', message: 'exit code 137' },
  CrashLoop: { reason: 'CrashLoopBackOff', message: 'back-off restarting failed container' },
  ProbeFails: { reason: 'ProbeFailing', message: 'its readiness probe does not pass any more' },
  NoPodSelected: { reason: 'NoPodSelected', message: 'no ready pod has the labels app=web' },
  SlowStart: { reason: 'ContainerCreating', message: '' },
};

/** Reasons that concern a whole pod. */
const ofPods: ReadonlySet<string> = new Set([
  'DeploymentPaused',
  'FailedCreate',
  'Unschedulable',
  'SchedulingGated',
  'Evicted',
  'NoPodSelected',
]);

/** The faults of a pod that shows this cause; `container` is one that both copies have. */
export function sampleFaults(cause: Cause, pod: string, container: string): PodFault[] {
  if (cause === 'ProgressStopped') return [];
  const fault = faults[cause];
  if (ofPods.has(fault.reason)) return [{ ...fault, pod, container: undefined }];
  return [{ ...fault, pod, container: cause === 'SidecarFails' ? 'sidecar' : container }];
}
