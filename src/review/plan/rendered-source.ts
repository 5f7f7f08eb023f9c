/** One Source at one commit, rendered as the controller renders it. */

import { randomBytes } from 'node:crypto';
import type { CommitInfo } from '../../api/commit.ts';
import { describe, keyOf, objectKey } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import type { Snapshot } from '../../engine/sync/context/context.ts';
import type { CommitReader } from '../../engine/sync/read/commit-files.ts';
import { type ReadingParts, readSnapshot } from '../../engine/sync/read/read.ts';
import { releaseAt } from '../../engine/sync/read/source-heads.ts';
import { whyNotAllowed } from '../../engine/sync/scope/permissions.ts';
import { GitError } from '../../git/errors.ts';
import { releaseWarnings } from '../../release/build.ts';
import { type BuildCache, type Builders, createBuildCache } from '../../render/build/builder.ts';
import { findBuilders, type ProgramPaths, workFolderIn } from '../../render/build/programs.ts';
import { offlineCapabilities } from '../../render/helm.ts';
import { createRenderCache } from '../../render/render.ts';
import { formatOrigin, formatProblem, type RenderedObject } from '../../render/rendered-object.ts';
import type { Decryption } from '../../render/sops/decrypt.ts';
import { createClusterPort } from '../../server/cluster.ts';
import { scopeOf, variablesIn } from '../offline.ts';
import type { CanarySide } from './canary-plan.ts';
import type { RenderedSource } from './request.ts';

/** What all sides are rendered with. */
export interface SideParts {
  readonly builders: Builders;
  readonly builds: BuildCache;
  /** Stands for the key of a cluster: digests are compared with each other only. */
  readonly secretKey: Uint8Array;
  readonly signal: AbortSignal;
  /** Knows the scope of kinds, and what charts ask; undefined: no cluster is asked. */
  readonly cluster?: Pick<ReadingParts['cluster'], 'kindOf' | 'capabilities'> | undefined;
}

/** `folder`: where renderers work, deleted by the caller; `client`: the cluster that knows kinds, if one is asked. */
export function openSideParts(
  folder: string,
  programs: ProgramPaths,
  client: ClusterClient | undefined,
): SideParts {
  return {
    builders: findBuilders(programs, workFolderIn(folder)),
    builds: createBuildCache(),
    secretKey: randomBytes(32),
    signal: new AbortController().signal,
    cluster: client && createClusterPort(client),
  };
}

/** A commit or a working tree. */
export interface SideAt {
  readonly reader: CommitReader;
  readonly commit: CommitInfo;
}

/** A Source that does not exist on this side. */
export const emptySide: RenderedSource = {
  entries: [],
  rest: [],
  plans: [],
  problems: [],
  isAbsent: true,
  canaries: new Map(),
  brokenFiles: new Set(),
};

/** Ciphertext stays what it is: that it changed can be seen, and no key is asked for. */
const sealed: Decryption = { id: 'sealed', open: async () => undefined };

/** Renders a Source. Problems of files are in the answer; throws Git's other errors. What `before` held is kept where files are broken (S24). */
export async function renderSide(
  parts: SideParts,
  source: Source,
  at: SideAt,
  before: RenderedSource = emptySide,
): Promise<RenderedSource> {
  const { commit, reader } = at;
  const reading = readingParts(parts, source);
  const previous = new Map(
    [...before.canaries].flatMap(([key, { release }]) => (release ? [[key, release] as const] : [])),
  );
  const state = { key: '', repository: reader, rendered: createRenderCache(), previous };
  // Variables of ConfigMaps and Secrets stay as they are written, so that no value of a cluster gets into a plan.
  const { capabilities } = parts.cluster ?? {};
  const inputs = { decryption: sealed, variables: variablesIn(source), capabilities };
  try {
    const snapshot = await readSnapshot(
      { parts: reading, source, state },
      { commit, signal: parts.signal, inputs },
    );
    const { entries, rest, plans } = snapshot;
    const problems = snapshot.problems.map(formatProblem);
    const canaries = new Map(
      plans.map((plan) => [keyOf(plan.canary), canarySide(reading, plan, { snapshot, source })] as const),
    );
    const targets = new Set(
      plans.flatMap((plan) => (plan.state === 'release' ? [objectKey(plan.target.object)] : [])),
    );
    const notAllowed = entries.flatMap((entry) =>
      targets.has(objectKey(entry.object)) ? [] : (notAllowedIn(source, entry) ?? []),
    );
    // A running Source reports these as its own problems, too.
    const refused = [...canaries.values()].flatMap(({ problem }) => problem ?? []);
    const brokenFiles = new Set(snapshot.problems.map(({ file }) => file));
    return {
      entries,
      rest,
      plans,
      problems: [...problems, ...refused, ...notAllowed],
      canaries,
      brokenFiles,
      isAbsent: false,
    };
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    const isAbsent = error.code === 'PathNotFound';
    if (!isAbsent && error.code !== 'TooLarge') throw error;
    return { ...emptySide, isAbsent, problems: [error.message], brokenFiles: new Set(['']) };
  }
}

/** `file:line: object: why` of an object that the Source may not write, by its own `spec.allow`. */
function notAllowedIn(source: Source, { object, origin }: RenderedObject): string | undefined {
  const why = whyNotAllowed(source, object);
  return why && `${formatOrigin(origin)}: ${describe(object)}: ${why}`;
}

function canarySide(
  parts: ReadingParts,
  plan: Snapshot['plans'][number],
  { snapshot, source }: { readonly snapshot: Snapshot; readonly source: Source },
): CanarySide {
  if (plan.state !== 'release') return { plan, release: undefined };
  // The Source has no say about a Canary whose target it may not write (S21).
  const refusal = notAllowedIn(source, plan.target);
  if (refusal !== undefined) return { plan, release: undefined, problem: refusal };
  const built = releaseAt(parts, plan, snapshot);
  if (!built?.ok) return { plan, release: undefined, problem: built && formatProblem(built.problem) };
  const canary = plan.object;
  const doubts = canary ? releaseWarnings({ plan, canary, lineOf: snapshot.lineOf }, built.ok) : [];
  return { plan, release: built.ok, doubts: doubts.map(formatProblem) };
}

function readingParts(parts: SideParts, source: Source): ReadingParts {
  const { builders, builds, secretKey } = parts;
  return {
    builders,
    builds,
    secretKey,
    canaries: () => [],
    canary: () => undefined,
    claims: { sourceOf: () => undefined, holdersOf: () => [] },
    heads: { sourceOf: () => undefined },
    cluster: {
      get: async () => undefined,
      // Our own kinds are known before their CRDs are installed, too.
      kindOf: async (apiVersion, kind) =>
        ownKind(apiVersion) ??
        (parts.cluster ? parts.cluster.kindOf(apiVersion, kind) : offlineKind(kind, source)),
      capabilities: parts.cluster?.capabilities ?? (async () => offlineCapabilities),
    },
  };
}

function ownKind(apiVersion: string): { readonly namespaced: true } | undefined {
  return /^(flagger\.app|holdfast\.dev)\//.test(apiVersion) ? { namespaced: true } : undefined;
}

/** An unknown kind is taken for a namespaced one only where the Source fills namespaces in. */
function offlineKind(kind: string, { spec }: Source): { readonly namespaced: boolean } | undefined {
  const scope = scopeOf(kind);
  if (scope === 'perhapsCluster') return undefined;
  if (scope !== 'unknown') return { namespaced: scope === 'namespaced' };
  return spec.defaultNamespace === undefined ? undefined : { namespaced: true };
}
