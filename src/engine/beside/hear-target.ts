import { partOfLabel } from '../../api/applyset.ts';
import type { Canary } from '../../api/canary.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { isService } from '../../release/service-content.ts';
import { digestAnnotation } from '../../workload/names.ts';
import type { ReadParts } from '../canary/canary-parts.ts';
import { keyOf } from '../canary/checks.ts';
import { EngineError, type Failure, failureOf } from '../failure.ts';
import type { Head } from '../observe/heads.ts';
import type { NamespaceView } from '../observe/namespace-view.ts';

/** The two workloads of a Canary as they are in the cluster. */
export interface LiveWorkloads {
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
}

/** Whose the target is: Git's through Holdfast, or another tool's. */
export type TargetKeeper = 'holdfast' | 'another';

/** What was heard. */
export interface Heard {
  readonly keeper: TargetKeeper;
  /** It is not known yet which config there is. */
  readonly isWaiting?: boolean;
  /** Why what is wanted now could not be read: nothing new is begun, and what is under way and what serves goes on. */
  readonly problem?: Failure;
}

/**
 * Config that is not in Git is put into what Git says. Where no Source speaks for a Canary, its live target does: what that says is put where Git's word would be (design section 2.5), so that
 * everything else is alike. Never throws.
 */
export async function hearTarget(
  { heads, liveHeads }: Pick<ReadParts, 'heads' | 'liveHeads'>,
  canary: Canary,
  workloads: LiveWorkloads,
  view: NamespaceView,
): Promise<Heard> {
  const key = keyOf(canary);
  const git = heads.inGit(key);
  const keeper = isAnothers(git, workloads) ? 'another' : 'holdfast';
  const { target } = workloads;
  const isThere = target !== undefined && target.metadata.deletionTimestamp === undefined;

  function read(): Promise<Head | undefined> | Head {
    if (keeper === 'holdfast') return liveHeads.withLiveConfig(key, git, view);
    return isThere ? liveHeads.read(canary, target, view) : absent(canary);
  }

  try {
    const head = await read();
    const unread = head ? undefined : view.unread('configs');
    if (unread !== undefined) throw new EngineError('WatchFailed', unread, true);
    if (!head) return { keeper, isWaiting: true };
    heads.setLive(key, head === git ? undefined : head);
    return { keeper };
  } catch (error) {
    return { keeper, problem: failureOf(error) };
  }
}

/**
 * No Source holds the target. While one has not been read it might: then only a target that this Canary has been released from before, and
 * that Holdfast never wrote, is known to be another tool's.
 */
function isAnothers({ view }: Head, { target, primary }: LiveWorkloads): boolean {
  if (view.kind === 'release') return false;
  const isUntouched = target !== undefined && digestOf(target) === undefined && !isOfSource(target);
  if (view.kind === 'missing') return isUntouched;
  if (view.reason === 'NoSource') return target === undefined || isUntouched;
  return view.reason === 'SourceNotRead' && isUntouched && digestOf(primary) !== undefined;
}

/** A Service as target is never written by a rollout, but by its Source. */
function isOfSource(target: KubernetesObject): boolean {
  return isService(target) && target.metadata.labels?.[partOfLabel] !== undefined;
}

function digestOf(workload: KubernetesObject | undefined): string | undefined {
  return workload?.metadata.annotations?.[digestAnnotation];
}

function absent({ metadata, spec }: Canary): Head {
  const { kind, name } = spec.targetRef;
  const target = describe({ apiVersion: '', kind, name, namespace: metadata.namespace ?? '' });
  return { view: { kind: 'missing', message: `no Source holds ${target}, the target, and it is not there` } };
}
