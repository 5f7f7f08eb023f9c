import { hooksOf } from '../../api/hooks.ts';
import { planOf } from '../../api/plan.ts';
import type { OnFailure } from '../../api/post-promotion.ts';
import { InputError } from '../../app/options.ts';
import type { WorkloadView } from '../../health/workload-view.ts';
import { runOf } from '../../rollout/run.ts';
import type { World } from '../../rollout/world.ts';
import type { AssumedCanary, Hypothesis } from './hypothesis.ts';
import { sampleFaults } from './sample-faults.ts';

/** The world as it would be. A cause without a release under way is that of one whose primary was just written. */
export function suppose(world: World, hypothesis: Hypothesis): World {
  const withPolicy = hypothesis.onFailure ? policy(world, hypothesis.onFailure) : world;
  if (hypothesis.checks || hypothesis.others !== undefined)
    return failingChecks(isPastPromotion(withPolicy) ? withPolicy : promoted(withPolicy), hypothesis);
  if (!hypothesis.cause && !hypothesis.canary) return withPolicy;
  const past = isPastPromotion(withPolicy) ? withPolicy : promoted(withPolicy);
  return failing(past, hypothesis);
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

function policy(world: World, onFailure: OnFailure): World {
  const { canary } = world;
  const postPromotion = { ...canary.spec.postPromotion, onFailure };
  return { ...world, canary: { ...canary, spec: { ...canary.spec, postPromotion } } };
}

function isPastPromotion({ status }: World): boolean {
  return runOf(status) !== undefined && status.postPromotion?.state !== undefined;
}

const imagined = 'v1:what-if';

/** A release that has passed its analysis: the canary runs it, the primary was written, and neither Git nor metrics have news. */
function promoted(world: World): World {
  const { primary } = world;
  if (!primary) throw new InputError('--what-if: this Canary has no primary yet, so nothing can be promoted');
  const time = new Date(world.nowMs).toISOString();
  const run = {
    digest: imagined,
    commit: '',
    subject: 'a release to come',
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
    target: copy && (canary === 'healthy' ? healthy(copy, pods) : notUp(copy, twinsOf(canary, copy))),
  };

  function twinsOf(state: Exclude<AssumedCanary, 'healthy'>, { name }: WorkloadView) {
    return state === 'sameFault' ? faultsOf(`${name}-assumed`) : [];
  }
}

/** One pod of the new template, not ready; those of the old one go on where the strategy keeps them. */
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
