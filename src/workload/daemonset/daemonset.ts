/** DaemonSets as targets (flagger-behaviour.md 2.10): one pod a node, scaled to zero by a node selector that no node answers to. */
import type { KubernetesObject, PodTemplate } from '../../api/kubernetes.ts';
import { templateOf, type WorkloadSettings } from '../../release/release.ts';
import { identityOf, podFacts } from '../pods/pod-facts.ts';
import { faultsOf } from '../pods/pod-faults.ts';
import { currentDaemonPods } from '../pods/pods.ts';
import { canaryWorkload, primaryWorkload } from '../shared/copied-workload.ts';
import { settingsAnnotation } from '../shared/metadata.ts';
import {
  type PodsView,
  refuseTarget,
  type ViewSource,
  type WorkloadKind,
  type WorkloadSource,
} from '../shared/workload-kind.ts';

/** The DaemonSet entry of the table of kinds. */
export const daemonSet: WorkloadKind = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  watches: [{ apiVersion: 'apps/v1', kind: 'ControllerRevision' }],
  sides: 'workloads',
  canary(source) {
    const template = copyable(source);
    const nodeSelector = {
      ...(template.spec.nodeSelector as Record<string, string> | undefined),
      ...(source.replicas === 0 ? { [scaleToZeroSelector]: 'true' } : {}),
    };
    return canaryWorkload(source, {
      ...(source.release.target.spec as Record<string, unknown>),
      ...daemonSetSettings(source.settings),
      // Written also when empty: otherwise the selector of a canary at rest would stay.
      template: { ...template, spec: { ...template.spec, nodeSelector } },
    });
  },
  primary: (source) => primaryWorkload(source, daemonSetSettings(source.settings), copyable(source)),
  settingsPatch: ({ settings, settingsKey }) => ({
    metadata: { annotations: { [settingsAnnotation]: settingsKey } },
    spec: daemonSetSettings(settings),
  }),
  scalePatch(workload, replicas) {
    const { template } = workload.spec as unknown as { template: PodTemplate };
    const selector = template.spec.nodeSelector as Record<string, string> | undefined;
    const isZero = selector?.[scaleToZeroSelector] !== undefined;
    if (isZero === (replicas === 0)) return undefined;
    const nodeSelector = { [scaleToZeroSelector]: replicas === 0 ? 'true' : null };
    return { spec: { template: { spec: { nodeSelector } } } };
  },
  view: viewDaemonSet,
};

/** The target's template, without the selector of a canary at rest. Throws RefusedError for what cannot run twice on a node. */
function copyable({ release }: WorkloadSource): PodTemplate {
  const { target } = release;
  const { updateStrategy } = (target.spec ?? {}) as { updateStrategy?: { type?: string } };
  const { type = 'RollingUpdate' } = updateStrategy ?? {};
  if (type !== 'RollingUpdate')
    refuseTarget(
      target,
      'spec.updateStrategy.type',
      `must be RollingUpdate, not ${type}: pods would never be replaced`,
    );
  const template = templateOf(release);
  refuseHostPorts(target, template);
  const { nodeSelector, ...spec } = template.spec as PodTemplate['spec'] & Record<string, unknown>;
  const ownSelector = Object.entries((nodeSelector ?? {}) as Record<string, string>).filter(
    ([key]) => key !== scaleToZeroSelector,
  );
  return {
    ...template,
    spec: { ...spec, ...(ownSelector.length > 0 ? { nodeSelector: Object.fromEntries(ownSelector) } : {}) },
  };
}

interface Ported {
  ports?: ReadonlyArray<{ hostPort?: number }>;
}

/** A port of a node can be used once: the canary's pods could never be scheduled on the nodes of the primary's (design section 6). */
function refuseHostPorts(target: KubernetesObject, { spec }: PodTemplate): void {
  const { hostNetwork } = spec as { hostNetwork?: boolean };
  for (const list of ['containers', 'initContainers'] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) {
      const { ports = [] } = container as Ported;
      const taken = ports.findIndex(({ hostPort = 0 }) => hostNetwork === true || hostPort > 0);
      if (taken < 0) continue;
      const field = `spec.template.spec.${list}[${index}].ports[${taken}]`;
      const cause =
        hostNetwork === true ? 'hostNetwork makes it a port of the node' : 'hostPort is a port of the node';
      refuseTarget(
        target,
        field,
        `${cause}, so a canary pod could never run on the same node as the primary's; use a Service instead, or roll out in place with provider native`,
      );
    }
  }
}

/** Every setting with an explicit value, by default Kubernetes' own, so that a setting removed from Git does not stay. */
export function daemonSetSettings({ strategy, minReadySeconds, revisionHistoryLimit }: WorkloadSettings) {
  const given = strategy?.rollingUpdate as Record<string, unknown> | undefined | null;
  const { maxSurge = 0, maxUnavailable = maxSurge === 0 ? 1 : 0 } = given ?? {};
  return {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
    minReadySeconds: minReadySeconds ?? 0,
    revisionHistoryLimit: revisionHistoryLimit ?? 10,
  };
}

/** Node selector of a DaemonSet at rest: no node carries it (Flagger's key). */
export const scaleToZeroSelector = 'flagger.app/scale-to-zero';

interface DaemonSetStatus {
  observedGeneration?: number;
  desiredNumberScheduled?: number;
  currentNumberScheduled?: number;
  updatedNumberScheduled?: number;
  numberReady?: number;
  numberAvailable?: number;
}

/** A DaemonSet as the rollout sees it. Pods on nodes that no longer match do not count, as in its own status. */
export function viewDaemonSet(source: ViewSource): PodsView {
  const { workload } = source;
  const { metadata } = workload;
  const status = (workload.status ?? {}) as DaemonSetStatus;
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const updatedReplicas = status.updatedNumberScheduled ?? 0;
  const { template } = workload.spec as unknown as { template: PodTemplate };
  const selector = template.spec.nodeSelector as Record<string, string> | undefined;
  const isAtRest = selector?.[scaleToZeroSelector] !== undefined;
  // No pod counts as current before the controller has made one for this generation.
  const current =
    observed && updatedReplicas > 0
      ? currentDaemonPods(workload, source.pods, source.controllerRevisions)
      : [];
  const facts = podFacts(current, template, source);
  return {
    ...identityOf(workload),
    observed,
    // At least one, so that a DaemonSet without matching nodes, or without a status yet, does not count as one at rest.
    desiredReplicas: isAtRest ? 0 : Math.max(1, status.desiredNumberScheduled ?? 0),
    replicas: status.currentNumberScheduled ?? 0,
    updatedReplicas,
    readyReplicas: status.numberReady ?? 0,
    availableReplicas: status.numberAvailable ?? 0,
    followsNodes: true,
    progressDeadlineExceeded: false,
    // Each node has one pod: traffic moves away before the template is written (design section 4, clear).
    keepsReadyPod: false,
    faults: observed ? faultsOf(workload, current) : [],
    ...facts,
    // Never more than the controller counts: the ControllerRevision may be seen later than the status.
    updatedReadyReplicas: Math.min(facts.updatedReadyReplicas, updatedReplicas),
  };
}
