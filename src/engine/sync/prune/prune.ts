import { approveAnnotation, handingBackAnnotation } from '../../../api/annotations.ts';
import {
  describe,
  type KubernetesObject,
  objectKey,
  partOfLabel,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { managedFieldsOf } from '../../../workload/compare/managed-fields.ts';
import { applySetId } from '../../apply-set.ts';
import { finalizer } from '../../canary/perform/finalizer.ts';
import { failureOf, isStale } from '../../failure.ts';
import { applyWaves, inParallel } from '../apply/apply-order.ts';
import { writeParent } from '../apply/members.ts';
import type { SourceWatch } from '../apply/source-watch.ts';
import type { PruneResult, Snapshot, SourceParts, SourceState } from '../context/context.ts';
import { approvalOf, hashOf, idOf, isApproved } from '../poll/approvals.ts';
import { isCanary } from '../scope/canary-objects.ts';
import { inventoryFor } from '../scope/inventory.ts';
import { clusterOf } from '../scope/permissions.ts';
import { type NotPruned, optedOut, type PrunePlan, planPrune } from '../scope/prune-plan.ts';
import { prunedEvent } from '../status/conditions.ts';

interface PruneContext {
  readonly watch: SourceWatch;
  readonly signal: AbortSignal;
}

/**
 * Deletes what left Git, the last applied first, each over exactly the version that was read anew (S17, S19). Only from a snapshot that was
 * read and applied whole (S24): absence is not deletion (S25). Undefined where nothing is to be pruned. Never throws for a single object.
 */
export async function prune(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { watch, signal }: PruneContext,
): Promise<PruneResult | undefined> {
  const { snapshot, inForce } = state;
  if (source.spec.prune !== true || !snapshot || !inForce) return undefined;
  const approval = source.metadata.annotations?.[approveAnnotation];
  const unread = whyUnread(state, watch);
  if (unread !== undefined)
    return { ...undecided, unread, approval, isPending: watch.notListed() !== undefined };
  const members = watch.members();
  const decided = planPrune({
    source,
    rights: parts.rights,
    members,
    wanted: snapshot.keys,
    keep: inForce.effective.keep,
    canaries: parts.canaries(),
    isApproved: (asked, going) => isPruneApproved(source, state, { asked, going, snapshot }),
    holderOf: (key) => parts.claims.holderOf(key, state.key),
  });
  const { copies, ...done } = await carryOut(parts, source, decided, signal);
  const plan = { ...decided, kept: [...decided.kept, ...copies] };
  followApproval(source, state, { plan, removed: done.removed });
  const event = prunedEvent(done, snapshot.commit.commit);
  if (event) parts.events.emit(source, { type: 'Normal', reason: 'Pruned', message: event });
  const tookBack = await keepReturned(clusterOf(parts, source), snapshot, members);
  const isPending = done.wrote || tookBack || plan.waiting.length > 0 || plan.handBack.length > 0;
  if (!isPending && done.failures.length === 0)
    await writeParent(parts, source, inventoryFor(source, [...snapshot.all, ...members]));
  return { plan, ...done, unread: undefined, isPending: isPending || done.isDueAgain, approval };
}

interface Going {
  readonly asked: readonly KubernetesObject[];
  readonly going: readonly KubernetesObject[];
  readonly snapshot: Snapshot;
}

/** An approval opens what it names, and what is left of it later. */
function isPruneApproved(source: Source, state: SourceState, { asked, going, snapshot }: Going): boolean {
  const isRest =
    approvalOf(source, state)?.verb === 'prune' &&
    asked.every((object) => state.approvedObjects?.has(idOf(object)));
  const { commit } = snapshot.commit;
  const hashes = [hashOf(asked), hashOf(going)];
  if (!isRest && !isApproved(source, state, { verb: 'prune', hashes, commit })) return false;
  state.approvedObjects = new Set(going.map(idOf));
  return true;
}

/** After a restart the approval counts for what is left, and for nothing else. */
function followApproval(
  source: Source,
  state: SourceState,
  { plan, removed }: { plan: PrunePlan; removed: readonly KubernetesObject[] },
): void {
  const approval = approvalOf(source, state);
  if (approval?.verb !== 'prune' || plan.toApprove.length > 0) return;
  const gone = new Set(removed.map(idOf));
  const left = [...plan.remove, ...plan.handBack, ...plan.waiting.map(({ object }) => object)].filter(
    (object) => !object.metadata.deletionTimestamp && !gone.has(idOf(object)),
  );
  state.approval = { ...approval, hash: hashOf(left) };
}

/** True when pruning has to be looked at again: it is not over, or a person approved it meanwhile. */
export function isPruneDue({ spec, metadata }: Source, { pruned }: Pick<SourceState, 'pruned'>): boolean {
  if (spec.prune !== true || !pruned) return false;
  const isAsked = pruned.plan.toApprove.length > 0;
  return pruned.isPending || (isAsked && pruned.approval !== metadata.annotations?.[approveAnnotation]);
}

function whyUnread({ snapshot, result }: SourceState, watch: SourceWatch): string | undefined {
  if (snapshot?.isFleeting) return 'nothing is deleted while the commit could not be rendered whole';
  const { plans = [], problems = [], unknownKinds: [unknown] = [] } = snapshot ?? {};
  if (unknown)
    return `nothing is deleted while the cluster serves no ${unknown.kind} of ${unknown.apiVersion}`;
  // A Canary whose target is in no file was read all the same: it may be on its way out, and is guarded by itself.
  const missing = new Set(plans.flatMap((plan) => (plan.state === 'missing' ? plan.problems : [])));
  const broken = problems.filter((problem) => !missing.has(problem)).length;
  if (broken > 0) return `nothing is deleted while ${broken} files or Canaries of the commit are broken`;
  const failures = result?.failures.length ?? 0;
  if (failures > 0) return `nothing is deleted while ${failures} objects of the commit are not applied`;
  return watch.notListed();
}

const undecided = {
  plan: { remove: [], handBack: [], waiting: [], kept: [], toApprove: [], guard: undefined },
  removed: [],
  failures: [],
};

interface Done extends Pick<PruneResult, 'removed' | 'failures'> {
  /** They have the label and were not written by us. */
  readonly copies: readonly NotPruned[];
  readonly wrote: boolean;
  /** Something changed while it was looked at, or it is not known what came of a deletion. */
  readonly isDueAgain: boolean;
}

async function carryOut(
  parts: SourceParts,
  source: Source,
  { remove, handBack }: PrunePlan,
  signal: AbortSignal,
): Promise<Done> {
  const removed: KubernetesObject[] = [];
  const failures: Array<{ reason: string; message: string }> = [];
  const copies: NotPruned[] = [];
  const first = new Set(handBack);
  let wrote = false;
  let isDueAgain = false;
  for (const wave of applyWaves([...remove, ...handBack]).reverse()) {
    await inParallel(wave, async (object) => {
      if (signal.aborted) return;
      try {
        const gone = await removeOne(parts, source, { object, handsBack: first.has(object) });
        removed.push(...gone.removed);
        copies.push(...gone.copies);
        wrote ||= gone.wrote;
      } catch (error) {
        const { reason, message, transient } = failureOf(error);
        isDueAgain ||= transient;
        if (!isStale(error)) failures.push({ reason, message: `${describe(object)}: ${message}` });
      }
    });
  }
  signal.throwIfAborted();
  return { removed, failures, copies, wrote, isDueAgain };
}

type Gone = Pick<Done, 'removed' | 'copies' | 'wrote'>;

const untouched: Gone = { removed: [], copies: [], wrote: false };

async function removeOne(
  parts: SourceParts,
  source: Source,
  { object, handsBack }: { object: KubernetesObject; handsBack: boolean },
): Promise<Gone> {
  const live = await readAnew(clusterOf(parts, source), source, object);
  if (!live) return untouched;
  if (!isWrittenByUs(live))
    return { ...untouched, copies: [{ object, why: 'Holdfast did not write it, its label was copied' }] };
  const cluster = clusterOf(parts, source);
  if (handsBack) return { ...untouched, wrote: await handBackStep(cluster, live) };
  await cluster.delete(referenceOf(live), versionOf(live));
  return { ...untouched, removed: [live], wrote: true };
}

/** The object as it is now; undefined when it is gone, not ours any more, or somebody said meanwhile that it stays. */
async function readAnew(
  cluster: Pick<Cluster, 'get'>,
  source: Source,
  object: KubernetesObject,
): Promise<KubernetesObject | undefined> {
  const live = await cluster.get(referenceOf(object));
  if (!live || live.metadata.uid !== object.metadata.uid || live.metadata.deletionTimestamp) return undefined;
  if (live.metadata.labels?.[partOfLabel] !== applySetId(source)) return undefined;
  return optedOut(live) === undefined ? live : undefined;
}

/** Who makes an object of another one's manifest, as people and backups do, copies its labels with it. */
function isWrittenByUs(live: KubernetesObject): boolean {
  return (managedFieldsOf(live) ?? []).some(({ manager }) => manager?.startsWith('holdfast'));
}

/** Canaries that are in Git again before they were gone. */
async function keepReturned(
  cluster: Writer,
  { all }: Snapshot,
  members: readonly KubernetesObject[],
): Promise<boolean> {
  const wanted = new Map(all.filter(isCanary).map((object) => [objectKey(object), object]));
  let wrote = false;
  for (const live of members.filter(isCanary)) {
    const canary = wanted.get(objectKey(live));
    if (canary) wrote = (await cancelHandBack(cluster, live, canary)) || wrote;
  }
  return wrote;
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
    await cluster.patch(referenceOf(live), { metadata, spec: { revertOnDeletion: true } });
    return true;
  }
  if (!live.metadata.finalizers?.includes(finalizer)) return false;
  await cluster.delete(referenceOf(live), versionOf(live));
  return true;
}

/** A Canary that came back to Git before it was deleted stays, and does no more than its manifest says. True when it was written. */
async function cancelHandBack(
  cluster: Writer,
  live: KubernetesObject,
  wanted: KubernetesObject,
): Promise<boolean> {
  if (live.metadata.annotations?.[handingBackAnnotation] === undefined || live.metadata.deletionTimestamp)
    return false;
  const metadata = { ...versionOf(live), annotations: { [handingBackAnnotation]: null } };
  const spec = asksForHandBack(wanted) ? {} : { spec: { revertOnDeletion: null } };
  await cluster.patch(referenceOf(live), { metadata, ...spec });
  return true;
}

function asksForHandBack({ spec }: KubernetesObject): boolean {
  return (spec as { revertOnDeletion?: unknown } | undefined)?.revertOnDeletion === true;
}
