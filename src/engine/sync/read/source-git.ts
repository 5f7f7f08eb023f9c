import { createHash } from 'node:crypto';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { canonicalJson, describe, canaryKey as keyOfPlan, objectKey } from '../../../api/kubernetes.ts';
import type { CommitInfo } from '../../../api/observed.ts';
import { type Source, sourceTimeoutMs } from '../../../api/source/source.ts';
import type { Forge } from '../../../contracts/forge.ts';
import type { CommitEntry, Repository } from '../../../contracts/git.ts';
import { viewOf } from '../../../release/build.ts';
import type { Release } from '../../../release/release.ts';
import { createRenderCache } from '../../../render/render.ts';
import { formatProblem, type RenderedObject } from '../../../render/rendered-object.ts';
import { canaryOfLedger, ledgerPrefix } from '../../../writeback/names.ts';
import type { Head } from '../../canary/context/head.ts';
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
async function releaseAtCommit(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { canaryKey, commit, signal }: { canaryKey: string; commit: CommitInfo; signal: AbortSignal },
): Promise<BuiltRelease> {
  const snapshot = await readSnapshot(parts, source, { ...state, previous: new Map() }, { commit, signal });
  return releaseIn(parts, snapshot, canaryKey);
}

/** A Canary's release in a snapshot. */
function releaseIn(parts: SourceParts, snapshot: Snapshot, canaryKey: string): BuiltRelease {
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

/** One Source as its writing half sees it. */
export interface SourceGit {
  readonly source: Source;
  readonly repository: Repository;
  /** The commit that is applied now; undefined before the first read. */
  readonly head: () => string | undefined;
  /** The ledger's commit of a Canary, as seen last. */
  readonly ledger: (canaryKey: string) => string | undefined;
  /** Remembers where the ledger is now; without a commit it is read again. */
  readonly noteLedger: (canaryKey: string, commit: string) => void;
  /** Polls soon. */
  readonly wake: () => void;
  readonly forge: () => Promise<Forge | undefined>;
  /** The Source as it renders at a commit, with these files in the place of the commit's. Changes nothing. Throws Git's errors. */
  readonly render: (commit: string, changes?: FileChanges) => Promise<Snapshot>;
  /** Digest of a Canary's release in a rendering. */
  readonly digestIn: (snapshot: Snapshot, canaryKey: string) => string | undefined;
}

/** Looks at a Source that is being followed with an eye to writing. */
export function createSourceGit(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { forge, wake }: Pick<SourceGit, 'forge' | 'wake'>,
): SourceGit {
  return {
    source,
    repository: state.repository,
    head: () => state.snapshot?.commit.commit,
    ledger: (canaryKey) => state.ledger?.commits.get(canaryKey),
    noteLedger(canaryKey, commit) {
      state.ledger = { commits: new Map([...(state.ledger?.commits ?? []), [canaryKey, commit]]) };
    },
    forge,
    wake,
    async render(commit, changes = new Map()) {
      const repository = withChanges(state.repository, changes);
      const apart = { ...state, repository, previous: new Map(), rendered: createRenderCache() };
      const signal = AbortSignal.timeout(sourceTimeoutMs(source));
      return readSnapshot(parts, source, apart, { commit: infoOf(commit), signal });
    },
    digestIn: (snapshot, canaryKey) => releaseIn(parts, snapshot, canaryKey).ok?.digest,
  };
}

/** New content of files by path; undefined takes a file out. */
export type FileChanges = ReadonlyMap<string, Uint8Array | undefined>;

/** The repository as if a commit had been made with these files. */
function withChanges(repository: Repository, changes: FileChanges): Repository {
  if (changes.size === 0) return repository;
  return {
    ...repository,
    async readFiles(commit, path, options) {
      const read = await repository.readFiles(commit, path, options);
      const kept = read.files.filter((file) => !changes.has(file.path));
      const inside = [...changes].filter(([file]) => path === '' || file.startsWith(`${path}/`));
      const added = inside.flatMap(([file, bytes]) =>
        bytes ? [{ path: file, oid: changedId(bytes), bytes }] : [],
      );
      return { ...read, files: [...kept, ...added].sort((a, b) => (a.path < b.path ? -1 : 1)) };
    },
    async entriesAt(commit, paths, options) {
      const found = new Map(await repository.entriesAt(commit, paths, options));
      for (const path of paths) {
        const entry = changedEntry(path, found.get(path), changes);
        if (entry) found.set(path, entry);
        else found.delete(path);
      }
      return found;
    },
  };
}

function changedEntry(
  path: string,
  entry: CommitEntry | undefined,
  changes: FileChanges,
): CommitEntry | undefined {
  const bytes = changes.get(path);
  if (bytes) return { kind: 'file', oid: changedId(bytes), bytes };
  if (changes.has(path)) return undefined;
  if (entry?.kind !== 'folder') return entry;
  const names = new Set(entry.names);
  for (const [file, content] of changes) {
    const slash = file.lastIndexOf('/');
    if (file.slice(0, Math.max(0, slash)) !== path) continue;
    if (content) names.add(file.slice(slash + 1));
    else names.delete(file.slice(slash + 1));
  }
  return { ...entry, names: [...names] };
}

/** An id that no blob of Git has, and that is another one for other bytes. */
function changedId(bytes: Uint8Array): string {
  return `changed ${createHash('sha256').update(bytes).digest('hex')}`;
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
export async function readLedger(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  signal: AbortSignal,
): Promise<void> {
  if (!source.spec.write?.ledger) return;
  const refs = await state.repository.listRefs(ledgerPrefix(parts.clusterName), signal);
  const entries = [...refs].map(([ref, commit]) => [canaryOfLedger(parts.clusterName, ref), commit] as const);
  state.ledger = { commits: new Map(entries.flatMap(([key, commit]) => (key ? [[key, commit]] : []))) };
}

/**
 * The heads with what the ledger says about Canaries that have no proven release in this cluster: they start from the ledger's commit, and
 * head comes after it as a canary (design section 5, flagger issues 1577 and 1207).
 */
export async function withLedger(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { heads, snapshot, signal }: { heads: ReadonlyMap<string, Head>; snapshot: Snapshot; signal: AbortSignal },
): Promise<ReadonlyMap<string, Head>> {
  const result = new Map(heads);
  for (const [canaryKey, commit] of state.ledger?.commits ?? []) {
    const head = heads.get(canaryKey);
    if (!head?.release || commit === snapshot.commit.commit) continue;
    const [namespace = '', name = ''] = canaryKey.split('/');
    if (((parts.canary({ namespace, name })?.status ?? {}) as CanaryStatus).lastKnownGood) continue;
    const next = await headWithLedger(parts, source, state, { canaryKey, commit, head, signal });
    if (next.view.kind === 'unknown') state.dirty = true;
    result.set(canaryKey, next);
  }
  return result;
}

async function headWithLedger(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { canaryKey, commit, head, signal }: { canaryKey: string; commit: string; head: Head; signal: AbortSignal },
): Promise<Head> {
  if (head.view.kind !== 'release') return head;
  try {
    const wanted = { canaryKey, commit: infoOf(commit), signal };
    const { ok, problem } = await releaseAtCommit(parts, source, state, wanted);
    if (problem !== undefined) return unusable(head, commit, problem);
    if (ok.digest === head.view.release.digest) return head;
    return { ...head, view: { ...head.view, ledger: viewOf(ok) }, ledger: ok };
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    if (code !== undefined && lastingCodes.has(code)) return unusable(head, commit, message ?? code);
    const why = `the ledger's commit ${commit.slice(0, 7)} cannot be read now: ${message ?? String(error)}`;
    return { view: { kind: 'unknown', reason: 'LedgerUnavailable', message: why } };
  }
}

function unusable(head: Head, commit: string, why: string): Head {
  if (head.view.kind !== 'release') return head;
  return { ...head, view: { ...head.view, ledgerProblem: `${commit.slice(0, 7)}: ${why}` } };
}
