import { approveAnnotation } from '../../../api/annotations.ts';
import { describe, type KubernetesObject, namespacedName, objectKey } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { listed } from '../../status-patch.ts';
import { writeParent } from '../apply/members.ts';
import type {
  PruneResult,
  Snapshot,
  SourceContext,
  SourceState,
  SourceWatch,
  SyncContext,
} from '../context/context.ts';
import { approvalOf, hashOf, idOf, isApproved } from '../poll/approvals.ts';
import { otherBehind } from '../read/read.ts';
import { type Inventory, inventoryFor, inventoryOf, joined, mayHold } from '../scope/inventory.ts';
import { mayWrite, whyNotAllowed } from '../scope/permissions.ts';
import { nothingToDo, type PrunePlan, planPrune } from '../scope/prune-plan.ts';
import { carryOut, isCopy } from './remove.ts';

/**
 * Deletes what left Git, the last applied first, each over exactly the version that was read anew (S17, S19). Only from a snapshot that was
 * read and applied whole (S24): absence is not deletion (S25). Undefined where nothing is to be pruned. Never throws for a single object.
 */
export async function prune(context: SyncContext): Promise<PruneResult | undefined> {
  const { parts, source, state, watch } = context;
  const { snapshot, inForce } = state;
  if (source.spec.prune !== true || !snapshot || !inForce) return undefined;
  const approval = source.metadata.annotations?.[approveAnnotation];
  const unread = whyUnread(state, watch);
  if (unread !== undefined)
    return { ...undecided, unread, approval, isPending: watch.notListed() !== undefined };
  const members = watch.members();
  const holders = await holdersOf(context, members);
  const plan = planPrune({
    source,
    rights: parts.rights,
    members,
    wanted: snapshot.keys,
    keep: inForce.effective.keep,
    canaries: parts.canaries(),
    isApproved: (asked, going) =>
      isPruneApproved(source, state, { asked, going, commit: snapshot.commit.commit }),
    isCopy,
    holderOf: (key) => holders.known.get(key),
    unknownHolderOf: (key) => holders.unknown.get(key),
  });
  const behind =
    plan.remove.length + plan.handBack.length > 0 ? otherBehind(context, state.head?.commit) : undefined;
  if (behind) {
    const unread = `nothing is deleted before Source ${behind}, of the same repository, has read this commit whole (suspend it if it cannot)`;
    return { ...undecided, unread, approval, isPending: true, waitsFor: behind };
  }
  const done = await carryOut(context, plan, { all: snapshot.all, members });
  followApproval(source, state, { plan, removed: done.removed });
  if (done.removed.length > 0) {
    const names = listed(done.removed.map(describe));
    const message = `no longer in Git at ${snapshot.commit.commit.slice(0, 7)}, deleted: ${names}`;
    parts.events.emit(source, { type: 'Normal', reason: 'Pruned', message });
  }
  const isPending = done.wrote || plan.waiting.length > 0 || plan.handBack.length > 0;
  if (!isPending && done.failures.length === 0)
    await writeParent(parts, source, inventoryLeft(source, watch, [...snapshot.all, ...members]));
  const pending = isPending || done.isDueAgain;
  const [waitsFor] = holders.unknown.values();
  const held = { isHeld: holders.known.size > 0, ...(waitsFor === undefined ? {} : { waitsFor }) };
  return { plan, ...done, unread: undefined, isPending: pending, ...held, approval };
}

/** By `objectKey`, another Source that holds a member, and one that may hold it and was not read since the start. */
interface Holders {
  readonly known: ReadonlyMap<string, string>;
  readonly unknown: ReadonlyMap<string, string>;
}

/**
 * Who names an object that it may read and not write holds nothing: its apply is refused for many reasons besides the missing right, and the API server is
 * asked for that where it matters. What a Source held before the start its annotations tell by kinds and namespaces.
 */
async function holdersOf(
  { parts, state }: SourceContext,
  members: readonly KubernetesObject[],
): Promise<Holders> {
  const holders = { known: new Map<string, string>(), unknown: new Map<string, string>() };
  const sources = new Map(parts.sources().map((one) => [namespacedName(one), one as Source]));
  const unread = [...sources].filter(([key]) => key !== state.key && parts.claims.isUnknown(key));
  for (const object of members) {
    const key = objectKey(object);
    if (state.snapshot?.keys.has(key)) continue;
    // Unknown is held: absence is not deletion.
    const isWriter = (other: Source | undefined) =>
      !other || mayWrite(parts, other, object).catch(() => true);
    for (const holder of parts.claims.holdersOf(key, state.key))
      if (await isWriter(sources.get(holder))) holders.known.set(key, holder);
    for (const [holder, other] of unread) {
      const isAllowed = mayHold(other, object) && whyNotAllowed(other, object, parts.rights) === undefined;
      if (isAllowed && (await isWriter(other))) holders.unknown.set(key, holder);
    }
  }
  return holders;
}

/** Where members are; and where they were of kinds that nobody looked at, since the cluster does not serve them now. */
function inventoryLeft(
  source: Source,
  watch: Pick<SourceWatch, 'kinds'>,
  objects: readonly KubernetesObject[],
): Inventory {
  const found = inventoryFor(source, objects);
  const { groupKinds, namespaces } = inventoryOf(source);
  const unseen = [...groupKinds].filter((groupKind) => !watch.kinds().has(groupKind));
  return unseen.length === 0 ? found : joined(found, { groupKinds: new Set(unseen), namespaces });
}

interface Going {
  readonly asked: readonly KubernetesObject[];
  readonly going: readonly KubernetesObject[];
  readonly commit: string;
}

/** An approval opens what it names, and what is left of it later. */
function isPruneApproved(source: Source, state: SourceState, { asked, going, commit }: Going): boolean {
  const isRest =
    approvalOf(source, state)?.verb === 'prune' &&
    asked.every((object) => state.approvedObjects?.has(idOf(object)));
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

/**
 * True when pruning has to be looked at again: it is not over, was refused, a person approved it meanwhile, or another Source, which says nothing when
 * it lets go, holds something.
 */
export function isPruneDue({ spec, metadata }: Source, { pruned }: Pick<SourceState, 'pruned'>): boolean {
  if (spec.prune !== true || !pruned) return false;
  if (pruned.isPending || pruned.isHeld || pruned.failures.length > 0) return true;
  return pruned.plan.toApprove.length > 0 && pruned.approval !== metadata.annotations?.[approveAnnotation];
}

function whyUnread({ snapshot, result }: SourceState, watch: SourceWatch): string | undefined {
  if (snapshot?.isFleeting) return 'nothing is deleted while the commit could not be rendered whole';
  const { unknownKinds: [unknown] = [] } = snapshot ?? {};
  if (unknown)
    return `nothing is deleted while the cluster serves no ${unknown.kind} of ${unknown.apiVersion}`;
  const broken = snapshot ? brokenIn(snapshot) : 0;
  if (broken > 0) return `nothing is deleted while ${broken} files or Canaries of the commit are broken`;
  const failures = result?.failures.length ?? 0;
  if (failures > 0) return `nothing is deleted while ${failures} objects of the commit are not applied`;
  return watch.notListed();
}

/**
 * Files and Canaries of the commit that could not be read. A Canary whose target is in no file was read all the same: it may be on its way
 * out, and is guarded by itself.
 */
function brokenIn({ plans, problems }: Snapshot): number {
  const missing = new Set(plans.flatMap((plan) => (plan.state === 'missing' ? plan.problems : [])));
  return problems.filter((problem) => !missing.has(problem)).length;
}

const undecided = { plan: nothingToDo, removed: [], failures: [], changed: [] };
