import { partOfLabel } from '../../../api/applyset.ts';
import { describe, type KubernetesObject, referenceOf } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source.ts';
import { approveAnnotation } from '../../../api/verbs.ts';
import { objectKey } from '../../../render/render.ts';
import { versionOf } from '../../canary/canary-parts.ts';
import { failureOf, isStale } from '../../failure.ts';
import { accountOf } from '../act-as.ts';
import { applyWaves } from '../apply-order.ts';
import { applySetId } from '../apply-set.ts';
import { isCanary } from '../canary-names.ts';
import { inParallel } from '../in-parallel.ts';
import type { Snapshot, SourceParts, SourceState } from '../source-parts.ts';
import type { SourceWatch } from '../source-watch.ts';
import { handBackStep, takeHandBackBack } from './hand-back.ts';
import { inventoryFor } from './inventory.ts';
import { writeParent } from './parent.ts';
import { prunedEvent } from './prune-news.ts';
import { type PrunePlan, planPrune } from './prune-plan.ts';
import type { PruneResult } from './prune-result.ts';
import { optedOut } from './prune-rules.ts';

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
  const plan = planPrune({
    source,
    members,
    wanted: snapshot.keys,
    keep: inForce.effective.keep,
    canaries: parts.canaries(),
    isApproved: approval?.split('@')[0] === snapshot.commit.commit,
    holderOf: (key) => parts.claims.holderOf(key, state.key),
  });
  const done = await carryOut(parts, source, plan, signal);
  const told = prunedEvent(done, snapshot.commit.commit);
  if (told) parts.events.emit(source, { type: 'Normal', reason: 'Pruned', message: told });
  const tookBack = await keepReturned(parts, snapshot, members);
  const isPending = done.wrote || tookBack || plan.waiting.length > 0 || plan.handBack.length > 0;
  if (!isPending && done.failures.length === 0)
    await writeParent(parts, source, inventoryFor(source, [...snapshot.all, ...members]));
  return { plan, ...done, unread: undefined, isPending: isPending || done.isStale, approval };
}

/** True when pruning has to be looked at again: it is not over, or a person approved it meanwhile. */
export function isPruneDue({ spec, metadata }: Source, { pruned }: Pick<SourceState, 'pruned'>): boolean {
  if (spec.prune !== true || !pruned) return false;
  const isAsked = pruned.plan.toApprove.length > 0;
  return pruned.isPending || (isAsked && pruned.approval !== metadata.annotations?.[approveAnnotation]);
}

function whyUnread({ snapshot, result }: SourceState, watch: SourceWatch): string | undefined {
  if (snapshot?.isFleeting) return 'nothing is deleted while the commit could not be rendered whole';
  const broken = brokenIn(snapshot);
  if (broken > 0) return `nothing is deleted while ${broken} files or Canaries of the commit are broken`;
  const failures = result?.failures.length ?? 0;
  if (failures > 0) return `nothing is deleted while ${failures} objects of the commit are not applied`;
  return watch.notListed();
}

/** A Canary whose target is in no file was read all the same: it may be on its way out, and is guarded by itself. */
function brokenIn(snapshot: Snapshot | undefined): number {
  const { plans = [], problems = [] } = snapshot ?? {};
  const missing = new Set(plans.flatMap((plan) => (plan.state === 'missing' ? plan.problems : [])));
  return problems.filter((problem) => !missing.has(problem)).length;
}

const undecided = {
  plan: { remove: [], handBack: [], waiting: [], kept: [], toApprove: [], guard: undefined },
  removed: [],
  failures: [],
};

interface Done extends Pick<PruneResult, 'removed' | 'failures'> {
  readonly wrote: boolean;
  /** Something changed while it was looked at. */
  readonly isStale: boolean;
}

async function carryOut(
  parts: SourceParts,
  source: Source,
  { remove, handBack }: PrunePlan,
  signal: AbortSignal,
): Promise<Done> {
  const removed: KubernetesObject[] = [];
  const failures: Array<{ reason: string; message: string }> = [];
  const first = new Set(handBack);
  let wrote = false;
  let isStaleView = false;
  for (const wave of applyWaves([...remove, ...handBack]).reverse()) {
    await inParallel(wave, async (object) => {
      if (signal.aborted) return;
      try {
        const gone = await removeOne(parts, source, { object, handsBack: first.has(object) });
        if (gone.object) removed.push(gone.object);
        wrote ||= gone.wrote;
      } catch (error) {
        if (isStale(error)) isStaleView = true;
        else failures.push(failureFor(object, error));
      }
    });
  }
  signal.throwIfAborted();
  return { removed, failures, wrote, isStale: isStaleView };
}

async function removeOne(
  parts: SourceParts,
  source: Source,
  { object, handsBack }: { object: KubernetesObject; handsBack: boolean },
): Promise<{ object?: KubernetesObject; wrote: boolean }> {
  const live = await readAnew(parts, source, object);
  if (!live) return { wrote: false };
  const cluster = parts.cluster.as(accountOf(source, parts.defaultServiceAccount));
  if (handsBack) return { wrote: await handBackStep(cluster, live) };
  await cluster.delete(referenceOf(live), versionOf(live));
  return { object: live, wrote: true };
}

/** The object as it is now; undefined when it is gone, not ours any more, or somebody said meanwhile that it stays. */
async function readAnew(
  { cluster }: SourceParts,
  source: Source,
  object: KubernetesObject,
): Promise<KubernetesObject | undefined> {
  const live = await cluster.get(referenceOf(object));
  if (!live || live.metadata.uid !== object.metadata.uid || live.metadata.deletionTimestamp) return undefined;
  if (live.metadata.labels?.[partOfLabel] !== applySetId(source)) return undefined;
  return optedOut(live) === undefined ? live : undefined;
}

/** Canaries that are in Git again before they were gone. */
async function keepReturned(
  { cluster }: SourceParts,
  { all }: Snapshot,
  members: readonly KubernetesObject[],
): Promise<boolean> {
  const wanted = new Map(all.filter(isCanary).map((object) => [objectKey(object), object]));
  let wrote = false;
  for (const live of members.filter(isCanary)) {
    const canary = wanted.get(objectKey(live));
    if (canary) wrote = (await takeHandBackBack(cluster, live, canary)) || wrote;
  }
  return wrote;
}

function failureFor(object: KubernetesObject, error: unknown): { reason: string; message: string } {
  const { reason, message } = failureOf(error);
  return { reason, message: `${describe(object)}: ${message}` };
}
