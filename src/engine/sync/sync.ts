import type { CanaryStatus } from '../../api/canary/status.ts';
import { canaryKey, type KubernetesObject, namespacedName, objectKey } from '../../api/kubernetes.ts';
import type { CommitInfo } from '../../api/observed.ts';
import { type Source, sourceTimeoutMs } from '../../api/source/source.ts';
import type { Head } from '../canary/context/head.ts';
import { isReverted } from '../canary/context/reproduction.ts';
import { codeOf, failureOf } from '../failure.ts';
import { applySnapshot } from './apply/apply.ts';
import { handOverHeld } from './apply/apply-object.ts';
import { isOtherInForce, readInForce } from './apply/in-force.ts';
import { inventoryWith, watchedPlaces, writeParent } from './apply/members.ts';
import type { SourceWatch } from './apply/source-watch.ts';
import {
  type ApplyResult,
  folderOf,
  type Snapshot,
  type SourceParts,
  type SourceState,
  type SyncProblem,
} from './context/context.ts';
import { wasApplied, whyNotAdmitted } from './poll/dependencies.ts';
import { historyRewritten, needsApproval, type Rewritten } from './poll/rewritten-history.ts';
import { commitsInUse } from './poll/store.ts';
import { isPruneDue, prune } from './prune/prune.ts';
import { claimedKeys, withOwnCanaries } from './read/own-canaries.ts';
import { isOutsideUnchanged, readSnapshot, servesNewKinds, whileNewKinds } from './read/read.ts';
import { infoOf, readLedger, withLedger } from './read/source-git.ts';
import { digestsOf, headsOf, settledHeads } from './read/source-heads.ts';
import type { Inventory } from './scope/inventory.ts';
import { whyNotAllowed } from './scope/permissions.ts';
import { reportOtherWriters } from './status/conditions.ts';
import { sourceHealth } from './status/health.ts';
import { requestsOf } from './status/requests.ts';
import { writeSourceStatus } from './status/status.ts';

/**
 * One sync: poll, and when there is news read, apply what belongs to no Canary, and hand each Canary its release. Without news it makes no
 * request but the poll. Throws after having written the status, so that the poller backs off.
 */
export async function syncSource(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { watch, signal }: { watch: SourceWatch; signal: AbortSignal },
): Promise<void> {
  const requests = requestsOf(source);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(sourceTimeoutMs(source))]);
  const failure = await attempt(() => update(parts, source, state, { watch, signal: limited }));
  if (signal.aborted) return;
  state.requests = requests;
  if (failure) state.problem = problemOf(failure.error, limited, source);
  state.health = sourceHealth(source, state, watch, parts.clock.nowMs());
  await writeSourceStatus(parts, source, state);
  const retry =
    failure ?? (state.result?.failures.some(({ transient }) => transient) ? { error: transient } : undefined);
  if (retry) throw retry.error;
}

const transient = new Error('some objects could not be applied yet');

interface SyncContext {
  readonly watch: SourceWatch;
  readonly signal: AbortSignal;
}

async function update(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  context: SyncContext,
): Promise<void> {
  const chosen = await commitToApply(parts, source, state, context.signal).catch(async (error: unknown) => {
    // What is applied is kept in order, also while Git cannot be reached.
    if (state.snapshot && isDue(parts, source, state)) await apply(parts, source, state, context);
    throw error;
  });
  const commit = admitted(parts, source, state, chosen);
  if (!commit) {
    if (chosen.refused) throw chosen.refused.error;
    return;
  }
  const readUnder = `${source.metadata.generation ?? 0}`;
  const hasNewKinds = async () =>
    state.snapshot !== undefined && (await servesNewKinds(parts.cluster, state.snapshot));
  const hasNews = !commit.isKnown || state.readUnder !== readUnder || (await hasNewKinds());
  let isReadable = true;
  const readAndApply = async (isNew: boolean) => {
    if (isNew) {
      await readLedger(parts, source, state, context.signal);
      const isSameSpec = state.readUnder === readUnder;
      // Before it is read: whoever asks for another reading meanwhile takes it away.
      state.readUnder = readUnder;
      const failure = await attempt(() =>
        read(parts, source, state, { commit: commit.info, isSameSpec, signal: context.signal }),
      );
      if (failure) {
        delete state.readUnder;
        isReadable = false;
        return reportUnreadable(state, commit, failure.error);
      }
    }
    if (state.snapshot?.isFleeting) delete state.readUnder;
    const isApplied = state.snapshot && state.result?.failures.length === 0;
    if (isNew || !isApplied || isDue(parts, source, state)) await apply(parts, source, state, context);
  };
  // Where the commit brought CustomResourceDefinitions of its own: where their objects belong is known then.
  await whileNewKinds(hasNews, readAndApply, async () => isReadable && (await hasNewKinds()));
  if (isReadable && commit.refused) throw commit.refused.error;
}

