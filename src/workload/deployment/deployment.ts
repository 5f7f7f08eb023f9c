/** Deployments as targets: canary and primary (flagger-behaviour.md 2.10). */
import type { PodTemplate } from '../../api/kubernetes.ts';
import { templateOf, type WorkloadSettings } from '../../release/release.ts';
import { identityOf, podFacts } from '../pods/pod-facts.ts';
import { faultsOf } from '../pods/pod-faults.ts';
import { currentPods } from '../pods/pods.ts';
import { canaryWorkload, primaryWorkload } from '../shared/copied-workload.ts';
import { settingsAnnotation } from '../shared/metadata.ts';
import { keepsReadyPod } from '../shared/rolling-update.ts';
import type { PodsView, ViewSource, WorkloadKind } from '../shared/workload-kind.ts';

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
      ...replicasField(source.replicas),
      ...deploymentSettings(source.settings),
    });
  },
  primary: (source) =>
    primaryWorkload(
      source,
      { ...replicasField(source.replicas), ...deploymentSettings(source.settings) },
      templateOf(source.release),
    ),
  settingsPatch: ({ settings, settingsKey, replicas }) => ({
    metadata: { annotations: { [settingsAnnotation]: settingsKey } },
    spec: { ...replicasField(replicas), ...deploymentSettings(settings) },
  }),
  scalePatch: ({ spec }, replicas) =>
    (spec as { replicas?: number } | undefined)?.replicas === replicas ? undefined : { spec: { replicas } },
  view: viewDeployment,
};

function replicasField(replicas: number | undefined): { replicas?: number } {
  return replicas === undefined ? {} : { replicas };
}

/**
 * Settings as a Deployment is written with them. Every one has an explicit value, by default Kubernetes' own: a setting
 * that was removed from Git would otherwise keep its last value, and `rollingUpdate: null` is needed for Recreate, which forbids the
 * defaulted one.
 */
export function deploymentSettings(settings: WorkloadSettings): Record<string, unknown> {
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
  const progressing = status.conditions?.find(({ type }) => type === 'Progressing');
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
