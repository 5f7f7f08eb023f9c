import { beforeEach, describe, expect, it, test } from 'vitest';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { CommitStatus, PullRequest } from '../../api/forge.ts';
import type { Forge, Repository } from '../../contracts/git.ts';
import { type WantedRevert, wantedInGit } from '../../writeback/decide.ts';
import { formatGitRecords, type GitRecord, parseGitRecords, withGitRecord } from '../../writeback/records.ts';
import type { SourceGit } from '../sync/read/source-git.ts';
import { writesFor } from './writes.ts';

const [head, good, onBranch] = ['2'.repeat(40), '1'.repeat(40), '3'.repeat(40)];
const branch = 'holdfast/prod/shop/web/revert-bbbbbbbbbbbb';
const revert: WantedRevert = {
  mode: 'pullRequest',
  branch,
  digest: 'v1:bad',
  bad: head,
  good,
  goodDigest: 'v1:good',
  reason: 'ChecksFailed',
  finding: 'latency 900 ms, at most 500 ms',
};

/** A forge in memory. */
function createForge() {
  const requests: Array<PullRequest & { draft: boolean }> = [];
  const comments: Array<[number, string]> = [];
  const statuses = new Map<string, CommitStatus>();
  const forge: Forge = {
    kind: 'memory',
    findPullRequest: async (name) => requests.findLast((request) => request.branch === name),
    async createPullRequest(request) {
      const number = requests.length + 1;
      const made = { ...request, number, url: `https://forge/${number}`, state: 'open' as const, head };
      requests.push(made);
      return made;
    },
    comment: async (number, body) => void comments.push([number, body]),
    async closePullRequest(number) {
      const index = number - 1;
      const found = requests[index];
      if (found?.state === 'open') requests[index] = { ...found, state: 'closed' };
      return found?.state === 'merged' ? 'merged' : 'closed';
    },
    setCommitStatus: async (commit, status) => void statuses.set(commit, status),
  };
  return { forge, requests, comments, statuses };
}

/** A Source whose file holds one word, and renders to a release named by it. */
function createGit(forge: Forge | undefined) {
  const refs = new Map<string, string>([['refs/heads/main', head]]);
  const texts = new Map([
    [head, 'bad\n'],
    [good, 'good\n'],
  ]);
  const messages: string[] = [];
  const repository = {
    listRefs: async (prefix: string) => new Map([...refs].filter(([ref]) => ref.startsWith(prefix))),
    readPaths: async (commit: string, paths: readonly string[]) =>
      new Map(paths.map((path) => [path, Buffer.from(texts.get(commit) ?? '')])),
    changesOf: async () => ({ parent: good, paths: ['web.yaml'] }),
    // What is on the branch was made on `head`.
    isExactly: async (commit: string, { filesAt }: Parameters<Repository['isExactly']>[1]) =>
      texts.get(commit) === Buffer.from((await filesAt(head))?.get('web.yaml') ?? '').toString(),
    async commitFiles({ ref, message }: { ref: string; message: string }) {
      messages.push(message);
      refs.set(ref, onBranch);
      return onBranch;
    },
  } as unknown as Repository;
  const plan = {
    state: 'release',
    canary: { namespace: 'shop', name: 'web' },
    origins: ['web.yaml:1'],
    configs: [],
  };
  const target = { object: { apiVersion: 'v1', kind: 'X', metadata: { name: 'web' } } };
  const git = {
    source: { spec: { ref: { branch: 'main' } } },
    repository,
    head: () => head,
    wake: () => undefined,
    forge: async () => forge,
    render: async (commit: string, changes?: ReadonlyMap<string, Uint8Array>) => ({
      text: Buffer.from(changes?.get('web.yaml') ?? texts.get(commit) ?? '').toString(),
      rest: [],
      problems: [],
      plans: [{ ...plan, target }],
    }),
    digestIn: (snapshot: unknown) => `v1:${(snapshot as { text: string }).text.split('\n')[0]}`,
  } as unknown as SourceGit;
  return { git, refs, messages, texts };
}

