/** The release of a Canary at another commit than the one that is applied. */
import {
  canaryKey,
  canonicalJson,
  describe,
  type KubernetesObject,
  objectKey,
} from '../../../api/kubernetes.ts';
import { bareCommit } from '../../../api/observed.ts';
import { sourceTimeoutMs } from '../../../api/source/source.ts';
import type { Release } from '../../../release/release.ts';
import { formatProblem, type RenderedObject } from '../../../render/rendered-object.ts';
import type { Reproduced } from '../../canary/context/reproduction.ts';
import type { SourceContext, SourceParts, SyncContext } from '../context/context.ts';
import type { Snapshot } from '../context/state.ts';
import { readSnapshot } from './read.ts';
import { releaseAt } from './source-heads.ts';

/** Reads and renders a Canary's release at an older commit, as if it were head. Touches neither the cluster nor the plan. */
export async function reproduce(context: SourceContext, key: string, commit: string): Promise<Reproduced> {
  const { parts, source, state } = context;
  const signal = AbortSignal.timeout(sourceTimeoutMs(source));
  try {
    const snapshot = await readSnapshot(apart(context), { commit: bareCommit(commit), signal });
    const built = releaseIn(parts, snapshot, key);
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
  context: SyncContext,
  key: string,
  commit: string,
): Promise<BuiltRelease> {
  const { parts, signal } = context;
  const snapshot = await readSnapshot(apart(context), { commit: bareCommit(commit), signal });
  return releaseIn(parts, snapshot, key);
}

/** The context for reading a commit that is not to be applied: the last good plan plays no part in it. */
export function apart({ parts, source, state }: SourceContext): SourceContext {
  return { parts, source, state: { ...state, previous: new Map() } };
}

/** A Canary's release in a snapshot. */
export function releaseIn(parts: SourceParts, snapshot: Snapshot, key: string): BuiltRelease {
  const plan = snapshot.plans.find(({ canary }) => canaryKey(canary) === key);
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