/** Throws the most important reason why nothing can be applied; a rewritten history that waits is reported instead where the older commit is gone. */
function reportUnreadable(state: SourceState, { refused, waiting }: ToApply, error: unknown): void {
  if (!waiting || codeOf(error) !== 'NotFound') throw refused?.error ?? error;
  state.problem = historyRewritten(waiting, 'gone');
}

/** A commit to be applied, and what keeps head from being it. */
interface ToApply {
  readonly info: CommitInfo;
  readonly isKnown: boolean;
  readonly waiting?: Rewritten;
  readonly refused?: { readonly error: unknown };
}

/** Something is to be applied again although Git has no news. */
function isDue(parts: SourceParts, source: Source, state: SourceState): boolean {
  return state.dirty || isPruneDue(source, state) || isOtherInForce(parts, state);
}

/** The commit to be applied: head, or the one applied before while a rewritten history waits for an approval (S23) or head is not verified (S22). */
async function commitToApply(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  signal: AbortSignal,
): Promise<ToApply> {
  const { attemptedCommit, appliedCommit } = source.status ?? {};
  const appliedBefore = state.snapshot?.commit.commit ?? attemptedCommit ?? appliedCommit;
  state.repository.keep(commitsInUse(parts, source, state));
  const poll = await state.repository.poll(signal, appliedBefore).catch((error: unknown) => {
    if (state.snapshot || !appliedBefore || codeOf(error) !== 'NotVerified') throw error;
    return { error };
  });
  // After a restart what was verified and applied is looked after as before.
  if ('error' in poll) return { info: infoOf(appliedBefore ?? ''), isKnown: false, refused: poll };
  state.problem = undefined;
  state.head = poll.head;
  state.signer = poll.signer;
  if (appliedBefore && (await needsApproval(parts, source, state, { poll, signal }))) {
    const waiting = { poll, appliedBefore };
    state.problem = historyRewritten(waiting, 'kept');
    const info = state.snapshot?.commit ?? infoOf(appliedBefore);
    return { info, isKnown: state.snapshot !== undefined, waiting };
  }
  return { info: poll.head, isKnown: state.snapshot?.commit.commit === poll.head.commit };
}

/** The same once other Sources let it in; until then the commit that they let in before, if there is one. */
function admitted(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  chosen: ToApply,
): ToApply | undefined {
  const waiting = whyNotAdmitted(parts, source, state, chosen.info.commit);
  if (!waiting) return chosen;
  state.problem ??= { condition: 'Ready', ...waiting };
  if (state.snapshot) return { ...chosen, info: state.snapshot.commit, isKnown: true };
  const { appliedCommit } = source.status ?? {};
  return appliedCommit && wasApplied(source, appliedCommit)
    ? { ...chosen, info: infoOf(appliedCommit), isKnown: false }
    : undefined;
}

async function read(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { commit, isSameSpec, signal }: { commit: CommitInfo; isSameSpec: boolean; signal: AbortSignal },
): Promise<void> {
  const before = state.snapshot;
  // With problems, what is missing outside the path may have come; so may a kind that was not served.
  if (before && isSameSpec && before.problems.length + before.unknownKinds.length === 0) {
    const treeOid = await state.repository.treeOidAt(commit.commit, folderOf(source), signal);
    // The same files: only the commit has another name.
    if (
      treeOid === before.treeOid &&
      (await isOutsideUnchanged(state.repository, commit.commit, before, signal))
    ) {
      state.snapshot = { ...before, commit };
      state.isRenamed = true;
      return;
    }
  }
  state.isRenamed = false;
  state.snapshot = await readSnapshot(parts, source, state, { commit, signal });
}

/** What could not be applied to its end is applied again with the next poll, though Git has no news then. Throws what kept it from its end. */
async function apply(...given: Parameters<typeof applyWhole>): Promise<void> {
  const [, , state] = given;
  try {
    await applyWhole(...given);
  } catch (error) {
    state.dirty = true;
    throw error;
  }
}