let world: ReturnType<typeof createForge> & ReturnType<typeof createGit> & { records: GitRecord[] };
beforeEach(() => {
  const forge = createForge();
  world = { ...forge, ...createGit(forge.forge), records: [] };
});

async function write(wanted: Partial<Parameters<typeof writesFor>[1]>, git = world.git): Promise<string[]> {
  const where = { cluster: 'prod', namespace: 'shop', canary: 'web' };
  const status: CanaryStatus = { history: [] };
  const context = {
    git,
    canaryKey: 'shop/web',
    where,
    status,
    nowMs: 1_790_000_000_000,
    remember,
    documentation: undefined,
  };
  const told: string[] = [];
  for (const { perform } of writesFor(context, { statuses: [], outdated: [], ...wanted })) {
    const record = await perform();
    if (record) remember(record);
    told.push(record?.text ?? 'nothing');
  }
  return told;
}

function remember(record: GitRecord): void {
  world.records = withGitRecord(world.records, record);
}

/** Closes what is outdated once head holds another release, by what the Canary's condition says, as a process that was started just now. */
async function closeOutdated(): Promise<string[]> {
  const records = parseGitRecords(formatGitRecords(world.records));
  const where = { cluster: 'prod', namespace: 'shop', canary: 'web' };
  const now = { digest: 'v1:other', commit: '6'.repeat(40) };
  const { outdated } = wantedInGit({ where, write: {}, status: {}, head: now, ledger: undefined, records });
  return write({ outdated });
}

