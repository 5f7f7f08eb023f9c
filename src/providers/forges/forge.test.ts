import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import { createHttpClient } from '../../http/client.ts';
import { bitbucket } from './bitbucket.ts';
import { createForge } from './forge.ts';
import { gitea } from './gitea.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { forges } from './table.ts';
import { describeForge, type ForgeFixture } from './testing/contract.ts';
import { type DoubleWire, type ForgeDouble, startForgeDouble } from './testing/double.ts';
import { bitbucketWire } from './testing/double-bitbucket.ts';
import { giteaWire } from './testing/double-gitea.ts';
import { githubWire } from './testing/double-github.ts';
import { gitlabWire } from './testing/double-gitlab.ts';
import type { ForgeClient, ForgeDialect } from './types.ts';

const http = createHttpClient({ allowLoopback: true });
const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

/** Every forge with its double. */
const doubles: Readonly<Record<string, DoubleWire>> = {
  github: githubWire,
  gitlab: gitlabWire,
  gitea: giteaWire,
  bitbucket: bitbucketWire,
};

afterAll(() => http.close());

for (const dialect of forges) {
  const wire = doubles[dialect.kind]!;
  let double: ForgeDouble;
  beforeAll(async () => {
    double = await startForgeDouble(wire);
  });
  afterAll(() => double.close());

  describeForge(dialect.kind, () => fixtureOf(double, dialect, wire));

  describe(`answers of ${dialect.kind} that are no success`, () => {
    const forge = () => forgeAt(double, dialect, 's3cr3t-token');

    it('takes too many requests as a reason to wait for as long as it says', async () => {
      double.failNext({ status: 429, json: { message: 'slow down' }, headers: { 'retry-after': '7' } });
      const answer = forge().findPullRequest('main');
      await expect(answer).rejects.toMatchObject({ code: 'Unavailable', retryAfterMs: 7000 });
      await expect(answer).rejects.toThrow(/slow down/);
    });

    it('takes a proxy’s page for an outage', async () => {
      double.failNext({ status: 502, json: '<html>Bad gateway</html>' });
      await expect(forge().findPullRequest('main')).rejects.toMatchObject({ code: 'Unavailable' });
      double.failNext({ status: 200, json: '<html>Please wait</html>' });
      await expect(forge().findPullRequest('main')).rejects.toMatchObject({ code: 'Unavailable' });
    });

    it('distinguishes a missing right from a used up limit', async () => {
      double.failNext({ status: 403, json: { message: 'no right' } });
      await expect(forge().comment(1, 'x')).rejects.toMatchObject({ code: 'Forbidden' });
      const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW_MS / 1000 + 60) };
      double.failNext({ status: 403, json: { message: 'API rate limit exceeded' }, headers });
      const limited = forge().comment(1, 'x');
      await expect(limited).rejects.toMatchObject({ code: 'Unavailable', retryAfterMs: 60_000 });
    });

    it('recognizes a limit that only the message reports', async () => {
      const message = 'You have exceeded a secondary rate limit. Please wait a few minutes.';
      double.failNext({ status: 403, json: { message } });
      const limited = forge().comment(1, 'x');
      await expect(limited).rejects.toMatchObject({ code: 'Unavailable', retryAfterMs: 60_000 });
    });

    it('does not wait for the end of a limit that is not used up', async () => {
      const headers = { 'x-ratelimit-remaining': '4999', 'x-ratelimit-reset': String(NOW_MS / 1000 + 3000) };
      double.failNext({ status: 503, json: { message: 'try again' }, headers });
      const failed = forge().comment(1, 'x');
      await expect(failed).rejects.toMatchObject({ code: 'Unavailable', retryAfterMs: undefined });
    });

    it('does not follow a redirect, and names where it goes', async () => {
      double.failNext({ status: 301, headers: { location: 'https://elsewhere.example.com/x?token=1' } });
      const moved = forge().findPullRequest('main');
      await expect(moved).rejects.toMatchObject({ code: 'Invalid' });
      await expect(moved).rejects.toThrow(/elsewhere\.example\.com; not followed.*set spec\.url/);
    });

    it('refuses an answer that is something else', async () => {
      double.failNext({ status: 200, json: { values: 7 } });
      await expect(forge().findPullRequest('main')).rejects.toMatchObject({ code: 'Invalid' });
    });

    it('never repeats the token that an answer repeats', async () => {
      const message = 'cannot use s3cr3t-token\u001b[31m here';
      double.failNext({ status: 422, json: { message, error: { message } } });
      const refused = forge().comment(1, 'x');
      await expect(refused).rejects.toThrow(/cannot use \*\*\* \[31m here/);
      await expect(refused).rejects.not.toThrow(/s3cr3t/);
    });
  });
}

