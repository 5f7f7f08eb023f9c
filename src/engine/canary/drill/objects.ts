/** The objects that a drill tries. */
import type { Canary } from '../../../api/canary/canary.ts';
import type { KubernetesObject, PodTemplate } from '../../../api/kubernetes.ts';
import type { Cluster, DryRun } from '../../../contracts/cluster.ts';
import type { DecodedRecord } from '../../../release/record.ts';
import { settingsKey } from '../../../release/release.ts';
import { untrackedIn } from '../../../workload/expected-copies.ts';
import { primaryObjects, primaryReplicas, sideNames, workloadKind } from '../../../workload/kinds.ts';
import { generatedServices } from '../../../workload/service/generated-services.ts';
import { selectorLabel, serviceNames } from '../../../workload/shared/metadata.ts';
import type { Records } from '../../records/records.ts';
import { copiesOfOthers, liveConfigsForPrimary } from '../context/live-config.ts';
import type { EngineOptions } from '../context/observation.ts';

/** What a drill needs. */
export interface DrillParts {
  readonly cluster: Pick<Cluster, 'get'>;
  readonly dryRun: DryRun;
  readonly records: Pick<Records, 'load'>;
  readonly options: Pick<EngineOptions, 'selectorLabels' | 'includeLabelPrefixes'>;
}

/** The primary of a record with its copies of config, as a revert would write them. */
export async function primaryOf(
  { cluster, options }: DrillParts,
  canary: Canary,
  { release, settings }: DecodedRecord,
): Promise<{ configs: KubernetesObject[]; workload: KubernetesObject }> {
  const namespace = canary.metadata.namespace ?? '';
  const { apiVersion, kind } = workloadKind(canary);
  const live = await cluster.get({ apiVersion, kind, namespace, name: sideNames(canary).primary });
  return primaryObjects({
    canary,
    release,
    settings,
    settingsKey: settingsKey(settings),
    ...options,
    replicas: primaryReplicas({ canary, settings }),
    live,
    liveConfigs: await liveConfigsForPrimary(cluster, namespace, release),
    sharedConfigs: await copiesOfOthers(cluster, canary, release),
    untracked: live ? untrackedIn(live, { canary, release }) : new Set(),
  });
}

/** The canary Service belongs to whatever the canary runs, and is left out. */
export async function servicesOf(
  { cluster, options }: DrillParts,
  canary: Canary,
  { release }: DecodedRecord,
): Promise<KubernetesObject[]> {
  const names = serviceNames(canary);
  const namespace = canary.metadata.namespace ?? '';
  const get = (name: string) => cluster.get({ apiVersion: 'v1', kind: 'Service', namespace, name });
  const [apex, primary] = await Promise.all([get(names.apex), get(names.primary)]);
  const generated = generatedServices({
    canary,
    label: selectorLabel(release.target, options.selectorLabels),
    ports: release.ports,
    canaryPorts: undefined,
    apexSelects: 'primary',
    live: { apex, primary },
  });
  return [generated.primary, generated.apex];
}

/**
 * A pod as the workload's controller would make it. Only its dry-run shows what pods meet and workloads do not: quota, limit ranges, pod
 * security, service account, priority class.
 */
export function drillPod(workload: KubernetesObject, { metadata, spec }: PodTemplate): KubernetesObject {
  const { namespace, name } = workload.metadata;
  const { labels, annotations } = metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name.slice(0, 56)}-drill`,
      ...(namespace ? { namespace } : {}),
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
    },
    spec,
  };
}
