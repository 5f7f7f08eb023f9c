/** StatefulSets as targets: rolled out in place alone. Its pods have names and volumes of their own, which a copy would not have. */
import { describe } from '../api/kubernetes.ts';
import type { WorkloadSettings } from '../release/release.ts';
import type { WorkloadKind, WorkloadSource } from './kind.ts';
import { settingsAnnotation } from './names.ts';
import { RefusedError } from './refusal.ts';
import { viewStatefulSet } from './stateful-set-view.ts';

/** The StatefulSet entry of the table of kinds. */
export const statefulSet: WorkloadKind = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  watches: [],
  sides: 'workloads',
  canary: refuse,
  primary: refuse,
  settingsPatch: ({ settings, settingsKey, replicas }) => ({
    metadata: { annotations: { [settingsAnnotation]: settingsKey } },
    spec: { ...(replicas === undefined ? {} : { replicas }), ...statefulSettingsFields(settings) },
  }),
  scalePatch: ({ spec }, replicas) =>
    (spec as { replicas?: number } | undefined)?.replicas === replicas ? undefined : { spec: { replicas } },
  view: viewStatefulSet,
};

/** Every setting with an explicit value, Kubernetes' default where Git says nothing: what was dropped from Git must not stay. */
export function statefulSettingsFields({
  strategy,
  minReadySeconds,
  revisionHistoryLimit,
}: WorkloadSettings): Record<string, unknown> {
  const given = strategy?.rollingUpdate as Record<string, unknown> | undefined | null;
  return {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, ...given } },
    minReadySeconds: minReadySeconds ?? 0,
    revisionHistoryLimit: revisionHistoryLimit ?? 10,
  };
}

function refuse({ release }: WorkloadSource): never {
  throw new RefusedError({
    reason: 'TargetInvalid',
    object: describe(release.target),
    field: 'kind',
    message:
      'a StatefulSet has no second copy: its pods have names and volumes of their own; use provider native',
  });
}
