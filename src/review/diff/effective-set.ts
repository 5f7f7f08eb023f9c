/** What a Source keeps applied, read as the controller reads it: from Git, and for its Canaries from their records. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { systemClock } from '../../api/clock.ts';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { parseSource } from '../../api/kinds/parse.ts';
import {
  canaryKey,
  describe,
  type KubernetesObject,
  type NamespacedName,
  namespacedName,
} from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { type Source, sourceTimeoutMs } from '../../api/source/source.ts';
import type { Repository } from '../../contracts/git.ts';
import { codeOf } from '../../engine/failure.ts';
import { readInForce } from '../../engine/sync/apply/in-force.ts';
import type { Snapshot, SourceParts, SourceState } from '../../engine/sync/context/context.ts';
import { secretsOf } from '../../engine/sync/poll/source-object.ts';
import { readSnapshot } from '../../engine/sync/read/read.ts';
import { createDriftMemory } from '../../engine/sync/scope/drift.ts';
import type { HttpClient } from '../../http/types.ts';
import { findBuilders, type ProgramPaths, workFolderIn } from '../../render/build/programs.ts';
import { createRenderCache } from '../../render/render.ts';
import type { FileProblem, RenderedObject } from '../../render/rendered-object.ts';
import { createClusterPort } from '../../server/cluster.ts';
import type { Connection } from '../../server/connection.ts';
import { createRepositories } from '../../server/git.ts';
import { createGitAccess } from '../../server/git-access.ts';
import { rememberFileSources } from '../../server/source-files.ts';
import { sourceParts } from '../read-only-parts.ts';

/** How Git is asked, and what renders. */
export interface SourceReading {
  readonly http: HttpClient;
  /** Paths of kustomize and helm, where flags or the environment name them. */
  readonly programs: ProgramPaths;
}

/** The objects that a Source keeps applied at one commit; those of Canaries are compared with `diff canary/NAME`. */
export interface EffectiveSet {
  readonly source: Source;
  readonly commit: { readonly commit: string; readonly subject: string };
  readonly objects: readonly RenderedObject[];
  /** Every object of the commit, those that rollouts write included. */
  readonly all: readonly KubernetesObject[];
  readonly problems: readonly FileProblem[];
}

/**
 * Reads the commit that the controller saw last into a folder that is deleted again; head, where it has seen none. The Source need not be in
 * the cluster. Throws InputError, ApiError and Git's errors, all of which say what to do.
 */
export async function readEffectiveSet(
  connection: Connection,
  source: Source,
  query: SourceReading,
): Promise<EffectiveSet> {
  const namespace = source.metadata.namespace ?? '';
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-diff-'));
  try {
    const repository = openRepository(connection, source, { folder, http: query.http });
    const builders = findBuilders(query.programs, workFolderIn(folder));
    return await readWith(await sourceParts(connection, namespace, builders), source, repository);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A Source of the cluster that applies objects. Throws InputError and ApiError. */
export async function readSource(
  { client }: Connection,
  { namespace, name }: NamespacedName,
): Promise<Source> {
  const reference = { apiVersion: apiVersionOf('Source'), kind: 'Source', namespace, name };
  const object = await client.get(reference);
  if (!object)
    throw new InputError(`${describe(reference)} not found; use -n NAMESPACE for another namespace`);
  const parsed = parseSource(object);
  if (!parsed.ok)
    throw new InputError(
      `${describe(reference)}: ${parsed.problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`,
    );
  if (parsed.value.spec.apply === false)
    throw new InputError(`${describe(reference)}: spec.apply is false, so another tool applies its objects`);
  return parsed.value;
}

async function readWith(parts: SourceParts, source: Source, repository: Repository): Promise<EffectiveSet> {
  const signal = AbortSignal.timeout(sourceTimeoutMs(source));
  const state: SourceState = {
    key: '',
    repository,
    rendered: createRenderCache(),
    left: new WeakMap(),
    drift: createDriftMemory(),
    previous: new Map(),
    dirty: false,
  };
  const { head, attemptedCommit, appliedCommit, conditions } = source.status ?? {};
  // The commit that is applied: head, or the one before while a rewritten history (S23) or other Sources keep head out.
  const waits = conditions?.find(
    ({ reason }) => reason === 'HistoryRewritten' || reason.startsWith('Dependency'),
  );
  const seen = (waits ? attemptedCommit : head?.commit) ?? appliedCommit;
  const subject = (head?.commit === seen && head?.subject) || '';
  const commit = seen
    ? { commit: seen, subject, author: '', time: '' }
    : (await repository.poll(signal)).head;
  const snapshot = await readSnapshot(parts, source, state, { commit, signal }).catch((error: unknown) => {
    if (!waits || codeOf(error) !== 'NotFound') throw error;
    const what = `${commit.commit.slice(0, 7)} is gone from Git, so that it cannot be compared`;
    throw new InputError(`Source ${namespacedName(source)}: ${what}; ${waits.message}`);
  });
  const digests = digestsSeen(parts.canaries(), snapshot);
  const { effective } = await readInForce(parts, state, snapshot, digests);
  return { source, commit, objects: effective.rest, all: snapshot.all, problems: snapshot.problems };
}

/**
 * Head's digests from the statuses of the Canaries, since Secrets are part of a digest by a key of the cluster. A release under way
 * of another commit counts as one that head has left: where head holds the same release, its config is the same, too.
 */
function digestsSeen(
  canaries: readonly KubernetesObject[],
  { plans, commit }: Snapshot,
): Map<string, string> {
  const statuses = new Map(
    canaries.map(({ metadata, status }) => [
      `${metadata.namespace ?? ''}/${metadata.name}`,
      (status ?? {}) as CanaryStatus,
    ]),
  );
  return new Map(
    plans.flatMap(({ canary, state }) => {
      const { run, lastAppliedSpec } = statuses.get(canaryKey(canary)) ?? {};
      if (state !== 'release') return [];
      const digest = run && run.commit !== commit.commit ? 'newer' : (lastAppliedSpec ?? 'unknown');
      return [[canaryKey(canary), digest] as const];
    }),
  );
}

/** The environment's Git credentials are for Sources of files alone, and this one is the cluster's. */
function openRepository(
  { client }: Connection,
  source: Source,
  { folder, http }: { folder: string; http: HttpClient },
): Repository {
  const noCredentials = { env: {}, fileSources: rememberFileSources([]) };
  const { open } = createRepositories({
    client: http,
    clock: systemClock,
    dataDir: folder,
    access: createGitAccess({ client: http, clock: systemClock, ...noCredentials }),
    identity: { name: 'holdfast', email: 'holdfast@localhost' },
  });
  // What is read is the commit that the controller took, which looked at its signature; who compares need not read the signers.
  const { verify: _, ...spec } = source.spec;
  return open({ ...source, spec }, secretsOf({ cluster: createClusterPort(client) }, source));
}
