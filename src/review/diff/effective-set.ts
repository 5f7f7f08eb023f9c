/** What a Source keeps applied, read as the controller reads it: from Git, with what its Canaries live by from their records. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { systemClock } from '../../api/clock.ts';
import { sourceTimeoutMs } from '../../api/defaults.ts';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { parseSource } from '../../api/kinds/parse.ts';
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import type { Source } from '../../api/source/source.ts';
import { isApiError } from '../../cluster/errors.ts';
import type { Repository } from '../../contracts/git.ts';
import { createApplied } from '../../engine/applied.ts';
import { createClaims } from '../../engine/apply-set.ts';
import { createHeads } from '../../engine/canary/context/heads.ts';
import { createRecords } from '../../engine/records/records.ts';
import { readInForce } from '../../engine/sync/apply/in-force.ts';
import type { Snapshot, SourceParts, SourceState } from '../../engine/sync/context/context.ts';
import { createPresence } from '../../engine/sync/context/presence.ts';
import { secretsOf } from '../../engine/sync/poll/source-object.ts';
import { readSnapshot } from '../../engine/sync/read/read.ts';
import { createDriftMemory } from '../../engine/sync/scope/drift.ts';
import type { HttpClient } from '../../http/types.ts';
import { canaryKey } from '../../release/candidates.ts';
import { type Builders, createBuildCache } from '../../render/build/builder.ts';
import { findBuilders, type ProgramPaths, workFolderIn } from '../../render/build/programs.ts';
import { createRenderCache } from '../../render/render.ts';
import type { FileProblem, RenderedObject } from '../../render/rendered-object.ts';
import { createClusterPort } from '../../server/cluster.ts';
import type { Connection } from '../../server/connection.ts';
import { createGitAccess, createRepositories } from '../../server/git.ts';
import { rememberFileSources } from '../../server/source-files.ts';

/** Which Source, and how Git is asked. */
export interface SourceQuery {
  readonly namespace: string;
  readonly name: string;
  readonly http: HttpClient;
  /** Where kustomize and helm are, as far as it was said. */
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
 * Reads the commit that the controller saw last into a folder that is deleted again. Throws InputError, ApiError and Git's errors, all of
 * which say what to do.
 */
export async function readEffectiveSet(connection: Connection, query: SourceQuery): Promise<EffectiveSet> {
  return readSetOf(connection, await sourceOf(connection, query), query);
}

/** The same of a Source that need not be in the cluster: head, where it has seen none. */
export async function readSetOf(
  connection: Connection,
  source: Source,
  query: Pick<SourceQuery, 'http' | 'programs'>,
): Promise<EffectiveSet> {
  const namespace = source.metadata.namespace ?? '';
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-diff-'));
  try {
    const repository = openRepository(connection, source, { folder, http: query.http });
    const builders = findBuilders(query.programs, workFolderIn(folder));
    return await readWith(
      await partsOf({ client: connection.client, namespace }, builders),
      source,
      repository,
    );
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function sourceOf({ client }: Connection, { namespace, name }: SourceQuery): Promise<Source> {
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
    ...{ key: '', repository, rendered: createRenderCache() },
    ...{ left: new WeakMap(), drift: createDriftMemory(), previous: new Map(), dirty: false },
  };
  const seen = commitSeen(source);
  const commit = seen
    ? { commit: seen, subject: commitSubject(source, seen), author: '', time: '' }
    : (await repository.poll(signal)).head;
  const snapshot = await readSnapshot(parts, source, state, { commit, signal });
  const digests = digestsSeen(parts.canaries(), snapshot);
  const { effective } = await readInForce(parts, state, snapshot, digests);
  return { source, commit, objects: effective.rest, all: snapshot.all, problems: snapshot.problems };
}

/** The commit that is applied: head, or the one before while a rewritten history waits for an approval (S23). */
function commitSeen({ status }: Source): string | undefined {
  const waits = status?.conditions?.some(({ reason }) => reason === 'HistoryRewritten');
  return waits
    ? (status?.attemptedCommit ?? status?.appliedCommit)
    : (status?.head?.commit ?? status?.appliedCommit);
}

function commitSubject({ status }: Source, commit: string): string {
  return status?.head?.commit === commit ? (status.head.subject ?? '') : '';
}

/**
 * Head's digests as the statuses of the Canaries tell them, since Secrets are part of a digest by a key of the cluster. A release under way
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
  const nobodys = { env: {}, fileSources: rememberFileSources([]) };
  const { open } = createRepositories({
    ...{ client: http, clock: systemClock, dataDir: folder },
    access: createGitAccess({ client: http, clock: systemClock, ...nobodys }),
    identity: { name: 'holdfast', email: 'holdfast@localhost' },
  });
  // What is read is the commit that the controller took, which looked at its signature; who compares need not read the signers.
  const { verify: _, ...spec } = source.spec;
  return open({ ...source, spec }, secretsOf({ cluster: createClusterPort(client) }, source));
}

/** As the controller's, without a way to write. */
async function partsOf({ client, namespace }: Access, builders: Builders): Promise<SourceParts> {
  const nothing = () => undefined;
  const cluster = createClusterPort(client);
  const items = await canariesOf({ client, namespace });
  return {
    clock: systemClock,
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    cluster,
    openWatch: () => {
      throw new Error('nothing is watched here');
    },
    events: { emit: nothing },
    heads: createHeads(),
    ...{ applied: createApplied(), claims: createClaims(), sources: () => [] },
    presence: createPresence({ cluster, clock: systemClock }),
    accountRights: { mayWrite: async () => true },
    ...{ builders, builds: createBuildCache() },
    clusterName: '',
    records: createRecords(cluster, undefined),
    // No digest is compared that a Secret is part of.
    secretKey: randomBytes(32),
    canaries: () => items,
    wakeCanary: nothing,
  };
}

interface Access {
  readonly client: Connection['client'];
  readonly namespace: string;
}

/** Who may read one namespace alone is told by the Canaries of that one. */
async function canariesOf({ client, namespace }: Access): Promise<readonly KubernetesObject[]> {
  const list = (where: { namespace?: string }) => client.list(apiVersionOf('Canary'), 'Canary', where);
  const { items } = await list({}).catch((error: unknown) => {
    if (isApiError(error, 'forbidden')) return list({ namespace });
    throw error;
  });
  return items;
}
