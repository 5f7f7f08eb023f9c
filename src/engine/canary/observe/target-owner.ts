import type { Canary } from '../../../api/canary/canary.ts';
import { describe, type KubernetesObject } from '../../../api/kubernetes.ts';
import { partOfLabel } from '../../../api/metadata.ts';
import { isService } from '../../../release/service-content.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { digestAnnotation, primaryName } from '../../../workload/shared/names.ts';
import { RefusedError } from '../../../workload/shared/refusal.ts';
import { namespacedName } from '../../checks/checks.ts';
import { EngineError, type Failure, failureOf } from '../../failure.ts';
import type { ReadParts } from '../context/context.ts';
import type { Head } from '../context/head.ts';
import type { NamespaceView } from '../context/namespace-view.ts';
import type { SideContext } from './sides.ts';

/** The two workloads of a Canary as they are in the cluster. */
interface LiveWorkloads {
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
}

/** Whose the target is: Git's through Holdfast, or another tool's. */
type TargetOwner = 'holdfast' | 'another';

/** What was heard. */
interface TargetOwnership {
  readonly keeper: TargetOwner;
  /** It is not known yet which config there is. */
  readonly isWaiting?: boolean;
  /** Why what is wanted now could not be read: nothing new is begun, and what is under way and what serves goes on. */
  readonly problem?: Failure;
}

/**
 * Config that is not in Git is put into what Git says. Where no Source speaks for a Canary, its live target does: what that says is put where Git's word would be (design section 2.5), so that
 * everything else is alike. Never throws.
 */
export async function findTargetOwner(
  { heads, liveHeads }: Pick<ReadParts, 'heads' | 'liveHeads'>,
  canary: Canary,
  workloads: LiveWorkloads,
  view: NamespaceView,
): Promise<TargetOwnership> {
  const key = namespacedName(canary);
  const git = heads.inGit(key);
  const keeper = isOwnedByAnother(git, workloads) ? 'another' : 'holdfast';
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
function isOwnedByAnother({ view }: Head, { target, primary }: LiveWorkloads): boolean {
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

// What cannot be rolled out in place, as it is in the cluster (ADR 21).

/** Throws RefusedError for a target that somebody else writes, and for one whose copy still serves. */
export function refuseInPlace({ canary, view }: SideContext, keeper: TargetOwner): void {
  refuseAnother(canary, keeper);
  const { name } = canary.spec.targetRef;
  const copy = view.get(workloadKind(canary), primaryName(canary));
  const owner = copy?.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== canary.kind || owner.name !== canary.metadata.name) return;
  throw refused(
    canary,
    'TargetInvalid',
    `${primaryName(canary)}, which another provider made of ${name}, still serves, and nothing tells which provider that was: name it in spec.provider until the Canary is Ready, then native`,
  );
}

/** Throws RefusedError for a target that somebody else writes. */
export function refuseAnother(canary: Canary, keeper: TargetOwner): void {
  if (keeper !== 'another') return;
  throw refused(
    canary,
    'OwnedByAnother',
    `native writes ${canary.spec.targetRef.name} itself, so a Source must hold it; another tool applies it: let a Source read it, or choose a provider that copies`,
  );
}

function refused(canary: Canary, reason: 'OwnedByAnother' | 'TargetInvalid', message: string): RefusedError {
  return new RefusedError({ reason, object: describe(canary), field: 'spec.provider', message });
}
