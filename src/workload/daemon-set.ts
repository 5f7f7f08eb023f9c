/** DaemonSets as targets (flagger-behaviour.md 2.10): one pod a node, scaled to zero by a node selector that no node answers to. */
import { describe, type KubernetesObject, type PodTemplate } from '../api/kubernetes.ts';
import { templateOf, type WorkloadSettings } from '../release/release.ts';
import { canaryWorkload, primaryWorkload } from './builders.ts';
import { scaleToZeroSelector, viewDaemonSet } from './daemon-set-view.ts';
import type { WorkloadKind, WorkloadSource } from './kind.ts';
import { settingsAnnotation } from './names.ts';
import { RefusedError } from './refusal.ts';

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
      ...daemonSettingsFields(source.settings),
      // Written also when empty: the field is one whole, and would else keep the selector of the canary at rest.
      template: { ...template, spec: { ...template.spec, nodeSelector } },
    });
  },
  primary: (source) => primaryWorkload(source, daemonSettingsFields(source.settings), copyable(source)),
  settingsPatch: ({ settings, settingsKey }) => ({
    metadata: { annotations: { [settingsAnnotation]: settingsKey } },
    spec: daemonSettingsFields(settings),
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
  refuseOnDelete(target);
  const template = templateOf(release);
  refuseHostPorts(target, template);
  const { nodeSelector, ...spec } = template.spec as PodTemplate['spec'] & Record<string, unknown>;
  const kept = Object.entries((nodeSelector ?? {}) as Record<string, string>).filter(
    ([key]) => key !== scaleToZeroSelector,
  );
  return {
    ...template,
    spec: { ...spec, ...(kept.length > 0 ? { nodeSelector: Object.fromEntries(kept) } : {}) },
  };
}

/** With OnDelete nothing is ever rolled out by the cluster itself. */
function refuseOnDelete(target: KubernetesObject): void {
  const { updateStrategy } = (target.spec ?? {}) as { updateStrategy?: { type?: string } };
  const type = updateStrategy?.type;
  if (type === undefined || type === 'RollingUpdate') return;
  refuse(
    target,
    'spec.updateStrategy.type',
    `must be RollingUpdate, not ${type}: pods would never be replaced`,
  );
}

interface Ported {
  ports?: ReadonlyArray<{ hostPort?: number }>;
}

/** A node has each of its ports once: the canary's pods could never be scheduled beside the primary's (design section 6). */
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
      refuse(
        target,
        field,
        `${cause}, so a canary pod could never run beside the primary's; reach the pods through a Service instead, or roll it out in place with provider native`,
      );
    }
  }
}

function refuse(target: KubernetesObject, field: string, message: string): never {
  throw new RefusedError({ reason: 'TargetInvalid', object: describe(target), field, message });
}

/** Every setting with an explicit value, Kubernetes' default where Git says nothing: what was dropped from Git must not stay. */
export function daemonSettingsFields({ strategy, minReadySeconds, revisionHistoryLimit }: WorkloadSettings) {
  const given = strategy?.rollingUpdate as Record<string, unknown> | undefined | null;
  const { maxSurge = 0, maxUnavailable = maxSurge === 0 ? 1 : 0 } = given ?? {};
  return {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
    minReadySeconds: minReadySeconds ?? 0,
    revisionHistoryLimit: revisionHistoryLimit ?? 10,
  };
}
