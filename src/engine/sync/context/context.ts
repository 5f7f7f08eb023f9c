/** What the stages of a sync hand on. */
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster, WatchedSet } from '../../../contracts/cluster.ts';
import type { Repository } from '../../../contracts/git.ts';
import type { PreviousPlan } from '../../../release/select.ts';
import type { Heads } from '../../canary/context/heads.ts';
import type { SourceParts } from './parts.ts';
import type { SourceState } from './state.ts';

/** One Source: what the loop works with, the Source as the cluster has it now, and what is known about it. */
export interface SourceContext {
  readonly parts: SourceParts;
  readonly source: Source;
  readonly state: SourceState;
}

/** One sync of it. */
export interface SyncContext extends SourceContext {
  readonly watch: SourceWatch;
  /** Aborted when the Source is no longer followed, and after `spec.timeout`. */
  readonly signal: AbortSignal;
}

/** Watched objects of one Source, by kind and namespace. */
export interface AppliedObjects {
  /** The set that an object of this Source is in, once it was listed. */
  setOf(object: KubernetesObject): WatchedSet | undefined;
}

/** Watches of what one Source applied, so that a foreign change is put right and an unchanged object costs nothing. */
export interface SourceWatch extends AppliedObjects {
  /** Watches exactly the kinds and namespaces of these objects, and these places. */
  follow(objects: readonly KubernetesObject[], watched: WatchedPlaces): void;
  /** Everything in the cluster that has the Source's label and is watched. */
  members(): KubernetesObject[];
  /** Why `members` may not be all of them; undefined: they are. */
  notListed(): string | undefined;
  close(): void;
}

/** A kind in one namespace, or without one. */
export interface Place {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string | undefined;
}

/** Where a Source's members are watched, and why that may not be everywhere. */
export interface WatchedPlaces {
  readonly places: readonly Place[];
  readonly notLooked: string | undefined;
}

/** What is asked of a repository to read one commit of it. */
export type CommitReader = Pick<Repository, 'treeOidAt' | 'readFiles' | 'entriesAt'> &
  Partial<Pick<Repository, 'rendering'>>;

/** What reading one commit takes of the context. */
export interface ReadingContext extends Pick<SourceContext, 'source'> {
  readonly parts: ReadingParts;
  readonly state: Pick<SourceState, 'key' | 'rendered'> & {
    readonly repository: CommitReader;
    readonly previous: ReadonlyMap<string, PreviousPlan>;
  };
}

/** What reading one commit takes of the loop. */
export interface ReadingParts
  extends Pick<
    SourceParts,
    'builders' | 'builds' | 'canaries' | 'canary' | 'onRendered' | 'secretKey' | 'tracksConfig'
  > {
  readonly cluster: Pick<Cluster, 'get' | 'kindOf' | 'capabilities'>;
  readonly heads: Pick<Heads, 'sourceOf'>;
}

/** The path of a Source as Git paths are written: without `./` and slashes at the ends. */
export function folderOf(source: Source): string {
  return (source.spec.path ?? '')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
}
