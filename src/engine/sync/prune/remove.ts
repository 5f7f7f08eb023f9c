/** Deleting what a plan says, each object over exactly the version that was read anew. */

import { handingBackAnnotation } from '../../../api/annotations.ts';
import { finalizer } from '../../../api/flagger.ts';
import {
  describe,
  type KubernetesObject,
  objectKey,
  partOfLabel,
  recordOf,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { isOfHoldfast, managedFieldsOf } from '../../../workload/compare/managed-fields.ts';
import { applySetId } from '../../apply-set.ts';
import { failureOf, isStale, notKept } from '../../failure.ts';
import { applyWaves, inParallel } from '../apply/apply-order.ts';
import type { PruneResult, SyncContext } from '../context/context.ts';
import { isCanary } from '../scope/canary-objects.ts';
import { clusterOf } from '../scope/permissions.ts';
import { type NotPruned, optedOut, type PrunePlan } from '../scope/prune-plan.ts';

/** What came of it. */
interface Done extends Pick<PruneResult, 'removed' | 'failures' | 'changed'> {
  readonly wrote: boolean;
  /** Something changed while it was looked at, or it is not known what came of a deletion. */
  readonly isDueAgain: boolean;
}

/**
 * Deletes the objects of a plan, the last applied first, and keeps the Canaries among the members that are in Git (`all`) again before they
 * were gone; one that fails stops no other.
 */
export async function carryOut(
  context: SyncContext,
  { remove, handBack }: PrunePlan,
  { all, members }: Readonly<Record<'all' | 'members', readonly KubernetesObject[]>>,
): Promise<Done> {
  const { parts, source, signal } = context;
  const removed: KubernetesObject[] = [];
  const failures: Array<{ reason: string; message: string }> = [];
  const changed: NotPruned[] = [];
  const first = new Set(handBack);
  let wrote = false;
  let isDueAgain = false;
  const attempt = async (object: KubernetesObject, work: () => Promise<Gone>) => {
    if (signal.aborted) return;
    try {
      const gone = await work();
      removed.push(...gone.removed);
      wrote ||= gone.wrote;
    } catch (error) {
      const { reason, message, transient } = failureOf(error);
      isDueAgain ||= transient;
      if (isStale(error)) changed.push({ object, why: message });
      else failures.push({ reason, message: `${describe(object)}: ${message}` });
    }
  };
  for (const wave of applyWaves([...remove, ...handBack]).reverse())
    await inParallel(wave, (object) => attempt(object, () => removeOne(context, object, first.has(object))));
  const wanted = new Map(all.filter(isCanary).map((object) => [objectKey(object), object]));
  for (const live of members.filter(isCanary)) {
    const canary = wanted.get(objectKey(live));
    if (canary) await attempt(live, () => cancelHandBack(clusterOf(parts, source), live, canary));
  }
  signal.throwIfAborted();
  // By their objects, whatever was answered first: what is the same at each look is reported once.
  failures.sort((left, right) => (left.message < right.message ? -1 : 1));
  changed.sort((left, right) => (describe(left.object) < describe(right.object) ? -1 : 1));
  return { removed, failures, changed, wrote, isDueAgain };
}

type Gone = Pick<Done, 'removed' | 'wrote'>;

const untouched: Gone = { removed: [], wrote: false };

async function removeOne(
  { parts, source }: SyncContext,
  object: KubernetesObject,
  handsBack: boolean,
): Promise<Gone> {
  const cluster = clusterOf(parts, source);
  const live = await readAnew(cluster, applySetId(source), object);
  if (!live) return untouched;
  // One that never began, as for want of a kind that it needs, has nothing to hand back, and nobody would set its finalizer.
  const hasBegun = Boolean(recordOf(live.status).phase);
  if (handsBack && hasBegun) return { ...untouched, wrote: await handBackStep(cluster, live) };
  await cluster.delete(referenceOf(live), versionOf(live));
  parts.applied.forget(live);
  return { ...untouched, removed: [live], wrote: true };
}

/** The object as it is now; undefined when it is gone, or is to stay now: it is not ours any more, or was marked. */
async function readAnew(
  cluster: Pick<Cluster, 'get'>,
  applySet: string,
  object: KubernetesObject,
): Promise<KubernetesObject | undefined> {
  const live = await cluster.get(referenceOf(object));
  if (!live || live.metadata.uid !== object.metadata.uid || live.metadata.deletionTimestamp) return undefined;
  if (live.metadata.labels?.[partOfLabel] !== applySet) return undefined;
  return optedOut(live) === undefined && !isCopy(live) ? live : undefined;
}

/** Who makes an object of another one's manifest, as people and backups do, copies its labels with it. */
export function isCopy(object: KubernetesObject): boolean {
  return !managedFieldsOf(object).some(isOfHoldfast);
}

// A Canary that left Git while its target stays: the target takes the traffic back before the Canary goes (design section 5).

type Writer = Pick<Cluster, 'patch' | 'delete'>;

/**
 * One step: asks for the hand-back as `spec.revertOnDeletion` does, waits for the finalizer that holds the Canary until then, and deletes it.
 * True when something was written. Every step is read back from the Canary itself, so that a restart goes on where it was.
 */
async function handBackStep(cluster: Writer, live: KubernetesObject): Promise<boolean> {
  if (!asksForHandBack(live)) {
    const metadata = { ...versionOf(live), annotations: { [handingBackAnnotation]: 'true' } };
    const stored = await cluster.patch(referenceOf(live), { metadata, spec: { revertOnDeletion: true } });
    if (asksForHandBack(stored)) return true;
    throw notKept('spec.revertOnDeletion is gone');
  }
  if (!live.metadata.finalizers?.includes(finalizer)) return false;
  await cluster.delete(referenceOf(live), versionOf(live));
  return true;
}

/** A Canary that came back to Git before it was deleted stays, and does no more than its manifest says. */
async function cancelHandBack(
  cluster: Writer,
  live: KubernetesObject,
  wanted: KubernetesObject,
): Promise<Gone> {
  if (live.metadata.annotations?.[handingBackAnnotation] === undefined || live.metadata.deletionTimestamp)
    return untouched;
  const metadata = { ...versionOf(live), annotations: { [handingBackAnnotation]: null } };
  const spec = asksForHandBack(wanted) ? {} : { spec: { revertOnDeletion: null } };
  await cluster.patch(referenceOf(live), { metadata, ...spec });
  return { ...untouched, wrote: true };
}

function asksForHandBack({ spec }: KubernetesObject): boolean {
  return (spec as { revertOnDeletion?: unknown } | undefined)?.revertOnDeletion === true;
}