/** Everything of no Canary first, then each Canary gets its release (design section 2.2). */
async function applyWhole(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { watch, signal }: SyncContext,
): Promise<void> {
  const { snapshot: whole } = state;
  if (!whole) return;
  state.dirty = false;
  await parts.bindings.ensure(source);
  const own = await withOwnCanaries(parts, source, state, whole);
  const { snapshot } = own;
  state.canaries = new Set(snapshot.plans.map(({ canary }) => canaryKey(canary)));
  const built = headsOf(parts, source, snapshot);
  let result: ApplyResult = { applied: 0, changed: 0, failures: [], drift: [], taken: [] };
  if (source.spec.apply !== false) {
    state.inForce = await readInForce(parts, state, snapshot, digestsOf(built.heads));
    const { rest } = state.inForce.effective;
    const isAllowed = (object: KubernetesObject) => whyNotAllowed(source, object, parts.rights) === undefined;
    const inventory = inventoryWith(source, snapshot.all.filter(isAllowed));
    await writeParent(parts, source, inventory);
    const follow = async (known: ApplyResult | undefined) => {
      const held = claimedKeys(parts, source, snapshot, known);
      // Before anything is pruned elsewhere: what only moved here stays.
      parts.claims.publish(state.key, held);
      await followHeld(parts, source, { watch, inventory, snapshot: { ...snapshot, rest }, held });
    };
    await follow(state.result);
    const { left } = state;
    result = await applySnapshot(parts, source, { ...snapshot, rest }, { watched: watch, left, signal });
    await follow(result);
    if (result.changed > 0 || state.appliedMs === undefined) state.appliedMs = parts.clock.nowMs();
    await handOverHeld(parts, source, { all: snapshot.all, rest });
    reportOtherWriters(parts, source, state, result);
  }
  const { commit } = snapshot.commit;
  state.result = { ...result, commit, failures: [...result.failures, ...own.refused] };
  const { problems } = built;
  const heads = settledHeads(state, snapshot, built.heads, state.result.failures);
  const known = new Set(snapshot.problems.map(({ message }) => message));
  const added = problems.filter(({ message }) => !known.has(message));
  state.snapshot = { ...whole, problems: [...whole.problems, ...added] };
  const published = await withLedger(parts, source, state, { heads, snapshot, signal });
  const changed = parts.heads.publish(state.key, published);
  for (const key of new Set([...changed, ...revertedOf(parts, published)])) parts.wakeCanary(key);
  state.pruned = await prune(parts, source, state, { watch, signal });
}

/** Watches what the Source holds. Each kind is a watch with our own rights: none of one that is not served, or that the Source may not write. */
async function followHeld(
  parts: SourceParts,
  source: Source,
  {
    watch,
    inventory,
    snapshot: { all, rest, unknownKinds },
    held,
  }: { watch: SourceWatch; inventory: Inventory; snapshot: Snapshot; held: ReadonlySet<string> },
): Promise<void> {
  const unknown = new Set(unknownKinds.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`));
  const isHeld = (object: KubernetesObject) =>
    held.has(objectKey(object)) && !unknown.has(`${object.apiVersion} ${object.kind}`);
  const watched = source.spec.prune
    ? await watchedPlaces(parts, source, inventory, all.filter(isHeld))
    : { places: [], notLooked: undefined };
  watch.follow(rest.map(({ object }) => object).filter(isHeld), watched);
}

/** A Canary that was reverted reports what else of the bad commit stays, which any commit may change. */
function revertedOf(parts: SourceParts, heads: ReadonlyMap<string, Head>): string[] {
  return parts
    .canaries()
    .filter(
      (canary) => heads.has(namespacedName(canary)) && isReverted((canary.status ?? {}) as CanaryStatus),
    )
    .map(namespacedName);
}

async function attempt(work: () => Promise<void>): Promise<{ error: unknown } | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Git's errors carry a code; the message of any error says who must act. */
function problemOf(error: unknown, signal: AbortSignal, source: Source): SyncProblem {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (signal.aborted)
    return {
      condition: 'Fetched',
      reason: 'Timeout',
      message: `a sync took longer than ${sourceTimeoutMs(source) / 1000} s (spec.timeout)`,
    };
  if (code === 'PathNotFound' || code === 'ReadingSkipped')
    return { condition: 'Rendered', reason: code, message };
  if (code !== undefined) return { condition: 'Fetched', reason: code, message };
  return { condition: 'Ready', reason: failureOf(error).reason, message };
}
