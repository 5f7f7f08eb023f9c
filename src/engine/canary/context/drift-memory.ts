/** What the detection of drift remembers of each Canary, so that a primary and its config copies are read once per version. */
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { ConfigCopyView, ForeignChange } from '../../../health/workload-view.ts';
import type { WorkloadSettings } from '../../../release/release.ts';
import type { ExpectedCopy } from '../../../workload/expected-copies.ts';

/** What is known about the primary of one Canary, as it was written last. */
export interface KnownPrimary {
  /** Identifies the object, its release and settings; for another id the entry is built anew. */
  readonly id: string;
  /** Undefined where it stands between two releases. */
  readonly applied: KubernetesObject | undefined;
  readonly settings: WorkloadSettings;
  /** The primary had all fields once: one that is missing later was removed by another manager, and not dropped by the server. */
  hasMatched: boolean;
  /** What reading it once gave, for this generation. */
  found?: { readonly generation: unknown; readonly change: ForeignChange | undefined };
}

/** Which copies the primary's pods need; their content is not kept. */
export interface KnownCopies {
  /** The primary, its version and release. */
  readonly id: string;
  readonly copies: ReadonlyArray<Pick<ExpectedCopy, 'kind' | 'name' | 'original'>>;
  /** What reading a copy once gave, by kind and name, for this version of it. */
  readonly found: Map<string, { readonly version: string; readonly view: ConfigCopyView }>;
}

/** What is remembered of one Canary. */
interface DriftEntry {
  primary?: KnownPrimary;
  copies?: KnownCopies;
}

/** By Canary key; lost on restart, and then built anew. */
export type PrimaryDriftMemory = Map<string, DriftEntry>;

/** The entry of a Canary, made where there is none. */
export function entryOf(memory: PrimaryDriftMemory, key: string): DriftEntry {
  const entry = memory.get(key) ?? {};
  memory.set(key, entry);
  return entry;
}
