import type { CanaryStatus } from '../../api/canary/status.ts';
import type { PullRequest } from '../../api/forge.ts';
import type { Forge } from '../../contracts/git.ts';
import type { OutdatedRequest, WantedInGit, WantedRevert, WantedStatus } from '../../writeback/decide.ts';
import {
  bumpComment,
  closedComment,
  evidenceFor,
  type RevertDescription,
  revertBody,
  revertTitle,
} from '../../writeback/message.ts';
import type { CanaryInCluster } from '../../writeback/names.ts';
import {
  bumpRecord,
  type GitRecord,
  ledgerRecord,
  revertRecord,
  statusRecord,
} from '../../writeback/records.ts';
import { codeOf } from '../failure.ts';
import type { SourceGit } from '../sync/read/source-git.ts';
import { type BuiltRevert, buildRevert } from './revert-commit.ts';
import { isRefusal, type Write } from './write-state.ts';

/** What the writes of one Canary need. */
export interface WriteContext {
  readonly git: SourceGit;
  readonly canaryKey: string;
  readonly where: CanaryInCluster;
  readonly status: CanaryStatus;
  readonly nowMs: number;
  /** Keeps what is in Git already although the write is not over. */
  readonly remember: (record: GitRecord) => void;
  /** Root of the pages that runbooks are linked to. */
  readonly documentation: string | undefined;
}

/** The writes that bring Git to where it should be, independent of one another. */
export function writesFor(context: WriteContext, wanted: WantedInGit): Write[] {
  const { ledger, revert, bump, statuses, outdated } = wanted;
  return [
    ...(ledger ? [{ id: `ledger ${ledger.after}`, perform: () => moveLedger(context, ledger) }] : []),
    ...(revert ? [{ id: `revert ${revert.branch}`, perform: () => writeRevert(context, revert) }] : []),
    ...(bump ? [{ id: `bump ${bump.commit}`, perform: () => reportBump(context, bump) }] : []),
    ...outdated.map((one) => ({
      id: `close ${one.branch}`,
      perform: () => closeOutdated(context, one),
    })),
    ...statuses.map((one) => ({
      id: `status ${one.state} ${one.about} ${one.commit}`,
      perform: () => setStatus(context, one),
    })),
  ];
}

async function moveLedger(
  { git, canaryKey }: WriteContext,
  update: NonNullable<WantedInGit['ledger']>,
): Promise<GitRecord> {
  try {
    await git.repository.moveRef(update);
  } catch (error) {
    if (codeOf(error) !== 'Conflict') throw error;
    // Another copy may have written the very same; else the next look starts from where the ref is.
    const now = (await git.repository.listRefs(update.ref)).get(update.ref);
    git.noteLedger(canaryKey, now);
    if (now !== update.after) throw error;
  }
  git.noteLedger(canaryKey, update.after);
  return ledgerRecord(update.after);
}

async function setStatus(
  { git }: WriteContext,
  { commit, about, ...status }: WantedStatus,
): Promise<GitRecord> {
  const forge = await git.forge();
  if (!forge)
    throw writeError(
      'Invalid',
      'commit statuses need a forge: the host of spec.url is not a known one, or its address is SSH and the Secret has no forgeToken',
    );
  await forge.setCommitStatus(commit, status).catch((error: unknown) => {
    // Of a commit that another one took the place of: it may be gone, and what else is refused the next one tells.
    if (status.state !== 'error' || !isRefusal(error)) throw error;
  });
  return statusRecord(status.state, commit, about);
}

async function reportBump(
  { git, canaryKey }: WriteContext,
  { branch, digest, commit }: NonNullable<WantedInGit['bump']>,
): Promise<GitRecord> {
  const forge = await git.forge();
  const request = await forge?.findPullRequest(branch);
  if (request) await forge?.comment(request.number, bumpComment(commit, digest, canaryKey));
  return bumpRecord(commit);
}

async function closeOutdated(
  { git, remember }: WriteContext,
  { branch, owesComment, isGood }: OutdatedRequest,
): Promise<GitRecord | undefined> {
  const forge = await git.forge();
  const request = await forge?.findPullRequest(branch);
  if (!forge || !request) return revertRecord(branch, 'gone');
  // First, since each try would leave another comment.
  const state = request.state === 'open' ? await forge.closePullRequest(request.number) : request.state;
  const closed = pullRequestRecord({ ...request, state });
  const isOurs = request.state === 'open' || owesComment;
  if (state === 'merged' || !isOurs) return closed;
  remember(revertRecord(branch, `closing ${request.url}`));
  await forge.comment(request.number, closedComment(git.head() ?? 'head', isGood)).catch((error: unknown) => {
    if (isRefusal(error)) remember(closed);
    throw error;
  });
  return closed;
}

