/**
 * The release of a Canary at another commit than the one that is applied: one that people ask for, or that of the ledger, the refs in Git that
 * name the commit that each Canary of a cluster promoted last.
 */

import type { CanaryStatus } from '../../../api/canary/status.ts';
import { bareCommit } from '../../../api/commit.ts';
import {
  canonicalJson,
  describe,
  type KubernetesObject,
  keyOf,
  nameOfKey,
  objectKey,
} from '../../../api/kubernetes.ts';
import { sourceTimeoutMs } from '../../../api/source/source.ts';
import type { Ancestry } from '../../../contracts/git.ts';
import { viewOf } from '../../../release/build.ts';
import type { Release } from '../../../release/release.ts';
import { formatProblem, type RenderedObject } from '../../../render/rendered-object.ts';
import { canaryOfLedger, ledgerPrefix } from '../../../writeback/names.ts';
import type { Head } from '../../canary/context/heads.ts';
import type { Reproduced } from '../../canary/context/reproduction.ts';
import { failureOf } from '../../failure.ts';
import type { Snapshot, SourceContext, SourceParts, SyncContext } from '../context/context.ts';
import { readSnapshot } from './read.ts';
import { refusalOf, releaseAt } from './source-heads.ts';

/** Reads and renders a Canary's release at an older commit, as if it were head. Touches neither the cluster nor the plan. */
export async function reproduce(context: SourceContext, key: string, commit: string): Promise<Reproduced> {
  const { parts, source, state } = context;
  const signal = AbortSignal.timeout(sourceTimeoutMs(source));
  try {
    const snapshot = await snapshotAt(context, commit, signal);
    const built = releaseIn(parts, snapshot, key);
    if (!built.ok) return built;
    const release = built.ok;
    const others = state.snapshot && otherChanges(snapshot.rest, state.snapshot.rest, release);
    return { digest: release.digest, release, others };
  } catch (error) {
    return { problem: failureOf(error).message };
  }
}

/** A release, or why the commit holds none. */
type BuiltRelease =
  | { readonly ok: Release; readonly problem?: never }
  | { readonly ok?: never; readonly problem: string };

/** A Canary's release at any commit, if the Source may write it. Throws Git's errors. */
async function releaseAtCommit(context: SyncContext, key: string, commit: string): Promise<BuiltRelease> {
  const { parts, source, signal } = context;
  const snapshot = await snapshotAt(context, commit, signal);
  const plan = snapshot.plans.find(({ canary }) => keyOf(canary) === key);
  const refusal = plan && refusalOf(source, plan, parts.rights);
  return refusal === undefined ? releaseIn(parts, snapshot, key) : { problem: refusal };
}

/** A commit that is not to be applied, with author and subject, which people are told. */
async function snapshotAt(context: SourceContext, commit: string, signal: AbortSignal): Promise<Snapshot> {
  const snapshot = await readSnapshot(apart(context), { commit: bareCommit(commit), signal });
  return { ...snapshot, commit: await context.state.repository.readCommit(commit, signal) };
}

/** The context for reading a commit that is not to be applied: the last good plan plays no part in it. */
export function apart({ parts, source, state }: SourceContext): SourceContext {
  return { parts, source, state: { ...state, previous: new Map() } };
}

/** A Canary's release in a snapshot. */
export function releaseIn(parts: SourceParts, snapshot: Snapshot, key: string): BuiltRelease {
  const plan = snapshot.plans.find(({ canary }) => keyOf(canary) === key);
  if (plan?.state !== 'release') return { problem: plan?.message ?? 'it does not hold the Canary' };
  const built = releaseAt(parts, plan, snapshot);
  if (built?.ok) return { ok: built.ok };
  return { problem: built ? formatProblem(built.problem) : 'the Canary is in neither Git nor the cluster' };
}

/**
 * Objects of no Canary that differ between two commits, as `Kind namespace/name`, sorted: what a revert leaves as head says. Config of the
 * release that is gone back to comes back with it.
 */
