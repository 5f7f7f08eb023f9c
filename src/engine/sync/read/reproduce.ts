import { describe } from '../../../api/kubernetes.ts';
import type { CommitInfo } from '../../../api/observed.ts';
import { type Source, sourceTimeoutMs } from '../../../api/source/source.ts';
import { canaryKey as keyOfPlan } from '../../../release/candidates.ts';
import { canonicalJson } from '../../../release/json.ts';
import type { Release } from '../../../release/release.ts';
import { objectKey } from '../../../render/render.ts';
import { formatProblem, type RenderedObject } from '../../../render/rendered-object.ts';
import type { Reproduced } from '../../canary/context/reproduction.ts';
import type { Snapshot, SourceParts, SourceState } from '../context/context.ts';
import { readSnapshot } from './read.ts';
import { releaseAt } from './source-heads.ts';

/** Reads and renders a Canary's release at an older commit, as if it were head. Touches neither the cluster nor the plan. */
export async function reproduce(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { canaryKey, commit }: { canaryKey: string; commit: string },
): Promise<Reproduced> {
  const signal = AbortSignal.timeout(sourceTimeoutMs(source));
  try {
    const at = { commit: infoOf(commit), signal };
    const snapshot = await readSnapshot(parts, source, { ...state, previous: new Map() }, at);
    const built = releaseIn(parts, snapshot, canaryKey);
    if (!built.ok) return built;
    const release = built.ok;
    const others = state.snapshot && otherChanges(snapshot.rest, state.snapshot.rest, release);
    return { digest: release.digest, release, others };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** A release, or why the commit holds none. */
type BuiltRelease =
  | { readonly ok: Release; readonly problem?: never }
  | { readonly ok?: never; readonly problem: string };

/** A Canary's release at any commit. Throws Git's errors. */
export async function releaseAtCommit(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { canaryKey, commit, signal }: { canaryKey: string; commit: CommitInfo; signal: AbortSignal },
): Promise<BuiltRelease> {
  const snapshot = await readSnapshot(parts, source, { ...state, previous: new Map() }, { commit, signal });
  return releaseIn(parts, snapshot, canaryKey);
}

/** A Canary's release in a snapshot. */
export function releaseIn(parts: SourceParts, snapshot: Snapshot, canaryKey: string): BuiltRelease {
  const plan = snapshot.plans.find(({ canary }) => keyOfPlan(canary) === canaryKey);
  if (plan?.state !== 'release') return { problem: plan?.message ?? 'it does not hold the Canary' };
  const built = releaseAt(parts, plan, snapshot);
  if (built?.ok) return { ok: built.ok };
  return { problem: built ? formatProblem(built.problem) : 'the Canary is in neither Git nor the cluster' };
}

/** A commit of which only the id matters. */
export function infoOf(commit: string): CommitInfo {
  return { commit, subject: '', author: '', time: '' };
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
  const all = new Map([...older, ...newer]);
  return [...all]
    .filter(([key]) => !restored.has(key) && contentOf(older.get(key)) !== contentOf(newer.get(key)))
    .map(([, object]) => describe(object))
    .sort();
}

function contentOf(object: unknown): string | undefined {
  return object === undefined ? undefined : canonicalJson(object);
}
