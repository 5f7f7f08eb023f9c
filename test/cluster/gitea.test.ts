import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import type { Source } from '../../src/api/source/source.ts';
import { checkWriting } from '../../src/cli/check/sources-writing.ts';
import { credentialsFromSecret } from '../../src/git/wire/credentials.ts';
import { createGitTransport } from '../../src/git/wire/open-transport.ts';
import { DEFAULT_TRANSPORT_LIMITS } from '../../src/git/wire/transport.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { createGithubAppTokens } from '../../src/providers/forges/github-app.ts';
import { createOpenForge } from '../../src/providers/forges/open.ts';
import { describeForge, type ForgeFixture } from '../../src/providers/forges/testing/contract.ts';
import type { ForgeClient } from '../../src/providers/forges/types.ts';
import { useBed } from './bed/client.ts';
import { type Gitea, startGitea } from './bed/gitea.ts';

/** The contract of src/providers/forges/forge.test.ts once more, on a real Gitea. */

const http = createHttpClient({ allowLoopback: true });
const openForge = createOpenForge({ http, clock: systemClock, tokens: createGithubAppTokens() });
const REPOSITORY = '/repos/acme/shop';

let gitea: Gitea;
let bot: { readonly name: string; readonly token: string };
let fixture: ForgeFixture;

beforeAll(async () => {
  const bed = useBed();
  gitea = await startGitea(bed.giteaFolder, bed.logsDir);
  bot = await gitea.createUser('bot');
  await gitea.createRepository('shop', [bot.name]);
  fixture = await fixtureOf();
}, 2_500_000);

afterAll(async () => {
  await gitea?.stop();
  await http.close();
});

describeForge('a real Gitea', () => fixture);

describe('a real Gitea', () => {
  it('is recognised by its version page', async () => {
    expect((await open('acme/shop', { bearerToken: bot.token })).kind).toBe('gitea');
  });

  it('takes a token as bearer, too', async () => {
    const forge = await open('acme/shop', { bearerToken: bot.token });
    expect(await forge.mayWrite()).toBe(true);
  });

  it('tells that a token read-only, and refuses its writes', async () => {
    const reader = await gitea.createUser('reader');
    const forge = await open('acme/shop', { username: reader.name, password: reader.token });
    expect(await forge.mayWrite()).toBe(false);
    const status = { state: 'success', context: 'x', description: 'x' } as const;
    const { commit } = await mainBranch();
    await expect(forge.setCommitStatus(commit, status)).rejects.toMatchObject({ code: 'Forbidden' });
    await expect(forge.setCommitStatus(commit, status)).rejects.toThrow(/docs\/guides\/forges\.md/);
  });
});

describe('check, of what a Source writes to a real Gitea', () => {
  const write = { ledger: true, revert: 'pullRequest', status: true } as const;

  it('is content with the scopes that the guide names, and shows no token', async () => {
    const lines = await checkAs(bot, write);
    expect(lines.map(({ state, subject }) => `${state} ${subject}`)).toEqual([
      'ok Source delivery/shop, push',
      'ok Source delivery/shop, forge',
    ]);
    expect(JSON.stringify(lines)).not.toContain(bot.token);
  });

  it.each([
    // It shows readers where a push would begin, since they may propose changes so.
    ['who read-only', 'looker', undefined, ['write:repository', 'write:issue'], ['ok', 'failed']],
    ['whose token read-only', 'scoped', 'write', ['read:repository'], ['failed', 'ok']],
  ] as const)('fails for a user %s', async (_what, name, permission, scopes, states) => {
    const user = await gitea.createUser(name, scopes);
    if (permission) await gitea.api('PUT', `${REPOSITORY}/collaborators/${name}`, { permission });
    const lines = await checkAs(user, write);
    expect(lines.map(({ state }) => state)).toEqual(states);
    expect(lines.find(({ state }) => state === 'failed')?.detail).toMatch(/may not push|read-only/);
    expect(JSON.stringify(lines)).not.toContain(user.token);
  });

  it('fails for a wrong token', async () => {
    const lines = await checkAs({ name: bot.name, token: 'wr0ng-token' }, write);
    expect(lines.map(({ state, actor }) => `${state} ${actor}`)).toEqual([
      'failed administrator',
      'failed administrator',
    ]);
  });
});