/** The branch is the lock: where it exists, or a pull request from it in any state, nothing is created again. */
async function writeRevert(context: WriteContext, wanted: WantedRevert): Promise<GitRecord | undefined> {
  const { git } = context;
  const ref = `refs/heads/${wanted.branch}`;
  const forge = await git.forge();
  const request = await forge?.findPullRequest(wanted.branch).catch((error: unknown) => {
    // A token that may push needs no right at the API for a commit; without one it has opened no pull request.
    if (wanted.mode !== 'commit' || !isRefusal(error)) throw error;
    return undefined;
  });
  if (request) return pullRequestRecord(request);
  const there = (await git.repository.listRefs(ref)).get(ref);
  if (there !== undefined && !forge) return revertRecord(wanted.branch, 'pushed');
  const built = await buildRevert(git, context.canaryKey, wanted).catch((error: unknown): BuiltRevert => {
    // After a rewritten history the server may no longer hold a commit that is needed: nothing is guessed in its place.
    if (codeOf(error) !== 'NotFound') throw error;
    return { kind: 'impossible', why: 'a commit that it needs is no longer in Git' };
  });
  if (built.kind === 'moved') return undefined;
  if (built.kind === 'impossible') {
    const why = built.why.replace(/[;\s]+/g, ' ').trim();
    return revertRecord(wanted.branch, `needs a person: ${why}`);
  }
  const base = branchOf(git);
  if (wanted.mode === 'commit' && built.kind === 'exact') {
    if (there !== undefined) return revertRecord(wanted.branch, 'pushed');
    const description = describeRevert(context, wanted, built);
    const ref = `refs/heads/${base}`;
    // Also where somebody else pushed first: the next try starts from there.
    const commit = await push(context, { description, built, ref, before: built.head }).finally(git.wake);
    return revertRecord(wanted.branch, `commit ${commit}`);
  }
  const ours = there === undefined ? built : await revertOn(context, wanted, { commit: there, built });
  if (!ours) {
    const why = `branch ${wanted.branch} was there already with other content (delete it and revert by hand)`;
    return revertRecord(wanted.branch, `needs a person: ${why}`);
  }
  const description = describeRevert(context, wanted, ours);
  if (there === undefined) await push(context, { description, built, ref, before: undefined });
  if (!forge) return revertRecord(wanted.branch, 'pushed');
  return pullRequestRecord(await open(forge, { wanted, description, base, draft: built.kind === 'whole' }));
}

type Buildable = Extract<BuiltRevert, { kind: 'exact' | 'whole' }>;

/**
 * The revert that is on the branch already, as it is built where the branch begins: others may have changed the same files since. Undefined for
 * anything else: whoever may push some branch must not have a pull request opened in our name for what he put there.
 */
async function revertOn(
  { git, canaryKey }: WriteContext,
  wanted: WantedRevert,
  { commit, built }: { commit: string; built: Buildable },
): Promise<Buildable | undefined> {
  let found: Buildable | undefined;
  const filesAt = async (parent: string) => {
    const there = parent === built.head ? built : await buildRevert(git, canaryKey, wanted, parent);
    if (there.kind === built.kind) found = there as Buildable;
    return found?.files;
  };
  return (await git.repository.isExactly(commit, { head: built.head, filesAt })) ? found : undefined;
}

function push(
  { git, nowMs }: WriteContext,
  {
    description,
    built,
    ref,
    before,
  }: { description: RevertDescription; built: Buildable; ref: string; before: string | undefined },
): Promise<string> {
  const message = `${revertTitle(description)}\n\n${revertBody(description, 'text')}`;
  const time = Math.floor(nowMs / 1000);
  return git.repository.commitFiles({ parent: built.head, files: built.files, message, time, ref, before });
}

function open(
  forge: Forge,
  {
    wanted,
    description,
    base,
    draft,
  }: { wanted: WantedRevert; description: RevertDescription; base: string; draft: boolean },
): Promise<PullRequest> {
  const [title, body] = [revertTitle(description), revertBody(description, 'markdown')];
  return forge.createPullRequest({ branch: wanted.branch, base, title, body, draft });
}

function describeRevert(context: WriteContext, revert: WantedRevert, built: Buildable): RevertDescription {
  const { where, status, documentation } = context;
  const subject = status.history?.find(({ digest }) => digest === revert.digest)?.subject ?? '';
  const whole = built.kind === 'whole' ? built : undefined;
  const evidence = evidenceFor(status, revert.digest);
  return { where, revert, subject, evidence, documentation, files: [...built.files.keys()], whole };
}

/** The branch that the Source follows, without refs/heads/. Throws Invalid for a tag or a fixed commit: nothing can be pushed there. */
function branchOf({ source }: SourceGit): string {
  const { branch } = source.spec.ref;
  if (branch) return branch.replace(/^refs\/heads\//, '');
  throw writeError(
    'Invalid',
    'spec.write.revert needs spec.ref.branch: a tag or a fixed commit cannot take a revert',
  );
}

function pullRequestRecord({ branch, state, url }: PullRequest): GitRecord {
  return revertRecord(branch, `${state} ${url}`);
}

function writeError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
