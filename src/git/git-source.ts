import type { HttpClient } from '../http/types.ts';
import type { GitCredentials } from './credentials.ts';
import { entriesBelow } from './entries.ts';
import { GitError } from './errors.ts';
import { DEFAULT_TREE_LIMITS, readFilesBelow } from './files.ts';
import { createGitWriting, type Sign } from './git-writing.ts';
import { ancestry } from './history.ts';
import type { Identity } from './new-objects.ts';
import { type Commit, hasWholeCommit, readCommitObject } from './objects.ts';
import { DEFAULT_PACK_LIMITS, type PackLimits } from './pack-check.ts';
import { type Resolved, referenceKey, resolveReference } from './references.ts';
import {
  createRepository,
  DEFAULT_GROWTH_LIMITS,
  type GrowthLimits,
  type Repository,
  type Session,
} from './repository.ts';
import { storeDirectory } from './store-directory.ts';
import {
  type Address,
  createGitTransport,
  DEFAULT_TRANSPORT_LIMITS,
  type GitTransport,
  type TransportLimits,
  type TransportOptions,
  type TransportStats,
} from './transport.ts';
import { findFolder } from './tree.ts';
import type { GitReference, GitSource, PollResult } from './types.ts';
import { checkGitUrl } from './url.ts';
import type { GitWriting } from './write-types.ts';

/** Settings of one Source's repository. */
export interface GitSourceOptions {
  /** `namespace/name` of the Source: Sources never share a store, since credentials differ. */
  readonly id: string;
  readonly url: string;
  readonly reference: GitReference;
  /** Stores live in `<dataDir>/git`. */
  readonly dataDir: string;
  readonly client: HttpClient;
  /** Asked before each operation, so that a rotated Secret is used at once. Default: anonymous. */
  readonly credentials?: () => GitCredentials | Promise<GitCredentials>;
  /** Who commits; default Holdfast without an address that anybody reads. */
  readonly identity?: Identity;
  /** Asked before each commit. Default: commits are not signed. */
  readonly signer?: () => Promise<Sign | undefined>;
  readonly limits?: Partial<TransportLimits & PackLimits & GrowthLimits>;
}

/** Author and committer unless flags name others. */
export const DEFAULT_IDENTITY: Identity = { name: 'Holdfast', email: 'holdfast@localhost' };

/** A GitSource with what it moved over the network. */
export interface MeasuredGitSource extends GitSource, GitWriting {
  readonly stats: Readonly<TransportStats>;
}

interface Poll {
  readonly previous: string | undefined;
  readonly result: PollResult;
}

/** What the methods of one source share. */
interface Context {
  readonly url: string;
  readonly reference: GitReference;
  /** Private name under which the last head is recorded in the store. */
  readonly record: string;
  readonly repository: Repository;
  readonly transportOptions: (signal?: AbortSignal) => Promise<TransportOptions>;
  readonly openTransport: (signal?: AbortSignal) => Promise<GitTransport>;
  readonly state: { kept: readonly string[]; last: Poll | undefined; growthFactor: number };
}

/** Opens a Source's repository; nothing is read or fetched yet. Throws GitError Refused for a URL that is not allowed. */
export function createGitSource(options: GitSourceOptions): MeasuredGitSource {
  const stats: TransportStats = { requests: 0, receivedBytes: 0 };
  const context = createContext(options, stats);
  const writing = createGitWriting({
    url: context.url,
    identity: options.identity ?? DEFAULT_IDENTITY,
    signer: options.signer ?? (async () => undefined),
    transportOptions: context.transportOptions,
    openTransport: context.openTransport,
    atCommit: (commit, signal, work) => atCommit(context, commit, signal, work),
  });
  return {
    ...writing,
    stats,
    poll: (signal, previous) => poll(context, signal, previous),
    treeOidAt: (commit, path, signal) =>
      atCommit(context, commit, signal, (session, { tree }) => findFolder(session.reader, tree, path)),
    readFiles: (commit, path, { limits, signal, alsoRead = () => false, anyBytes = false } = {}) =>
      atCommit(context, commit, signal, ({ reader, pause }, { tree }) =>
        readFilesBelow(
          { reader, pause, alsoRead, anyBytes, limits: { ...DEFAULT_TREE_LIMITS, ...limits } },
          tree,
          path,
        ),
      ),
    entriesAt: (commit, paths, { signal, maxFileBytes }) =>
      atCommit(context, commit, signal, ({ reader, pause }, { tree }) =>
        entriesBelow({ reader, pause, maxFileBytes }, tree, paths),
      ),
    readCommit: (commit, signal) => atCommit(context, commit, signal, async (_session, { info }) => info),
    hasCommit: (commit) =>
      context.repository.run(undefined, ({ reader }) => hasWholeCommit(reader, checkCommitId(commit))),
    isDescendant: (commit, ancestor, signal) =>
      atCommit(context, commit, signal, (session) => ancestry(session, commit, checkCommitId(ancestor))),
    keep(commits) {
      context.state.kept = commits.map(checkCommitId);
    },
  };
}

