/** Whether an applied object works, as kstatus and `kubectl rollout status` judge it. Pure. */
import {
  type Condition,
  describe,
  type KubernetesObject,
  liveCondition,
  numberOf,
  recordOf,
  recordsOf,
  textOf,
} from '../../../api/kubernetes.ts';
import { groupKindOf } from '../scope/inventory.ts';

/** Conditions that must hold, as `Synced=True,Degraded=False`; `none`: the object is not waited for. */
const healthyWhenAnnotation = 'holdfast.dev/healthy-when';
const argoIgnores = 'argocd.argoproj.io/ignore-healthcheck';

/**
 * The health of an object of a Source; `live` is undefined where it is not there, or is not seen as the Source's, which `absence` says. The reason names
 * the object.
 */
export function healthOf(
  wanted: KubernetesObject,
  live: KubernetesObject | undefined,
  absence = 'does not exist',
): Health {
  const { annotations = {} } = wanted.metadata;
  const said = annotations[healthyWhenAnnotation];
  if (said === 'none' || annotations[argoIgnores] === 'true') return healthy;
  if (!live) return { kind: 'progressing', why: `${describe(wanted)} ${absence}` };
  const found = judge(live, said);
  return found.kind === 'healthy' ? found : { ...found, why: `${describe(live)}: ${found.why}` };
}

function judge(live: KubernetesObject, said: string | undefined): Health {
  if (live.metadata.deletionTimestamp) return { kind: 'progressing', why: 'is being deleted' };
  const status = recordOf(live.status);
  const { generation } = live.metadata;
  const observed = status.observedGeneration;
  if (typeof observed === 'number' && generation !== undefined && observed < generation)
    return { kind: 'progressing', why: 'its controller has not seen the last change' };
  if (said) return asSaid(live, said);
  const byKind = kinds[groupKindOf(live)];
  return byKind ? byKind(live) : byConditions(live);
}

/** Kinds that tell in a way of their own. */
const kinds: Readonly<Record<string, (live: KubernetesObject) => Health>> = {
  'Deployment.apps': workloadHealth,
  'StatefulSet.apps': workloadHealth,
  'DaemonSet.apps': workloadHealth,
  'ReplicaSet.apps': workloadHealth,
  ReplicationController: workloadHealth,
  'Job.batch'(live) {
    const failed = liveCondition(live, 'Failed');
    if (failed?.status === 'True') return { kind: 'failed', why: conditionText('the Job failed', failed) };
    const isSuspended = recordOf(live.spec).suspend === true;
    const isDone = liveCondition(live, 'Complete')?.status === 'True';
    return isDone || isSuspended ? healthy : { kind: 'progressing', why: 'the Job is not complete' };
  },
  Pod(live) {
    const phase = textOf(recordOf(live.status).phase);
    if (phase === 'Failed') return { kind: 'failed', why: 'the pod failed' };
    if (phase === 'Succeeded' || liveCondition(live, 'Ready')?.status === 'True') return healthy;
    return { kind: 'progressing', why: 'the pod is not ready' };
  },
  'CustomResourceDefinition.apiextensions.k8s.io'(live) {
    const names = liveCondition(live, 'NamesAccepted');
    if (names?.status === 'False')
      return { kind: 'failed', why: conditionText('its names are taken', names) };
    if (liveCondition(live, 'Established')?.status === 'True') return healthy;
    return { kind: 'progressing', why: 'the kind is not established' };
  },
  PersistentVolumeClaim(live) {
    const phase = textOf(recordOf(live.status).phase);
    if (phase === 'Lost') return { kind: 'failed', why: 'its volume is lost' };
    // One that waits for its first pod waits for nothing of ours.
    return phase === 'Bound' || phase === 'Pending' ? healthy : { kind: 'progressing', why: 'is not bound' };
  },
  Service(live) {
    const spec = recordOf(live.spec);
    if (spec.type !== 'LoadBalancer') return healthy;
    const ingress = recordsOf(recordOf(recordOf(live.status).loadBalancer).ingress);
    return ingress.length > 0
      ? healthy
      : { kind: 'progressing', why: 'has no address of a load balancer yet' };
  },
};

