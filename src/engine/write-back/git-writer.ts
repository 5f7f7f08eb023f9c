import { canaryStatus } from '../../api/canary/summary.ts';
import type { Clock } from '../../api/clock.ts';
import { type KubernetesObject, nameOfKey, namespacedName } from '../../api/kubernetes.ts';
import type { EventSink, Log, WatchedSet } from '../../contracts/cluster.ts';
import { type Facts, wantedInGit } from '../../writeback/decide.ts';
import { type GitRecord, requestOf, withGitRecord } from '../../writeback/records.ts';
import type { Heads } from '../canary/context/heads.ts';
import type { ConditionNews } from '../status-patch.ts';
import type { SourceGit } from '../sync/read/source-git.ts';
import { createWorkQueue, type PassResult } from '../work-queue.ts';
import {
  attempt,
  conditionFrom,
  currentRecords,
  givenUp,
  type Memory,
  newMemory,
  type Problem,
  type Write,
} from './write-state.ts';
import { type WriteContext, writesFor } from './writes.ts';

/** The parts of the writer. */
interface GitWriterOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly events: EventSink;
  readonly heads: Heads;
  readonly canaries: WatchedSet;
  readonly clusterName: string;
  /** Root of the pages that runbooks are linked to. */
  readonly documentation: string | undefined;
  /** What takes time there ends when the signal aborts. */
  readonly gitOf: (canaryKey: string, signal: AbortSignal) => SourceGit | undefined;
  /** Lets the Canary's status say what changed here. */
  readonly wakeCanary: (canaryKey: string) => void;
}

/** Writes to Git what the Canaries ask for: ledger, reverts, commit statuses. Rollouts never wait for it (L6). */
export interface GitWriter {
  start(): void;
  /** Git was read: Canaries of this Source may want something written. */
  sourceRead(sourceKey: string): void;
  /** The condition for a Canary's status; `absent`: there should be none; undefined: not looked at yet, so it stays. */
  conditionOf(canaryKey: string): ConditionNews | 'absent' | undefined;
  /** Starts no more writes, and ends those that hang: a server that does not answer must not keep the Lease from the next leader. */
  stop(): Promise<void>;
}

/** Places in all, and of one namespace: a Git server that hangs holds up those of its own namespace alone. */
const concurrency = 32;
const perNamespace = 2;
const firstRetryMs = 2_000;
const maximumRetryMs = 60_000;
/** A write under way at the end has so long. A part of the time of the whole drain. */
const lastWritesMs = 5_000;

/** Does nothing before `start`. */
export function createGitWriter(options: GitWriterOptions): GitWriter {
  const { canaries, clock } = options;
  const memories = new Map<string, Memory>();
  const ending = { isStopped: false, abort: new AbortController() };
  const queue = createWorkQueue({
    clock,
    concurrency,
    perNamespace,
    pass,
    random: options.random,
    backoff: { firstMs: firstRetryMs, maximumMs: maximumRetryMs },
    onError: (canary, error) => options.log.warn({ canary, err: error }, 'could not look at what is in Git'),
  });

  function memoryOf(key: string, canary: KubernetesObject): Memory {
    const known = memories.get(key);
    if (known) return known;
    const memory = newMemory(canary);
    memories.set(key, memory);
    return memory;
  }

  async function pass(key: string): Promise<PassResult> {
    const { namespace, name } = nameOfKey(key);
    const canary = canaries.get(namespace, name);
    if (!canary || canary.metadata.deletionTimestamp) {
      memories.delete(key);
      return { againAfterMs: undefined };
    }
    const git = options.gitOf(key, ending.abort.signal);
    if (!git) return { againAfterMs: undefined };
    const memory = memoryOf(key, canary);
    const before = JSON.stringify([memory.records, memory.problem, memory.isWanted]);
    await writeToGit(options, { key, canary, git, memory, ending });
    if (JSON.stringify([memory.records, memory.problem, memory.isWanted]) !== before) {
      emitProblem(canary, memory);
      options.wakeCanary(key);
    }
    if (memory.waiting.size === 0) return { againAfterMs: undefined };
    const nextMs = Math.min(...[...memory.waiting.values()].map(({ notBeforeMs }) => notBeforeMs));
    return { againAfterMs: Math.max(0, nextMs - clock.nowMs()) };
  }

  function emitProblem(canary: KubernetesObject, { problem }: Memory): void {
    if (!problem || problem.reason === 'GitUnavailable') return;
    options.events.emit(canary, { type: 'Warning', ...problem });
  }

  return {
    start() {
      canaries.onChange((canary) => {
        for (const one of canary ? [canary] : canaries.list()) queue.add(namespacedName(one));
      });
    },
    sourceRead(sourceKey) {
      for (const canary of canaries.list())
        if (options.heads.sourceOf(namespacedName(canary)) === sourceKey) queue.add(namespacedName(canary));
    },
    conditionOf(canaryKey) {
      const memory = memories.get(canaryKey);
      return memory && conditionFrom(memory);
    },
    async stop() {
      ending.isStopped = true;
      const cancel = clock.after(lastWritesMs, () => ending.abort.abort());
      await queue.stop();
      cancel();
    },
  };
}