function checkAs({ name, token }: { name: string; token: string }, write: Source['spec']['write']) {
  const values = { username: Buffer.from(name), password: Buffer.from(token) };
  const source = { ...sourceAt('acme/shop'), spec: { ...sourceAt('acme/shop').spec, write } };
  const transport = createGitTransport({
    client: http,
    url: source.spec.url,
    credentials: credentialsFromSecret('delivery/shop', values),
    limits: DEFAULT_TRANSPORT_LIMITS,
    stats: { requests: 0, receivedBytes: 0 },
    address: { movedTo: undefined },
  });
  return checkWriting(source, {
    openForge: () => openForge(source, async () => ({ values, way: {} })),
    transport,
    values,
  });
}

function sourceAt(repository: string): Source {
  return {
    apiVersion: 'holdfast.dev/v1alpha1',
    kind: 'Source',
    metadata: { name: 'shop', namespace: 'delivery' },
    spec: { url: `${gitea.url}/${repository}.git`, ref: { branch: 'main' } },
  };
}

async function open(repository: string, values: Readonly<Record<string, string>>): Promise<ForgeClient> {
  const bytes = Object.entries(values).map(([key, value]) => [key, Buffer.from(value)] as const);
  const forge = await openForge(sourceAt(repository), async () => ({
    values: Object.fromEntries(bytes),
    way: {},
  }));
  if (!forge) throw new Error('Gitea was not recognised');
  return forge;
}

async function mainBranch(): Promise<{ readonly commit: string }> {
  const branch = await gitea.api<{ commit: { id: string } }>('GET', `${REPOSITORY}/branches/main`);
  return { commit: branch.commit.id };
}

/** A new file on a new branch; each test has its own. */
async function pushBranch(repository: string, branch: string, token = gitea.adminToken): Promise<string> {
  const content = { content: Buffer.from(branch).toString('base64'), message: `Add ${branch}` };
  const place = `/repos/${repository}/contents/${encodeURIComponent(branch)}.txt`;
  const answer = await gitea.api<{ commit: { sha: string } }>(
    'POST',
    place,
    { ...content, branch: 'main', new_branch: branch },
    token,
  );
  return answer.commit.sha;
}

async function fixtureOf(): Promise<ForgeFixture> {
  const sign = { username: bot.name, password: bot.token };
  const mallory = await gitea.createUser('mallory');
  return {
    forge: await open('acme/shop', sign),
    stranger: await open('acme/shop', { ...sign, password: 'wr0ng-token' }),
    missing: await open('acme/nothing', sign),
    failedState: 'failure',
    pushBranch: (name) => pushBranch('acme/shop', name),
    deleteBranch: async (name) => {
      await gitea.api('DELETE', `${REPOSITORY}/branches/${encodeURIComponent(name)}`);
    },
    async merge(number) {
      await gitea.api('POST', `${REPOSITORY}/pulls/${number}/merge`, { Do: 'merge' });
    },
    async openFromFork(branch) {
      await gitea.api('POST', `${REPOSITORY}/forks`, {}, mallory.token);
      await pushBranch('mallory/shop', branch, mallory.token);
      const request = { head: `mallory:${branch}`, base: 'main', title: 'Trust me' };
      await gitea.api('POST', `${REPOSITORY}/pulls`, request, mallory.token);
    },
    async isDraft(number) {
      return (await gitea.api<{ draft: boolean }>('GET', `${REPOSITORY}/pulls/${number}`)).draft;
    },
    async comments(number) {
      const all = await gitea.api<Array<{ body: string }>>('GET', `${REPOSITORY}/issues/${number}/comments`);
      return all.map(({ body }) => body);
    },
    async status(commit, context) {
      const { statuses } = await gitea.api<{
        statuses: Array<{ context: string; status: string; description: string; target_url: string }>;
      }>('GET', `${REPOSITORY}/commits/${commit}/status`);
      const found = statuses.find((one) => one.context === context);
      return found && { state: found.status, description: found.description, targetUrl: found.target_url };
    },
  };
}