export function otherChanges(
  before: readonly RenderedObject[],
  after: readonly RenderedObject[],
  release: Pick<Release, 'configs'>,
): string[] {
  const restored = new Set(release.configs.map(objectKey));
  const older = new Map(before.map(({ object }) => [objectKey(object), object]));
  const newer = new Map(after.map(({ object }) => [objectKey(object), object]));
  const contentOf = (object: KubernetesObject | undefined) => object && canonicalJson(object);
  return [...new Map([...older, ...newer])]
    .filter(([key]) => !restored.has(key) && contentOf(older.get(key)) !== contentOf(newer.get(key)))
    .map(([, object]) => describe(object))
    .sort();
}

/** Git said that this will not come back by itself; anything else may be better at the next poll. */
const lastingCodes = new Set([
  'NotFound',
  'RefNotFound',
  'PathNotFound',
  'TooLarge',
  'Refused',
  'NotVerified',
]);

/** Lists the ledger, where the Source keeps one: one request, only when Git has news. Throws Git's errors. */
export async function readLedger({ parts, source, state, signal }: SyncContext): Promise<void> {
  if (!source.spec.write?.ledger) return;
  const refs = await state.repository.listRefs(ledgerPrefix(parts.clusterName), signal);
  const entries = [...refs].map(([ref, commit]) => [canaryOfLedger(parts.clusterName, ref), commit] as const);
  state.ledger = {
    commits: new Map(entries.flatMap(([key, commit]) => (key ? [[key, commit]] : []))),
    leadOn: new Map(),
  };
}

/**
 * The heads with what the ledger says about Canaries that have no proven release in this cluster: they start from the ledger's commit, and
 * head comes after it as a canary (design section 5, flagger issues 1577 and 1207). `deleted`: keys of those that are made anew just now.
 */
export async function withLedger(
  context: SyncContext,
  heads: ReadonlyMap<string, Head>,
  appliedCommit: string,
  deleted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Head>> {
  const { parts, state } = context;
  const result = new Map(heads);
  for (const [canaryKey, commit] of state.ledger?.commits ?? []) {
    const head = heads.get(canaryKey);
    if (!head?.release || commit === appliedCommit) continue;
    const { lastKnownGood } = (parts.canary(nameOfKey(canaryKey))?.status ?? {}) as CanaryStatus;
    // Of one that was deleted, a watch may still show the status.
    if (lastKnownGood && !deleted.has(canaryKey)) continue;
    const next = await headWithLedger(context, head, canaryKey, { commit, appliedCommit });
    if (next.view.kind === 'unknown') state.dirty = true;
    result.set(canaryKey, next);
  }
  return result;
}

async function headWithLedger(
  context: SyncContext,
  head: Head,
  canaryKey: string,
  { commit, appliedCommit }: { readonly commit: string; readonly appliedCommit: string },
): Promise<Head> {
  const { view } = head;
  if (view.kind !== 'release') return head;
  const unusable = (why: string): Head => ({
    ...head,
    view: { ...view, ledgerProblem: `${commit.slice(0, 7)}: ${why}` },
  });
  try {
    const { ok, problem } = await releaseAtCommit(context, canaryKey, commit);
    if (problem !== undefined) return unusable(problem);
    if (ok.digest === view.release.digest) return head;
    if (!(await leadsOn(context, commit, appliedCommit)))
      return unusable(
        `${appliedCommit.slice(0, 7)} does not descend from it; to start from it all the same, set spec.ref.rewrite: allow`,
      );
    return { ...head, view: { ...view, ledger: viewOf(ok) }, ledger: ok };
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    if (code !== undefined && lastingCodes.has(code)) return unusable(message ?? code);
    const why = `the ledger's commit ${commit.slice(0, 7)} cannot be read now: ${message ?? String(error)}`;
    return { view: { kind: 'unknown', reason: 'LedgerUnavailable', message: why } };
  }
}

/** Who may not push to the branch may still move the ledger, and nothing tests where a Canary starts from: it must be of the branch's own history (S23). */
async function leadsOn(
  { source, state, signal }: SyncContext,
  commit: string,
  appliedCommit: string,
): Promise<boolean> {
  if (source.spec.ref.rewrite === 'allow') return true;
  // Not to know costs several fetches.
  const known = state.ledger?.leadOn ?? new Map<string, Ancestry>();
  const pair = `${commit} ${appliedCommit}`;
  const answer = known.get(pair) ?? (await state.repository.isDescendant(appliedCommit, commit, signal));
  known.set(pair, answer);
  return answer === 'yes';
}
