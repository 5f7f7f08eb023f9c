import type { KubernetesObject } from '../api/kubernetes.ts';

/** What is known about the primary of one Canary, as it was written last. */
export interface KnownPrimary {
  /** The object, its release and settings; another one is built anew. */
  readonly id: string;
  readonly applied: KubernetesObject;
  /** The primary said all of it once: what is missing later was taken away, and is not what the server never took. */
  hasMatched: boolean;
  /** What reading it once gave, for this generation. */
  found?: { readonly generation: unknown; readonly manager: string | undefined };
}

/** By Canary key; lost on restart, and then built anew. */
export type DriftMemory = Map<string, KnownPrimary>;
