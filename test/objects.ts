import type { KubernetesObject } from '../src/api/kubernetes.ts';

/** Image of the first container of a workload's template. */
export function imageOf(object: unknown): string | undefined {
  const { spec } = (object ?? {}) as {
    spec?: { template?: { spec?: { containers?: Array<{ image?: string }> } } };
  };
  return spec?.template?.spec?.containers?.[0]?.image;
}

/** The replicas that a workload asks for. */
export function replicasOf(workload: KubernetesObject | undefined): number | undefined {
  return (workload?.spec as { replicas?: number } | undefined)?.replicas;
}
