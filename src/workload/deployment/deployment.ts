/** Deployments as targets: canary and primary (flagger-behaviour.md 2.10). */
import { conditionOf, type KubernetesObject, type PodTemplate, present } from '../../api/kubernetes.ts';
import { templateOf, type WorkloadSettings } from '../../release/release.ts';
import { identityOf, podFacts } from '../pods/pod-facts.ts';
import { faultsOf } from '../pods/pod-faults.ts';
import { currentPods, currentReplicaSet, templateHashLabel } from '../pods/pods.ts';
import { canaryWorkload, primaryWorkload } from '../shared/copied-workload.ts';
import { isBeforeFirstStep, settingsAnnotation } from '../shared/metadata.ts';
import {
  FIRST_HOLD,
  fenceposts,
  goneUnder,
  grantedBy,
  type Hold,
  isWholeStep,
  keepsReadyPod,
  nextHold,
} from '../shared/rolling-update.ts';
import {
  type HeldFields,
  type IncomingRelease,
  type NativeKind,
  type PodsView,
  replicasPatch,
  type TriedPods,
  tooFewReplicas,
  type Unsuitable,
  type ViewSource,
  type WorkloadKind,
} from '../shared/workload-kind.ts';

/** The Deployment entry of the table of kinds. */
export const deployment: WorkloadKind = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  watches: [],
  sides: 'workloads',
  canary(source) {
    const { replicas: _, ...spec } = source.release.target.spec as Record<string, unknown>;
    return canaryWorkload(source, {
      ...spec,
      ...present({ replicas: source.replicas }),
      ...deploymentSettings(source.settings),
    });
  },
  primary: (source) =>
    primaryWorkload(
      source,
      { ...present({ replicas: source.replicas }), ...deploymentSettings(source.settings) },
      templateOf(source.release),
    ),
  settingsPatch: ({ settings, settingsKey, replicas }) => ({
    metadata: { annotations: { [settingsAnnotation]: settingsKey } },
    spec: { ...present({ replicas }), ...deploymentSettings(settings) },
  }),
  scalePatch: replicasPatch,
  view: viewDeployment,
};

/**
 * Settings as a Deployment is written with them. Every one has an explicit value, by default Kubernetes' own: a setting
 * that was removed from Git would otherwise keep its last value, and `rollingUpdate: null` is needed for Recreate, which forbids the
 * defaulted one.
 */
function deploymentSettings(settings: WorkloadSettings): Record<string, unknown> {
  const {
    strategy,
    minReadySeconds = 0,
    progressDeadlineSeconds = 600,
    revisionHistoryLimit = 10,
  } = settings;
  const { maxSurge, maxUnavailable } = (strategy?.rollingUpdate ?? {}) as Record<string, unknown>;
  return {
    strategy:
      strategy?.type === 'Recreate'
        ? { type: 'Recreate', rollingUpdate: null }
        : {
            type: 'RollingUpdate',
            rollingUpdate: { maxSurge: maxSurge ?? '25%', maxUnavailable: maxUnavailable ?? '25%' },
          },
    minReadySeconds,
    progressDeadlineSeconds,
    revisionHistoryLimit,
  };
}

interface DeploymentSpec {
  replicas?: number;
  strategy?: Record<string, unknown>;
  template: PodTemplate;
}

interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  conditions?: Array<{ type: string; status: string; reason?: string; message?: string }>;
}

/** A Deployment as the rollout sees it. Until a generation is observed, counts are those of the one before. */
export function viewDeployment(source: ViewSource): PodsView {
  const { workload, pods, replicaSets } = source;
  const spec = workload.spec as unknown as DeploymentSpec;
  const status = (workload.status ?? {}) as DeploymentStatus;
  const { metadata } = workload;
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const progressing = conditionOf(status, 'Progressing');
  // No pod counts as current before the controller has made one for this generation.
  const isMade = observed && (status.updatedReplicas ?? 0) > 0;
  const current = isMade ? currentPods(workload, pods, replicaSets) : [];
  const desiredReplicas = spec.replicas ?? 1;
  return {
    ...identityOf(workload),
    observed,
    desiredReplicas,
    replicas: status.replicas ?? 0,
    updatedReplicas: status.updatedReplicas ?? 0,
    readyReplicas: status.readyReplicas ?? 0,
    availableReplicas: status.availableReplicas ?? 0,
    followsNodes: false,
    progressDeadlineExceeded:
      observed && progressing?.status === 'False' && progressing.reason === 'ProgressDeadlineExceeded',
    keepsReadyPod: keepsReadyPod(desiredReplicas, spec.strategy),
    faults: observed ? faultsOf(workload, current) : [],
    ...podFacts(current, spec.template, source),
  };
}

// Rolled out in place (provider native): its own rolling update between two bounds, by pods that never count as available (ADR 21).

/** Ready pods of a held Deployment never become available: a year. */
const HELD_SECONDS = 31_536_000;
/** No deadline at all; Kubernetes requires it to be longer than minReadySeconds. */
const NO_DEADLINE_SECONDS = 2_147_483_647;

/** The Deployment entry of the table of kinds. */
export const nativeDeployment: NativeKind = {
  kind: 'Deployment',
  // What was recorded under another provider may say Recreate.
  settingsFields: ({ strategy, ...settings }) =>
    deploymentSettings(strategy?.type === 'Recreate' || !strategy ? settings : { ...settings, strategy }),
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
    leaving: hold ? goneUnder(hold, desiredReplicas) : 0,
    olderAvailable: availableReplicas,
    isReached: (weightPercent) =>
      whole.replicas <= desiredReplicas &&
      isWholeStep({ replicas: desiredReplicas, weightPercent, hold, ready: updatedReadyReplicas }),
  };
}

function unsuitable({ settings, spec, replicas, live, isFirst }: IncomingRelease): Unsuitable | undefined {
  const { paused: isPaused } = (live?.spec ?? {}) as { paused?: boolean };
  // Before the first step Holdfast itself pauses it.
  if (live && isPaused === true && !isBeforeFirstStep(live))
    return {
      field: 'spec.paused',
      message: 'was paused by someone else, so nothing is rolled out or back; run kubectl rollout resume',
      isLive: true,
    };
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
  return isFirst
    ? tooFewReplicas(replicas ?? (live?.spec as { replicas?: number } | undefined)?.replicas)
    : undefined;
}
