/** Deployments: their own rolling update between two bounds, by pods that never count as available (ADR 21). */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { currentReplicaSet, templateHashLabel } from '../pods/pods.ts';
import { isBeforeFirstStep } from '../shared/metadata.ts';
import {
  FIRST_HOLD,
  fenceposts,
  grantedBy,
  type Hold,
  isWholeStep,
  nextHold,
} from '../shared/rolling-update.ts';
import {
  type HeldFields,
  type IncomingRelease,
  type NativeKind,
  type PodsView,
  type TriedPods,
  tooFewReplicas,
  type Unsuitable,
  type ViewSource,
} from '../shared/workload-kind.ts';
import { deploymentSettings, viewDeployment } from './deployment.ts';

/** Ready pods of a held Deployment never become available: a year. */
const HELD_SECONDS = 31_536_000;
/** No deadline at all; Kubernetes requires it to be longer than minReadySeconds. */
const NO_DEADLINE_SECONDS = 2_147_483_647;

/** The Deployment entry of the table of kinds. */
export const nativeDeployment: NativeKind = {
  kind: 'Deployment',
  settingsFields: deploymentSettings,
  unsuitable,
  withhold: () => {
    const { spec } = heldBy(FIRST_HOLD);
    return { spec: { ...spec, paused: true } };
  },
  next({ source, weightPercent, settings }) {
    const { workload } = source;
    const { replicas = 1 } = workload.spec as { replicas?: number };
    const hold = nextHold({
      replicas,
      weightPercent,
      hold: holdOf(workload),
      ready: isBeforeFirstStep(workload) ? 0 : viewDeployment(source).updatedReadyReplicas,
      own: fenceposts(
        replicas,
        settings.strategy?.rollingUpdate as Readonly<Record<string, unknown>> | undefined,
      ),
    });
    return { held: heldBy(hold), replace: [] };
  },
  splitView(source) {
    const whole = viewDeployment(source);
    return { whole, tried: isBeforeFirstStep(source.workload) ? undefined : triedIn(source, whole) };
  },
  revision: ({ workload, replicaSets }) =>
    currentReplicaSet(workload, replicaSets)?.metadata.labels?.[templateHashLabel],
};

/** The bounds as they are written; undefined for a Deployment that is not held. */
export function holdOf({ spec }: KubernetesObject): Hold | undefined {
  const { minReadySeconds, strategy } = spec as {
    minReadySeconds?: number;
    strategy?: { rollingUpdate?: { maxSurge?: unknown; maxUnavailable?: unknown } };
  };
  if (minReadySeconds !== HELD_SECONDS) return undefined;
  const { maxSurge, maxUnavailable } = strategy?.rollingUpdate ?? {};
  const percent = /^\d{1,3}%$/;
  const isHold = percent.test(String(maxSurge)) && percent.test(String(maxUnavailable));
  if (!isHold) return undefined;
  return {
    surgePercent: Number.parseInt(String(maxSurge), 10),
    unavailablePercent: Number.parseInt(String(maxUnavailable), 10),
  };
}

/** These bounds, as they are written. */
export function heldBy({ surgePercent, unavailablePercent }: Hold): HeldFields {
  const rollingUpdate = { maxSurge: `${surgePercent}%`, maxUnavailable: `${unavailablePercent}%` };
  return {
    spec: {
      strategy: { type: 'RollingUpdate', rollingUpdate },
      minReadySeconds: HELD_SECONDS,
      progressDeadlineSeconds: NO_DEADLINE_SECONDS,
    },
  };
}

/** A held pod never counts as available, so a ready one counts as such here, and the available ones are the older pods. */
function triedIn({ workload }: ViewSource, whole: PodsView): TriedPods {
  const hold = holdOf(workload);
  const { updatedReplicas, updatedReadyReplicas, desiredReplicas, availableReplicas } = whole;
  return {
    view: {
      ...whole,
      desiredReplicas: hold ? grantedBy(hold, desiredReplicas) : 0,
      replicas: updatedReplicas,
      readyReplicas: updatedReadyReplicas,
      availableReplicas: updatedReadyReplicas,
      progressDeadlineExceeded: false,
    },
    leaving: hold ? Math.floor((hold.unavailablePercent * desiredReplicas) / 100) : 0,
    olderAvailable: availableReplicas,
    isReached: (weightPercent) =>
      whole.replicas <= desiredReplicas &&
      isWholeStep({ replicas: desiredReplicas, weightPercent, hold, ready: updatedReadyReplicas }),
  };
}

function unsuitable({ settings, spec, replicas, live, isFirst }: IncomingRelease): Unsuitable | undefined {
  if (settings.strategy?.type === 'Recreate')
    return {
      field: 'spec.strategy.type',
      message:
        'must be RollingUpdate for provider native: Recreate stops all old pods before the first new one; change it or choose another provider',
    };
  if (spec.paused === true)
    return {
      field: 'spec.paused',
      message: 'must not be set for provider native, which pauses the rolling update itself',
    };
  const { paused: isPaused } = (live?.spec ?? {}) as { paused?: boolean };
  // Before the first step Holdfast itself pauses it.
  if (live && isPaused === true && !isBeforeFirstStep(live))
    return {
      field: 'spec.paused',
      message: 'was paused by somebody else, so nothing is rolled out or back; run kubectl rollout resume',
      isLive: true,
    };
  return isFirst
    ? tooFewReplicas(replicas ?? (live?.spec as { replicas?: number } | undefined)?.replicas)
    : undefined;
}