function createContext(options: GitSourceOptions, stats: TransportStats): Context {
  const { client, dataDir, id, reference } = options;
  const url = checkGitUrl(options.url);
  const limits = {
    ...DEFAULT_TRANSPORT_LIMITS,
    ...DEFAULT_PACK_LIMITS,
    ...DEFAULT_GROWTH_LIMITS,
    ...options.limits,
  };
  const address: Address = { movedTo: undefined };
  const transportOptions = async (signal?: AbortSignal) => {
    const credentials = (await options.credentials?.()) ?? {};
    return { client, url, credentials, limits, stats, address, signal };
  };
  const openTransport = async (signal?: AbortSignal) => createGitTransport(await transportOptions(signal));
  const directory = storeDirectory(dataDir, id, url);
  const repository = createRepository({ directory, openTransport, packLimits: limits, growth: limits });
  const state = { kept: [], last: undefined, growthFactor: 1 };
  const record = `poll/${referenceKey(reference)}`;
  return { url, reference, record, repository, transportOptions, openTransport, state };
}

async function poll(context: Context, signal: AbortSignal, previous?: string): Promise<PollResult> {
  const { openTransport, reference, state, url } = context;
  const target = await resolveReference(() => openTransport(signal), url, reference);
  const answer = repeated(state.last, target, previous);
  if (answer) return answer;
  const last = await update(context, target, signal, previous);
  state.last = last;
  await rebuild(context, target.commit, signal);
  return last.result;
}

function update(
  { record, repository, state }: Context,
  target: Resolved,
  signal: AbortSignal,
  previous?: string,
): Promise<Poll> {
  // Kept outside the work: when the store turns out damaged and is replaced, what was seen before still counts.
  let known = previous ?? state.last?.result.head.commit;
  return repository.run(signal, async (session) => {
    known ??= await session.recorded(record);
    await session.ensure(target);
    const head = await requireCommit(session, target.commit);
    const kind = await compare(session, target, known);
    await session.record(record, target.commit);
    return {
      previous: known,
      result: { kind, head: head.info, treeOid: head.tree, refName: target.refName },
    };
  });
}

/** A store that cannot be rebuilt now stays in use, and is tried again when it has doubled. */
async function rebuild(
  { record, repository, state }: Context,
  head: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await repository.rebuildIfGrown(signal, state.growthFactor, async (session, old) => {
      await fetchById(session, head);
      // What the old store does not hold either cannot be lost here.
      for (const commit of state.kept)
        if (await hasWholeCommit(old, commit)) await fetchById(session, commit);
      await session.record(record, head);
    });
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    state.growthFactor *= 2;
  }
}

/** Work on a commit that is fetched by its id when the store does not hold it. */
function atCommit<T>(
  { repository }: Context,
  commit: string,
  signal: AbortSignal | undefined,
  work: (session: Session, commit: Commit) => Promise<T>,
): Promise<T> {
  return repository.run(signal, async (session) => {
    if (!(await hasWholeCommit(session.reader, checkCommitId(commit)))) await fetchById(session, commit);
    return work(session, await requireCommit(session, commit));
  });
}

/** The answer without touching the disk, when the same question has the same target as last time. */
function repeated(
  last: Poll | undefined,
  target: Resolved,
  previous: string | undefined,
): PollResult | undefined {
  if (!last || last.result.head.commit !== target.commit || last.result.refName !== target.refName)
    return undefined;
  const asked = previous ?? target.commit;
  if (asked === target.commit) return { ...last.result, kind: 'unchanged' };
  return asked === last.previous ? last.result : undefined;
}

async function compare(
  session: Session,
  target: Resolved,
  known: string | undefined,
): Promise<PollResult['kind']> {
  if (known === target.commit) return 'unchanged';
  // A commit that the Source itself names is no surprise, and another tag in the range is what a range is for.
  if (known === undefined || target.refName === target.commit || target.candidates.includes(known))
    return 'moved';
  return (await ancestry(session, target.commit, known)) === 'yes' ? 'moved' : 'rewritten';
}

async function fetchById(session: Session, commit: string): Promise<void> {
  await session.ensure({ commit, depth: 1 });
  await session.record(`kept/${commit}`, commit);
}

async function requireCommit({ reader }: Session, oid: string): Promise<Commit> {
  const commit = await readCommitObject(reader, oid);
  if (commit) return commit;
  throw new GitError('RefNotFound', `${oid} is not a commit; spec.ref must lead to one`);
}

function checkCommitId(commit: string): string {
  if (/^[0-9a-f]{40}$/.test(commit)) return commit;
  throw new GitError('NotFound', `${JSON.stringify(commit.slice(0, 80))} is no full commit id`);
}
