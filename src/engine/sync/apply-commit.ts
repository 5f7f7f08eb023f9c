/** Applying the snapshot of a Source: everything of no Canary first, then each Canary gets its release (design section 2.2). */

import type { CanaryStatus } from '../../api/canary/status.ts';
import { type KubernetesObject, keyOf, namespacedName } from '../../api/kubernetes.ts';
import { isReverted } from '../canary/context/reproduction.ts';
import { applyAll } from './apply/apply.ts';
import { isOtherInForce, readInForce } from './apply/in-force.ts';
import { inventoryWith, writeParent } from './apply/members.ts';
import { handOverHeld } from './apply/other-owners.ts';
import { followHeld } from './apply/source-watch.ts';
import type { ApplyFailure, ApplyResult, Snapshot, SourceContext, SyncContext } from './context/context.ts';
import { isPruneDue, prune } from './prune/prune.ts';
import { withLedger } from './read/older-commit.ts';
import { claimedKeys, withOwnCanaries } from './read/own-canaries.ts';
import { headsOf, type SnapshotHeads, settledHeads } from './read/source-heads.ts';
import { objectsOfCanary, targetOf } from './scope/canary-objects.ts';
import { whyNotAllowed } from './scope/permissions.ts';
import { reportOtherWriters } from './status/conditions.ts';

/** Something is to be applied again although Git has no news. */
export function isDue(context: SourceContext): boolean {
  const { source, state } = context;
  const isApplied = state.result?.failures.length === 0;
  return !isApplied || state.dirty || isPruneDue(source, state) || isOtherInForce(context);
}

/** Applies the snapshot in the state. What kept it from its end is thrown, and the next poll applies again, though Git has no news then. */
export async function applyCommit(context: SyncContext): Promise<void> {
  try {
    await applyWhole(context);
  } catch (error) {
    context.state.dirty = true;
    throw error;
  }
}

async function applyWhole(context: SyncContext): Promise<void> {
  const { parts, source, state } = context;
  const { snapshot: whole } = state;
  if (!whole) return;
  state.dirty = false;
  claim(context, whole, state.result);
  await parts.bindings.ensure(source);
  const { snapshot, refused } = await withOwnCanaries(context, whole);
  state.canaries = new Set(snapshot.plans.map(({ canary }) => keyOf(canary)));
  const built = headsOf(context, snapshot);
  const deleted = withholdDeleted(context, snapshot);
  const digests = new Map(
    [...built.heads].flatMap(([key, { release }]) => (release ? [[key, release.digest] as const] : [])),
  );
  const result =
    source.spec.apply === false
      ? { applied: 0, changed: 0, failures: [], drift: [], taken: [] }
      : await applyRest(context, snapshot, digests);
  const failures = [...result.failures, ...refused];
  state.result = { ...result, commit: snapshot.commit.commit, failures };
  const known = new Set(snapshot.problems.map(({ message }) => message));
  const added = built.problems.filter(({ message }) => !known.has(message));
  state.snapshot = { ...whole, problems: [...whole.problems, ...added] };
  await publishHeads(context, snapshot, { heads: built.heads, deleted }, failures);
  state.pruned = await prune(context);
}

/**
 * Says what the Source holds, before anything can be refused to it and before anything is pruned elsewhere: what only moved here stays. Where another
 * tool applies, it holds nothing. Of a Source that was deleted meanwhile nothing is said.
 */
function claim(
  { parts, source, state, signal }: SyncContext,
  snapshot: Snapshot,
  known: ApplyResult | undefined,
): ReadonlySet<string> {
  signal.throwIfAborted();
  const held = source.spec.apply === false ? new Set<string>() : claimedKeys(parts, source, snapshot, known);
  parts.claims.publish(state.key, held);
  return held;
}

/**
 * Keys of Canaries with a ledger that were deleted, and that this Source makes anew. What was said of the ones before is withheld: they start from
 * the ledger, as in a new cluster, and not from a head that was being tried.
 */
function withholdDeleted({ parts, state, watch }: SyncContext, { plans }: Snapshot): Set<string> {
  const deleted = plans.flatMap((plan) => {
    const object = plan.state === 'release' ? plan.object : undefined;
    const set = object && watch.setOf(object);
    const isGone = set && !set.get(object.metadata.namespace, object.metadata.name);
    return isGone ? [keyOf(plan.canary)] : [];
  });
  const keys = deleted.filter((key) => state.ledger?.commits.has(key));
  for (const key of keys) parts.heads.withhold(state.key, key);
  return new Set(keys);
}

/** Applies what belongs to no Canary; `digests`: those at head. */
async function applyRest(
  context: SyncContext,
  snapshot: Snapshot,
  digests: ReadonlyMap<string, string>,
): Promise<ApplyResult> {
  const { parts, source, state } = context;
  state.inForce = await readInForce(context, snapshot, digests);
  const applied = { ...snapshot, rest: state.inForce.effective.rest };
  const isAllowed = (object: KubernetesObject) => whyNotAllowed(source, object, parts.rights) === undefined;
  const inventory = inventoryWith(source, snapshot.all.filter(isAllowed));
  await writeParent(parts, source, inventory);
  const follow = async (known: ApplyResult | undefined) => {
    await followHeld(context, applied, inventory, claim(context, snapshot, known));
  };
  await follow(state.result);
  const result = await applyAll(context, applied.rest);
  await follow(result);
  if (result.changed > 0 || state.appliedMs === undefined) state.appliedMs = parts.clock.nowMs();
  await handOverHeld(context, applied);
  reportOtherWriters(context, result);
  return result;
}

/** Gives each Canary its head once everything else was applied, and wakes those that may have to do something. Throws Git's errors. */
async function publishHeads(
  context: SyncContext,
  snapshot: Snapshot,
  { heads: built, deleted }: Pick<SnapshotHeads, 'heads'> & { readonly deleted: ReadonlySet<string> },
  failures: readonly ApplyFailure[],
): Promise<void> {
  const { parts, state, signal } = context;
  const settled = settledHeads(state, snapshot, built, failures);
  const heads = await withLedger(context, settled, snapshot.commit.commit, deleted);
  // A Source that was deleted meanwhile is forgotten already, and would speak for its Canaries until the next start.
  signal.throwIfAborted();
  const changed = parts.heads.publish(state.key, heads);
  // A Canary that was reverted reports what else of the bad commit stays, which any commit may change.
  const reverted = parts
    .canaries()
    .filter(({ status }) => isReverted((status ?? {}) as CanaryStatus))
    .map(namespacedName)
    .filter((key) => heads.has(key));
  for (const key of new Set([...changed, ...reverted])) parts.wakeCanary(key);
  rereadOthers(context, snapshot, changed);
}

/**
 * A workload moved between Sources: the other one is read again for a Canary that this one let go of, or whose target is missing there and is here. What
 * this one may not write makes no other Source work.
 */
function rereadOthers(
  { parts, source, state }: SyncContext,
  { keys }: Snapshot,
  changed: readonly string[],
): void {
  const news = new Set(changed);
  for (const canary of parts.canaries()) {
    const key = namespacedName(canary);
    const isHere = keys.has(objectsOfCanary(canary).target ?? '');
    if (!isHere && !news.has(key)) continue;
    const holder = parts.heads.sourceOf(key);
    const isMissing = holder !== state.key && parts.heads.inGit(key).view.kind === 'missing';
    const isMoved = isMissing && whyNotAllowed(source, targetOf(canary), parts.rights) === undefined;
    if (isHere ? isMoved : holder === undefined) parts.rereadFor(canary);
  }
}