describe('a pull request that takes a release back', () => {
  it('is left to a person when the commit of the last-known-good is gone from the server', async () => {
    const render = async (commit: string) => {
      if (commit === good) throw Object.assign(new Error('no such commit'), { code: 'NotFound' });
      return world.git.render(commit);
    };
    const [told] = await write({ revert }, { ...world.git, render } as SourceGit);
    expect(told).toContain('needs a person: a commit that it needs is no longer in Git');
    expect(world.requests).toEqual([]);
  });

  it('is opened once, with the evidence in it, and never again in whatever state it is', async () => {
    const told = [`revert ${branch} open https://forge/1`];
    expect(await write({ revert })).toEqual(told);
    expect(await write({ revert })).toEqual(told);
    expect(world.requests).toMatchObject([{ branch, base: 'main', draft: false }]);
    expect(world.requests[0]?.body).toContain('latency 900 ms, at most 500 ms');
    await world.forge.closePullRequest(1);
    expect(await write({ revert })).toEqual([`revert ${branch} closed https://forge/1`]);
    expect(world.messages).toHaveLength(1);
  });

  it('is opened from the branch that a crash left without one', async () => {
    world.refs.set(`refs/heads/${branch}`, onBranch);
    world.texts.set(onBranch, 'good\n');
    expect(await write({ revert })).toEqual([`revert ${branch} open https://forge/1`]);
    expect(world.messages).toEqual([]);
  });

  it('is not opened for what somebody else put on that branch', async () => {
    world.refs.set(`refs/heads/${branch}`, onBranch);
    world.texts.set(onBranch, 'evil\n');
    expect(await write({ revert })).toEqual([expect.stringContaining('needs a person: branch')]);
    expect(world.requests).toEqual([]);
  });

  it('is opened from the branch that the forge took no request for, although others changed the same file since', async () => {
    const [moved, keep] = ['5'.repeat(40), 'a: 1\nb: 1\n'];
    for (const [commit, word] of [
      [head, 'bad'],
      [good, 'good'],
      [moved, 'bad'],
    ] as const)
      world.texts.set(commit, `${word}\n${keep}${commit === moved ? 'c: 1\n' : ''}`);
    const { createPullRequest } = world.forge;
    world.forge.createPullRequest = () => Promise.reject(new Error('the forge answered 503'));
    await expect(write({ revert })).rejects.toThrow('503');
    world.forge.createPullRequest = createPullRequest;
    world.texts.set(onBranch, `good\n${keep}`);

    const told = await write({ revert }, { ...world.git, head: () => moved });

    expect(told).toEqual([`revert ${branch} open https://forge/1`]);
    expect(world.requests).toMatchObject([{ branch, base: 'main', draft: false }]);
    expect(world.messages).toHaveLength(1);
  });

  it('is opened as a draft from the branch of a whole commit, also where commits are asked for and the forge took none at first', async () => {
    const wanted = { ...revert, mode: 'commit' as const, goodDigest: 'v1:another' };
    const { createPullRequest } = world.forge;
    world.forge.createPullRequest = () => Promise.reject(new Error('the forge answered 503'));
    await expect(write({ revert: wanted })).rejects.toThrow('503');
    world.forge.createPullRequest = createPullRequest;
    world.texts.set(onBranch, 'good\n');

    expect(await write({ revert: wanted })).toEqual([`revert ${branch} open https://forge/1`]);
    expect(world.requests).toMatchObject([{ draft: true }]);
  });

  it('is a draft when the whole commit must be taken back, also where commits are asked for', async () => {
    const wanted = { ...revert, mode: 'commit' as const, goodDigest: 'v1:another' };
    await write({ revert: wanted });
    expect(world.requests).toMatchObject([{ draft: true }]);
    expect(world.requests[0]?.body).toContain('whole commit');
    expect(world.refs.get('refs/heads/main')).toBe(head);
  });

  it('is closed with a comment when a person fixed it first, and left alone when it was merged', async () => {
    await write({ revert });
    expect(await closeOutdated()).toEqual([`revert ${branch} closed https://forge/1`]);
    await closeOutdated();
    expect(world.comments).toHaveLength(1);
    expect(world.requests[0]?.state).toBe('closed');
  });

  it('is closed with a comment that says so when its release was tried again and is good', async () => {
    await write({ revert });
    const now = { branch, digest: 'bbbbbbbbbbbb', owesComment: false, isGood: true };
    expect(await write({ outdated: [now] })).toEqual([`revert ${branch} closed https://forge/1`]);
    expect(world.comments).toEqual([[1, expect.stringContaining('tried again and is good')]]);
  });

  it('is not called closed when somebody merges it in the moment in which it is to be closed', async () => {
    await write({ revert });
    const { closePullRequest } = world.forge;
    world.forge.closePullRequest = (number) => {
      Object.assign(world.requests[number - 1] ?? {}, { state: 'merged' });
      return closePullRequest(number);
    };

    expect(await closeOutdated()).toEqual([`revert ${branch} merged https://forge/1`]);

    expect(world.comments).toEqual([]);
    expect(world.records).toMatchObject([{ branch, outcome: 'merged https://forge/1' }]);
  });

  it('gets its one comment once it is closed, however often the forge refuses to close it', async () => {
    await write({ revert });
    const { closePullRequest } = world.forge;
    world.forge.closePullRequest = () => Promise.reject(new Error('the forge answered 503'));
    for (let tries = 0; tries < 3; tries += 1) await expect(closeOutdated()).rejects.toThrow('503');
    world.forge.closePullRequest = closePullRequest;

    await closeOutdated();

    expect(world.comments).toEqual([[1, expect.stringContaining('has another release')]]);
    expect(world.requests[0]?.state).toBe('closed');
  });

  it('gets its comment later, also after a restart, when the forge closes it and then cannot take the comment', async () => {
    await write({ revert });
    const { comment } = world.forge;
    world.forge.comment = () => Promise.reject(new Error('the rate limit is used up'));
    for (let tries = 0; tries < 2; tries += 1) await expect(closeOutdated()).rejects.toThrow('rate limit');
    expect(world.requests[0]?.state).toBe('closed');
    world.forge.comment = comment;

    expect(await closeOutdated()).toEqual([`revert ${branch} closed https://forge/1`]);

    await closeOutdated();
    expect(world.comments).toEqual([[1, expect.stringContaining('has another release')]]);
  });

  it('is closed without a comment when the forge refuses it, and is not asked again', async () => {
    await write({ revert });
    let asked = 0;
    world.forge.comment = () => {
      asked += 1;
      return Promise.reject(Object.assign(new Error('comments need write:issue'), { code: 'Forbidden' }));
    };

    await expect(closeOutdated()).rejects.toThrow('write:issue');

    expect(await closeOutdated()).toEqual([]);
    expect(world.records).toMatchObject([{ branch, outcome: 'closed https://forge/1' }]);
    expect(asked).toBe(1);
  });

  it('gets a comment when another commit brings the release back', async () => {
    await write({ revert });
    const commit = '4'.repeat(40);
    expect(await write({ bump: { branch, digest: 'v1:bad', commit } })).toEqual([
      `rejected again in ${commit}`,
    ]);
    expect(world.comments).toEqual([[1, expect.stringContaining('stays rejected')]]);
  });
});