/** Any other kind: the conditions that kstatus reads. One without conditions works once it is there. */
function byConditions(live: KubernetesObject): Health {
  const stalled = liveCondition(live, 'Stalled');
  if (stalled?.status === 'True') return { kind: 'failed', why: conditionText('stalled', stalled) };
  const reconciling = liveCondition(live, 'Reconciling');
  if (reconciling?.status === 'True')
    return { kind: 'progressing', why: conditionText('reconciling', reconciling) };
  const ready = liveCondition(live, 'Ready');
  if (ready && ready.status !== 'True')
    return { kind: 'progressing', why: conditionText('not ready', ready) };
  return healthy;
}

/** Conditions that the author named. */
function asSaid(live: KubernetesObject, said: string): Health {
  for (const part of said.split(',')) {
    const [type = '', wanted = 'True'] = part.trim().split('=');
    const found = liveCondition(live, type);
    if (found?.status !== wanted) {
      const why = found ? conditionText(`${type} is ${found.status}`, found) : `has no condition ${type}`;
      return { kind: 'progressing', why };
    }
  }
  return healthy;
}

/** What a condition says, on one line and short. */
function conditionText(what: string, { reason, message }: Partial<Condition>): string {
  const detail = textOf(message) ?? textOf(reason);
  return detail ? `${what}: ${detail.replace(/\s+/g, ' ').slice(0, 200)}` : what;
}

/** A workload is rolled out: all its pods are of the last template, where it tells of that, and available. */
function workloadHealth(live: KubernetesObject): Health {
  const status = recordOf(live.status);
  if (numberOf(status.observedGeneration) === undefined)
    return { kind: 'progressing', why: 'its controller has not seen it yet' };
  const late = recordsOf(status.conditions).find(
    ({ type, reason }) => type === 'Progressing' && reason === 'ProgressDeadlineExceeded',
  );
  if (late) return { kind: 'failed', why: 'its progress deadline is exceeded' };
  const isDaemonSet = live.kind === 'DaemonSet';
  const wanted = isDaemonSet
    ? (numberOf(status.desiredNumberScheduled) ?? 0)
    : (numberOf(recordOf(live.spec).replicas) ?? 1);
  const updated = numberOf(isDaemonSet ? status.updatedNumberScheduled : status.updatedReplicas) ?? 0;
  const available = numberOf(isDaemonSet ? status.numberAvailable : status.availableReplicas) ?? 0;
  const total = numberOf(isDaemonSet ? status.currentNumberScheduled : status.replicas) ?? 0;
  if (updated < expected(live, wanted)) return waits(`${updated} of ${wanted} pods have the last template`);
  if (!isDaemonSet && total > wanted) return waits(`${total - wanted} pods of an older template are left`);
  if (available < wanted) return waits(`${available} of ${wanted} pods are available`);
  return { kind: 'healthy' };
}

/** A StatefulSet updates down to its partition, and nothing by itself with OnDelete; nor does a DaemonSet. A ReplicaSet replaces no pod. */
function expected(live: KubernetesObject, wanted: number): number {
  if (live.kind.startsWith('Replica')) return 0;
  const strategy = recordOf(recordOf(live.spec).updateStrategy);
  if (strategy.type === 'OnDelete') return 0;
  return Math.max(0, wanted - (numberOf(recordOf(strategy.rollingUpdate).partition) ?? 0));
}

function waits(why: string): Health {
  return { kind: 'progressing', why };
}

/** What is known of one object. What is `progressing` may come to work by itself, what has `failed` does not. */
type Health =
  | { readonly kind: 'healthy' }
  | { readonly kind: 'progressing' | 'failed'; readonly why: string };

/** It works, or there is nothing that could tell otherwise. */
const healthy: Health = { kind: 'healthy' };
