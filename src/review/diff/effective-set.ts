/** What a Source keeps applied, read as the controller reads it: from Git, and for its Canaries from their records. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { type KubernetesObject, keyOf, namespacedName } from '../../api/kubernetes.ts';
import { InputError } from '../../api/problems.ts';
import { type Source, sourceTimeoutMs } from '../../api/source/source.ts';
import type { Repository } from '../../contracts/git.ts';
import { codeOf } from '../../engine/failure.ts';
import { readInForce } from '../../engine/sync/apply/in-force.ts';
import { newSourceState, type Snapshot, type SourceParts } from '../../engine/sync/context/context.ts';
import { isWaiting } from '../../engine/sync/poll/dependencies.ts';
import { readSnapshot } from '../../engine/sync/read/read.ts';
import { findBuilders, type ProgramPaths, workFolderIn } from '../../render/build/programs.ts';
import type { Connection } from '../../server/connection.ts';
import { sourceParts } from '../source-parts.ts';
import type { EffectiveSet } from './source-difference.ts';

/** How a Source is read from Git, and what renders it. */
export interface SourceReading {
  /** Opens the repository of the Source; `folder`: where its objects are stored. */
  readonly openRepository: (source: Source, folder: string) => Repository;
  /** Paths of kustomize and helm, where flags or the environment name them. */
  readonly programs: ProgramPaths;
}

/**
 * Reads the commit that the controller saw last into a folder that is deleted again; head, where it has seen none. The Source need not be in
 * the cluster. Throws InputError, ApiError and Git's errors, all of which say what to do.
 */
export async function readEffectiveSet(
  connection: Pick<Connection, 'client'>,
  source: Source,
  query: SourceReading,
): Promise<EffectiveSet> {
  const namespace = source.metadata.namespace ?? '';
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-diff-'));
  try {
    const repository = query.openRepository(source, folder);
    const builders = findBuilders(query.programs, workFolderIn(folder));
    return await readWith(await sourceParts(connection, namespace, builders), source, repository);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function readWith(parts: SourceParts, source: Source, repository: Repository): Promise<EffectiveSet> {
  const signal = AbortSignal.timeout(sourceTimeoutMs(source));
  const state = newSourceState('', repository);
  const { head, attemptedCommit, appliedCommit, conditions } = source.status ?? {};
  // The commit that is applied: head, or the one before while a rewritten history (S23) or other Sources keep head out.
  const waits = conditions?.find(({ reason }) => reason === 'HistoryRewritten' || isWaiting(reason));
  const seen = (waits ? attemptedCommit : head?.commit) ?? appliedCommit;
  const subject = (head?.commit === seen && head?.subject) || '';
  const commit = seen
    ? { commit: seen, subject, author: '', time: '' }
    : (await repository.poll(signal)).head;
  const snapshot = await readSnapshot({ parts, source, state }, { commit, signal }).catch(
    (error: unknown) => {
      if (!waits || codeOf(error) !== 'NotFound') throw error;
      const what = `${commit.commit.slice(0, 7)} is gone from Git, so that it cannot be compared`;
      throw new InputError(`Source ${namespacedName(source)}: ${what}; ${waits.message}`);
    },
  );
  const digests = digestsSeen(parts.canaries(), snapshot);
  const { effective } = await readInForce({ parts, state }, snapshot, digests);
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
    canaries.map((canary) => [namespacedName(canary), (canary.status ?? {}) as CanaryStatus]),
  );
  return new Map(
    plans.flatMap(({ canary, state }) => {
      const { run, lastAppliedSpec } = statuses.get(keyOf(canary)) ?? {};
      if (state !== 'release') return [];
      const digest = run && run.commit !== commit.commit ? 'newer' : (lastAppliedSpec ?? 'unknown');
      return [[keyOf(canary), digest] as const];
    }),
  );
}