interface WritePass {
  readonly key: string;
  readonly canary: KubernetesObject;
  readonly git: SourceGit;
  readonly memory: Memory;
  /** Of this process: what did not come to its end says nothing of Git, and the next leader looks anew. */
  readonly ending: { readonly isStopped: boolean; readonly abort: AbortController };
}

/** Writes what is missing in Git, each write on its own. */
async function writeToGit(options: GitWriterOptions, pass: WritePass): Promise<void> {
  const { key, git, memory } = pass;
  const facts = factsOf(options, pass);
  const { ledger, revert = 'none', status: writesStatus } = facts.write;
  memory.isWanted = ledger === true || writesStatus === true || revert !== 'none';
  memory.records = facts.records;
  // Before the first read it is not known where the ledger is.
  if (git.head() === undefined) return memory.waiting.clear();
  const { where, status } = facts;
  const { clock, documentation } = options;
  const context: WriteContext = {
    git,
    canaryKey: key,
    where,
    status,
    nowMs: clock.nowMs(),
    remember: (entry) => {
      memory.records = withGitRecord(memory.records, entry);
    },
    documentation,
  };
  const writes = writesFor(context, wantedInGit(facts));
  // Refusals of what is not to be written any more are forgotten. While head is not known, it is not known whether a revert is still wanted.
  const isCurrent = (entry: GitRecord) =>
    entry.kind !== 'refused' || writes.some(({ id }) => id === entry.write);
  if (facts.head) memory.records = memory.records.filter(isCurrent);
  const problems = await writeAll(options, pass, writes);
  if (pass.ending.isStopped) return;
  const refused = problems.find(({ reason }) => reason === 'GitRefused');
  const byHand = memory.records.find(
    (entry) => entry.kind === 'revert' && entry.outcome.startsWith('needs a person'),
  );
  memory.problem = refused ?? problems[0] ?? (byHand && { reason: 'RevertByHand', message: byHand.text });
}

function factsOf({ clusterName, heads }: GitWriterOptions, { key, canary, git, memory }: WritePass): Facts {
  const write = git.source.spec.write ?? {};
  const status = canaryStatus(canary);
  const { namespace = '', name } = canary.metadata;
  const { view } = heads.of(key);
  const release = view.kind === 'release' ? view.release : undefined;
  const head = release && { digest: release.digest, commit: release.commit.commit };
  const now = { write, status, head, ledger: git.ledger(key) };
  const where = { cluster: clusterName, namespace, canary: name };
  return { ...now, where, records: currentRecords(memory.records, now) };
}

/** Does those that are due; the problems of all that are missing. */
async function writeAll(
  options: GitWriterOptions,
  pass: WritePass,
  writes: readonly Write[],
): Promise<Problem[]> {
  const { waiting } = pass.memory;
  for (const id of waiting.keys()) if (!writes.some((one) => one.id === id)) waiting.delete(id);
  const problems: Problem[] = [];
  for (const one of writes) {
    if (pass.ending.isStopped) break;
    const problem = await writeOne(options, pass, one);
    if (problem) problems.push(problem);
  }
  return problems;
}

async function writeOne(
  { clock, log }: GitWriterOptions,
  { key, git, memory, ending }: WritePass,
  write: Write,
): Promise<Problem | undefined> {
  const { id } = write;
  const request = requestOf(git.source);
  const refused = givenUp(memory, id, request);
  if (refused) return refused;
  const before = memory.waiting.get(id);
  if (before && clock.nowMs() < before.notBeforeMs) return before.problem;
  const failed = await attempt(memory, write, request);
  memory.waiting.delete(id);
  if (!failed || ending.abort.signal.aborted) return undefined;
  const { pauseMs = 0, ...problem } = failed;
  log.warn({ canary: key, write: id, reason: problem.reason }, problem.message);
  if (givenUp(memory, id, request)) return problem;
  const failures = (before?.failures ?? 0) + 1;
  const retryMs = Math.max(pauseMs, Math.min(maximumRetryMs, firstRetryMs * 2 ** (failures - 1)));
  memory.waiting.set(id, { failures, notBeforeMs: clock.nowMs() + retryMs, problem });
  return problem;
}
