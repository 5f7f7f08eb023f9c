/** What a drill looks at beyond the objects of the closure: a pod of the template, and the config it needs. */
import { describe, type KubernetesObject, type PodTemplate } from '../../api/kubernetes.ts';
import { templateOf } from '../../release/release.ts';
import { configKey } from '../../workload/configs.ts';
import { holdsKey, type NeededKey, neededKeys } from '../../workload/needed-keys.ts';
import type { Cluster } from '../ports/ports.ts';
import type { DrillFinding } from './drill-findings.ts';

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

/** ConfigMaps, Secrets and keys that the primary's pods need and that are neither among the copies nor in the cluster. */
export async function missingReferences(
  cluster: Pick<Cluster, 'get'>,
  workload: KubernetesObject,
  copies: readonly KubernetesObject[],
): Promise<DrillFinding[]> {
  const known = new Map(copies.map((copy) => [configKey(copy.kind, copy.metadata.name), copy]));
  const findings: DrillFinding[] = [];
  const missing = new Set<string>();
  for (const need of neededKeys(templateOf({ target: workload }))) {
    const id = configKey(need.kind, need.name);
    if (missing.has(id)) continue;
    const object = known.get(id) ?? (await cluster.get(referenceTo(need, workload)));
    if (object) known.set(id, object);
    else missing.add(id);
    const finding = findingFor(need, object, workload);
    if (finding) findings.push(finding);
  }
  return findings;
}

function referenceTo({ kind, name }: NeededKey, { metadata }: KubernetesObject) {
  return { apiVersion: 'v1', kind, namespace: metadata.namespace ?? '', name };
}

function findingFor(
  { kind, name, key }: NeededKey,
  object: KubernetesObject | undefined,
  workload: KubernetesObject,
): DrillFinding | undefined {
  const named = describe(workload);
  if (!object)
    return {
      object: named,
      reason: 'ReferenceMissing',
      message: `its pods need ${kind} ${name}, which does not exist`,
    };
  if (key === undefined || holdsKey(object, key)) return undefined;
  return {
    object: named,
    reason: 'KeyMissing',
    message: `its pods need key ${key} of ${kind} ${name}, which it lacks`,
  };
}