describe('peculiarities', () => {
  it('marks a draft in the title where GitHub has no drafts', async () => {
    const double = await startForgeDouble(githubWire);
    double.model.options.refusesDrafts = true;
    double.model.branches.set('b', 'b'.repeat(40));
    const request = { branch: 'b', base: 'main', title: 'Revert it', body: '', draft: true };
    const opened = await forgeAt(double, github, 's3cr3t-token').createPullRequest(request);
    expect(opened.title).toBe('Revert it');
    expect(double.model.pulls[0]).toMatchObject({ title: 'Draft: Revert it', draft: false });
    await double.close();
  });

  it('signs in at Bitbucket with a person’s API token and the address of the account, and shows neither', async () => {
    const authorization = `Basic ${Buffer.from('ada@example.com:ATATT3x=1').toString('base64')}`;
    const double = await startForgeDouble({ ...bitbucketWire, authorization });
    const forge = forgeAt(double, bitbucket, 'ada@example.com:ATATT3x=1');
    expect(await forge.findPullRequest('main')).toBeUndefined();
    double.failNext({ status: 400, json: { error: { message: `not ATATT3x=1, ${authorization}` } } });
    await expect(forge.comment(1, 'x')).rejects.toThrow(/not \*\*\*, Basic \*\*\*$/);
    await double.close();
  });

  it('reads a token of very many signs for Bitbucket at once', () => {
    const effort = measureEffort();
    const token = '@'.repeat(60_000);
    expect(bitbucket.auth({ kind: 'token', token })).toEqual({ kind: 'bearer', token });
    expect(effort()).toBeLessThan(100);
  });

  it('escapes evidence that GitLab would read as commands', async () => {
    const double = await startForgeDouble(gitlabWire);
    await forgeAt(double, gitlab, 's3cr3t-token').comment(1, 'log:\n/merge\n  /approve\na/b and /etc\n');
    expect(double.model.comments[0]?.body).toBe('log:\n\\/merge\n  \\/approve\na/b and /etc\n');
    await double.close();
  });

  it.each([
    [
      'github',
      { message: 'Validation Failed', errors: [{ resource: 'PullRequest', field: 'base', code: 'invalid' }] },
      /Validation Failed.*field base; code invalid/,
    ],
    [
      'gitlab',
      { message: { title: ['is too long'], base: ['Target branch is missing'] } },
      /title is too long; base Target branch is missing/,
    ],
    [
      'bitbucket',
      { type: 'error', error: { message: 'Bad request', fields: { source: ['branch not found'] } } },
      /Bad request: source branch not found/,
    ],
  ] as const)('says which field %s refused and why', async (kind, json, expected) => {
    const double = await startForgeDouble(doubles[kind]!);
    const dialect = forges.find((one) => one.kind === kind)!;
    double.failNext({ status: 422, json });
    await expect(forgeAt(double, dialect, 's3cr3t-token').comment(1, 'x')).rejects.toThrow(expected);
    await double.close();
  });

  it('looks through many pages of a Gitea that gives fewer rows than it is asked for', async () => {
    const double = await startForgeDouble(giteaWire);
    double.model.options.rowsPerPage = 20;
    double.addPull({ branch: 'old', state: 'closed' });
    for (let n = 0; n < 40; n += 1) double.addPull({ branch: `other-${n}` });
    const forge = forgeAt(double, gitea, 's3cr3t-token');
    expect(await forge.findPullRequest('old')).toMatchObject({ number: 1, state: 'closed' });
    expect(await forge.findPullRequest('none')).toBeUndefined();
    await double.close();
  });

  it('looks through many pages of Gitea, which cannot filter by branch', async () => {
    const double = await startForgeDouble(giteaWire);
    double.addPull({ branch: 'old' });
    for (let n = 0; n < 120; n += 1) double.addPull({ branch: `other-${n}` });
    const found = await forgeAt(double, gitea, 's3cr3t-token').findPullRequest('old');
    expect(found).toMatchObject({ number: 1, branch: 'old' });
    await double.close();
  });
});

function forgeAt(
  { url }: ForgeDouble,
  dialect: ForgeDialect,
  token: string,
  repository = 'acme/shop',
): ForgeClient {
  return createForge(dialect, repository, {
    http,
    way: {},
    api: url,
    headers: dialect.headers,
    where: `${dialect.kind} 127.0.0.1, ${repository}`,
    nowMs: () => NOW_MS,
    auth: async () =>
      dialect.kind === 'gitea'
        ? dialect.auth({ kind: 'password', username: 'bot', password: token })
        : dialect.auth({ kind: 'token', token }),
  });
}

function fixtureOf(double: ForgeDouble, dialect: ForgeDialect, wire: DoubleWire): ForgeFixture {
  const { model } = double;
  const pull = (number: number) => model.pulls.find((one) => one.number === number);
  return {
    forge: forgeAt(double, dialect, 's3cr3t-token'),
    stranger: forgeAt(double, dialect, 'wr0ng-token'),
    missing: forgeAt(double, dialect, 's3cr3t-token', 'acme/nothing'),
    failedState: wire.failedState,
    async pushBranch(name) {
      const commit = Buffer.from(name).toString('hex').padEnd(40, '0').slice(-40);
      model.branches.set(name, commit);
      return commit;
    },
    async deleteBranch(name) {
      model.branches.delete(name);
    },
    async merge(number) {
      const found = pull(number);
      if (found) found.state = 'merged';
    },
    async openFromFork(branch) {
      double.addPull({ branch, isFork: true });
    },
    async isDraft(number) {
      const found = pull(number);
      return found !== undefined && wire.isDraft(found);
    },
    async comments(number) {
      return model.comments.filter((one) => one.number === number).map(({ body }) => body);
    },
    async status(commit, context) {
      return model.statuses.findLast((one) => one.commit === commit && one.context === context);
    },
  };
}
