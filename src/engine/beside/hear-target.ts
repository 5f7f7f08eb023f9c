import { partOfLabel } from '../../api/applyset.ts';
import type { Canary } from '../../api/canary.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { isService } from '../../release/service-content.ts';
import { digestAnnotation } from '../../workload/names.ts';
import type { ReadParts } from '../canary/canary-parts.ts';
import { keyOf } from '../canary/checks.ts';
import type { Head } from '../observe/heads.ts';
import type { NamespaceView } from '../observe/namespace-view.ts';

/** The two workloads of a Canary as they are in the cluster. */
export interface LiveWorkloads {
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
}

/** Whose the target is: Git's through Holdfast, or another tool's. `waiting`: it is, but cannot be read yet. */
export type TargetKeeper = 'holdfast' | 'another' | 'waiting';

/**
 * Config that is not in Git is put into what Git says. Where no Source speaks for a Canary, its live target does: what that says is put where Git's word would be (design section 2.5), so that
 * everything else is alike.
 */
export async function hearTarget(
  { heads, liveHeads }: Pick<ReadParts, 'heads' | 'liveHeads'>,
  canary: Canary,
  workloads: LiveWorkloads,
  view: NamespaceView,
): Promise<TargetKeeper> {
  const key = keyOf(canary);
  const git = heads.inGit(key);
  if (!isAnothers(git, workloads)) {
    const head = await liveHeads.withLiveConfig(key, git, view);
    if (!head) return 'waiting';
    heads.setLive(key, head === git ? undefined : head);
    return 'holdfast';
  }
  const { target } = workloads;
  const isThere = target !== undefined && target.metadata.deletionTimestamp === undefined;
  const head = isThere ? await liveHeads.read(canary, target, view) : absent(canary);
  if (!head) return 'waiting';
  heads.setLive(key, head);
  return 'another';
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
