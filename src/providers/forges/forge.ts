import type { CommitStatus, NewPullRequest, PullRequest } from '../../api/forge.ts';
import { beginningOf, singleLine } from '../../api/limits.ts';
import { ForgeError } from './errors.ts';
import { type ForgeConnection, sendToForge } from './send.ts';
import type { ForgeCall, ForgeClient, ForgeDialect, ReadPullRequest } from './types.ts';

/** Pages of pull requests that are looked through: the newest thousand on Gitea, which cannot filter by branch. */
const MAX_PAGES = 20;
/** Longest description of a commit status (GitHub refuses more). */
const DESCRIPTION_LIMIT = 140;
/** Longest title (GitLab, Gitea and Bitbucket: 255). */
const TITLE_LIMIT = 255;
/** Longest body or comment; Bitbucket takes 32 KiB, the others more. */
const BODY_LIMIT = 30_000;
/** The end of one that was longer. */
const CUT = '\n\n(The rest was cut.)\n';
const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

interface Parts {
  readonly where: string;
  readonly dialect: ForgeDialect;
  readonly repository: string;
  call(what: string, call: ForgeCall): Promise<unknown>;
}

/** The forge of one repository, through its dialect. */
export function createForge(
  dialect: ForgeDialect,
  repository: string,
  connection: ForgeConnection,
): ForgeClient {
  const call = (what: string, request: ForgeCall) => sendToForge(connection, what, request);
  const parts: Parts = { where: connection.where, dialect, repository, call };
  return {
    kind: dialect.kind,
    findPullRequest: (branch) => find(parts, branch),
    createPullRequest: (request) => create(parts, request),
    async comment(number, text) {
      await call(`comment on #${number}`, dialect.comment(repository, number, safeBody(dialect, text)));
    },
    async closePullRequest(number) {
      const answer = await call(`read #${number}`, dialect.get(repository, number));
      const { state } = readWith(parts, answer, dialect.read);
      if (state === 'open') await call(`close #${number}`, dialect.close(repository, number));
      return state === 'merged' ? 'merged' : 'closed';
    },
    setCommitStatus: (commit, status) => setStatus(parts, commit, status),
    mayWrite: async () =>
      readWith(parts, await call('read the repository', dialect.repositoryOf(repository)), dialect.mayWrite),
  };
}

async function find(parts: Parts, branch: string): Promise<PullRequest | undefined> {
  const { dialect, repository, call } = parts;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const answer = await call(`find the pull request of ${branch}`, dialect.list(repository, branch, page));
    const rows = readWith(parts, answer, dialect.rows);
    const found = rows
      .map((row) => readWith(parts, row, dialect.read))
      .find((pull) => pull.branch === branch && !pull.fromFork);
    if (found) return shown(found);
    if (rows.length < (dialect.pageSize ?? 1)) return undefined;
  }
  return undefined;
}

/** A branch has one open pull request: an existing one is used, which may be our own from before a crash. */
async function create(parts: Parts, request: NewPullRequest): Promise<PullRequest> {
  try {
    return await open(parts, request);
  } catch (error) {
    if (!(error instanceof ForgeError) || error.code !== 'Invalid') throw error;
    const there = await find(parts, request.branch);
    if (there?.state === 'open') return there;
    throw error;
  }
}

async function open(parts: Parts, request: NewPullRequest): Promise<PullRequest> {
  const { dialect, repository, call } = parts;
  const what = `open a pull request from ${request.branch}`;
  const send = async (draft: boolean, prefix: string) => {
    const title = singleLine(`${prefix}${request.title}`, TITLE_LIMIT);
    const content = { ...request, draft, title, body: safeBody(dialect, request.body) };
    return shown(readWith(parts, await call(what, dialect.create(repository, content)), dialect.read));
  };
  if (!request.draft) return send(false, '');
  if (dialect.draft !== 'field') return send(false, dialect.draft.prefix);
  try {
    return await send(true, '');
  } catch (error) {
    // GitHub has no drafts in private repositories of its free plan: then the title marks the draft.
    if (!(error instanceof ForgeError) || !/draft/i.test(error.forgeMessage) || error.code !== 'Invalid')
      throw error;
    return send(false, 'Draft: ');
  }
}

async function setStatus(parts: Parts, commit: string, status: CommitStatus): Promise<void> {
  const { dialect, repository, call } = parts;
  if (!COMMIT.test(commit)) throw new ForgeError('Invalid', `${commit.slice(0, 70)} is not a full commit id`);
  const short = { ...status, description: singleLine(status.description, DESCRIPTION_LIMIT) };
  try {
    await call(`set the status of ${commit.slice(0, 7)}`, dialect.status(repository, commit, short));
  } catch (error) {
    if (!(error instanceof ForgeError) || !dialect.isSameStatus?.(error.forgeMessage, status)) throw error;
  }
}

/** Markdown of at most BODY_LIMIT characters that says when it was cut. */
function safeBody(dialect: ForgeDialect, text: string): string {
  const safe = dialect.safeText?.(text) ?? text;
  return safe.length <= BODY_LIMIT ? safe : beginningOf(safe, BODY_LIMIT - CUT.length) + CUT;
}

/** As the contract has it: without the prefix of a draft. */
function shown({ fromFork: _, ...pull }: ReadPullRequest): PullRequest {
  const title = pull.title.replace(/^\s*(?:(?:draft|wip):\s*|\[(?:draft|wip)\]\s*|\(draft\)\s*)/i, '');
  return { ...pull, title };
}

/** An answer of another shape is that of an unknown version, or of a proxy in between. */
function readWith<T>({ where, dialect }: Parts, answer: unknown, read: (answer: unknown) => T): T {
  try {
    return read(answer);
  } catch {
    throw new ForgeError('Invalid', `${where}: unexpected answer from the ${dialect.kind} API`);
  }
}