describe('a commit that takes a release back', () => {
  it('needs no right at the API of the forge, which it does not use', async () => {
    const refused = Object.assign(new Error('needs read_api'), { code: 'Forbidden' });
    world.forge.findPullRequest = () => Promise.reject(refused);

    const told = await write({ revert: { ...revert, mode: 'commit' } });

    expect(told).toEqual([`revert ${branch} commit ${onBranch}`]);
    expect(world.refs.get('refs/heads/main')).toBe(onBranch);
    await expect(write({ revert })).rejects.toThrow('needs read_api');
  });

  it('is made on what somebody else pushed meanwhile, without waiting for the next poll', async () => {
    const wanted = { ...revert, mode: 'commit' as const };
    const moved = '5'.repeat(40);
    let seen = head;
    world.texts.set(moved, 'bad\n');
    const commitFiles: Repository['commitFiles'] = async (commit) => {
      if (commit.parent !== moved) throw Object.assign(new Error('main was changed'), { code: 'Conflict' });
      return world.git.repository.commitFiles(commit);
    };
    const git = {
      ...world.git,
      repository: { ...world.git.repository, commitFiles },
      head: () => seen,
      wake: () => {
        seen = moved;
      },
    };
    await expect(write({ revert: wanted }, git)).rejects.toMatchObject({ code: 'Conflict' });

    expect(await write({ revert: wanted }, git)).toEqual([`revert ${branch} commit ${onBranch}`]);
  });
});

test('a ledger that somebody deleted is made again, without waiting for the next commit', async () => {
  const ref = 'refs/holdfast/prod/shop/web/lkg';
  let known: string | undefined = good;
  const moveRef: Repository['moveRef'] = async ({ before, after }) => {
    if (world.refs.get(ref) !== before)
      throw Object.assign(new Error('it was changed'), { code: 'Conflict' });
    world.refs.set(ref, after);
  };
  const noteLedger: SourceGit['noteLedger'] = (_canary, commit) => {
    known = commit;
  };
  const git = { ...world.git, repository: { ...world.git.repository, moveRef }, noteLedger };
  const move = () => write({ ledger: { ref, before: known, after: head } }, git);
  await expect(move()).rejects.toThrow('it was changed');

  expect(await move()).toEqual([`ledger at ${head}`]);

  expect(world.refs.get(ref)).toBe(head);
});

describe('commit statuses', () => {
  const statuses = [{ commit: head, state: 'failure', context: 'c', description: 'd', about: '' }] as const;

  it('are set at the forge', async () => {
    expect(await write({ statuses })).toEqual([`commit status failure on ${head}`]);
    expect(world.statuses.get(head)).toEqual({ state: 'failure', context: 'c', description: 'd' });
  });

  it('are refused with what to do where there is no forge', async () => {
    await expect(write({ statuses }, createGit(undefined).git)).rejects.toMatchObject({ code: 'Invalid' });
  });
});
