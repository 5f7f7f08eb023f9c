import type { KubernetesObject } from '../../api/kubernetes.ts';

/** Kinds that a Canary's spec names beside its workload. */
export type ReferenceKind = 'MetricTemplate' | 'AlertProvider';

/** Objects that Canaries name. */
export interface References {
  /** Undefined while that is not known. */
  has(kind: ReferenceKind, namespace: string, name: string): boolean | undefined;
  /** As of WatchedSet. */
  onChange(listener: (object: KubernetesObject | undefined) => void): void;
}
