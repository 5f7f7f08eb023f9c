import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewCommit } from '../../contracts/git.ts';
import { sshSigner } from '../sign/ssh-signature.ts';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';

const main = 'refs/heads/main';
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
  fixture.repository.bare('config', 'http.receivepack', 'true');
});
afterEach(() => fixture.close());

function request(parent: string, files: Record<string, string | undefined>, more: Partial<NewCommit> = {}) {
  const bytes = Object.entries(files).map(
    ([path, text]) => [path, text === undefined ? undefined : Buffer.from(text)] as const,
  );
  const base = { parent, files: new Map(bytes), message: 'Undo\n\nBecause.', time: 1_790_000_000 };
  return { ...base, ref: main, before: parent, ...more };
}

function servedFolder(): string {
  return join(dirname(fixture.dataDir), 'shop.git');
}

function preReceive(script: string): void {
  const hook = join(servedFolder(), 'hooks', 'pre-receive');
  writeFileSync(hook, `#!/bin/sh\n${script}\n`);
  chmodSync(hook, 0o755);
}

describe('a commit that is pushed', () => {
  it('holds the changed files and leaves every other byte, mode and name as it was', async () => {
    const odd = {
      'deep/x.yaml': 'x: 1\n',
      'deep/sub/y.yaml': 'y: 1\n',
      'deep-not/z': 'z',
      'a.yaml': 'a: 1\n',
    };
    fixture.repository.commit(odd);
    chmodSync(join(dirname(fixture.dataDir), 'shop', 'deep', 'x.yaml'), 0o755);
    const parent = fixture.repository.commit({ 'only/here.yaml': 'h: 1\n' });
    const source = fixture.source();
    const files = { 'deep/x.yaml': 'x: 2\n', 'only/here.yaml': undefined, 'new/n.yaml': 'n: 1\n' };
    const commit = await source.commitFiles(request(parent, files));
    expect(fixture.repository.bare('rev-parse', main)).toBe(commit);
    expect(fixture.repository.bare('log', '-1', '--format=%P%n%an <%ae>%n%B', main)).toBe(
      `${parent}\nHoldfast <holdfast@localhost>\nUndo\n\nBecause.`,
    );
    expect(fixture.repository.bare('ls-tree', '-r', '--name-only', main).split('\n')).toEqual([
      'a.yaml',
      'deep-not/z',
      'deep/sub/y.yaml',
      'deep/x.yaml',
      'new/n.yaml',
    ]);
    expect(fixture.repository.bare('ls-tree', main, 'deep/x.yaml')).toMatch(/^100755/);
    expect(fixture.repository.bare('show', `${main}:deep/x.yaml`)).toBe('x: 2');
    expect(fixture.repository.bare('fsck', '--strict')).not.toMatch(/error/);
  });

  it.each([
    ['a file the folder that it was', { conf: 'c' }, { conf: undefined, 'conf/a': 'a' }, ['conf/a', 'kept']],
    [
      'the same changes in the other order',
      { conf: 'c' },
      { 'conf/a': 'a', conf: undefined },
      ['conf/a', 'kept'],
    ],
    [
      'a folder the file that it was',
      { 'conf/a': 'a' },
      { conf: 'c', 'conf/a': undefined },
      ['conf', 'kept'],
    ],
    [
      'the same changes in the other order',
      { 'conf/a': 'a' },
      { 'conf/a': undefined, conf: 'c' },
      ['conf', 'kept'],
    ],
  ])('makes %s', async (_, before, files, after) => {
    const parent = fixture.repository.commit({ kept: 'k', ...before });

    await fixture.source().commitFiles(request(parent, files));

    expect(fixture.repository.bare('ls-tree', '-r', '--name-only', main).split('\n')).toEqual(after);
    expect(fixture.repository.bare('fsck', '--strict')).not.toMatch(/error/);
  });

  it('takes no file with it that came into a folder which was a file', async () => {
    const parent = fixture.repository.commit({ 'conf/a': 'a', 'conf/later': 'l' });

    const pushed = fixture.source().commitFiles(request(parent, { conf: 'c', 'conf/a': undefined }));

    await expect(pushed).rejects.toMatchObject({ code: 'Refused' });
    expect(fixture.repository.bare('rev-parse', main)).toBe(parent);
  });

  it('is what the next poll sees as a descendant', async () => {
    const parent = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    const source = fixture.source();
    const signal = new AbortController().signal;
    await source.poll(signal);
    const commit = await source.commitFiles(request(parent, { 'a.yaml': 'a: 2\n' }));
    const seen = await source.poll(signal);
    expect(seen).toMatchObject({ kind: 'moved', head: { commit, subject: 'Undo' } });
  });

  it('goes to a new branch when it must not exist yet, and only then', async () => {
    const parent = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    const ref = 'refs/heads/holdfast/prod/shop/web/revert-1234567';
    const source = fixture.source();
    const one = request(parent, { 'a.yaml': 'a: 2\n' }, { ref, before: undefined });
    const commit = await source.commitFiles(one);
    expect(await source.listRefs('refs/heads/holdfast/prod/')).toEqual(new Map([[ref, commit]]));
    await expect(source.commitFiles({ ...one, message: 'Again' })).rejects.toMatchObject({
      code: 'Conflict',
    });
    expect(fixture.repository.bare('rev-parse', ref)).toBe(commit);
  });
});

describe('a push that must not succeed', () => {
  it('is a conflict when the branch moved before it', async () => {
    const parent = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    const later = fixture.repository.commit({ 'b.yaml': 'b: 1\n' });
    const pushed = fixture.source().commitFiles(request(parent, { 'a.yaml': 'a: 2\n' }));
    await expect(pushed).rejects.toMatchObject({ code: 'Conflict' });
    expect(fixture.repository.bare('rev-parse', main)).toBe(later);
  });

  it('is a conflict when the branch moved between the look and the write', async () => {
    const parent = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    let later = '';
    fixture.server.fault = ({ method, url }) => {
      if (method === 'POST' && url?.endsWith('git-receive-pack') && later === '')
        later = fixture.repository.commit({ 'b.yaml': 'b: 1\n' });
      return false;
    };
    const pushed = fixture.source().commitFiles(request(parent, { 'a.yaml': 'a: 2\n' }));
    await expect(pushed).rejects.toMatchObject({ code: 'Conflict' });
    expect(fixture.repository.bare('rev-parse', main)).toBe(later);
  });

  it("is rejected with the hook's words when the branch is protected", async () => {
    const parent = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    preReceive('echo "main is protected: open a pull request" >&2; exit 1');
    const pushed = fixture.source().commitFiles(request(parent, { 'a.yaml': 'a: 2\n' }));
    await expect(pushed).rejects.toMatchObject({
      code: 'Rejected',
      message: expect.stringMatching(
        /refused to move refs\/heads\/main: pre-receive hook declined; .*main is protected/,
      ),
    });
    expect(fixture.repository.bare('rev-parse', main)).toBe(parent);
  });

  it.each([
    [401, 'Unauthorized'],
    [403, 'Unauthorized'],
    [404, 'NotFound'],
    [500, 'Unreachable'],
    [302, 'Redirected'],
  ])('status %d to the push is %s', async (status, code) => {
    const parent = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    const source = fixture.source();
    await source.poll(new AbortController().signal);
    fixture.server.fault = ({ url }, response) => {
      if (!url?.includes('receive-pack')) return false;
      response.writeHead(status, { location: `${fixture.server.url}/other.git/git-receive-pack` }).end('no');
      return true;
    };
    const pushed = source.commitFiles(request(parent, { 'a.yaml': 'a: 2\n' }));
    await expect(pushed).rejects.toMatchObject({ code });
    expect(fixture.server.requests.filter(({ url }) => url.startsWith('/other.git'))).toEqual([]);
  });

  it.each([
    ['cut', (body: Buffer) => body.subarray(0, body.length - 6)],
    ['empty', () => Buffer.alloc(0)],
  ])('succeeds although the answer is %s, where the branch is at it', async (_, answer) => {
    const parent = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    fixture.server.transform = (body, { method, url }) =>
      method === 'POST' && url?.endsWith('git-receive-pack') ? answer(body) : body;

    const commit = await fixture.source().commitFiles(request(parent, { 'a.yaml': 'a: 2\n' }));

    expect(fixture.repository.bare('rev-parse', main)).toBe(commit);
  });

  it.each([
    ['the refs', 'GET'],
    ['the push', 'POST'],
  ])('is no refusal where the server answers nothing to %s', async (_, method) => {
    const parent = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    const source = fixture.source();
    await source.poll(new AbortController().signal);
    fixture.server.fault = (asked, response) => {
      if (asked.method !== method || !asked.url?.includes('receive-pack')) return false;
      response.end();
      return true;
    };

    const pushed = source.commitFiles(request(parent, { 'a.yaml': 'a: 2\n' }));

    await expect(pushed).rejects.toMatchObject({ code: 'Unreachable' });
  });

  it('refuses to write onto a link', async () => {
    fixture.repository.git('commit', '-q', '--allow-empty', '-m', 'first');
    fixture.repository.git('update-index', '--add', '--cacheinfo', '120000', linkBlob(), 'link.yaml');
    const parent = commitIndex();
    const pushed = fixture.source().commitFiles(request(parent, { 'link.yaml': 'a: 2\n' }));
    await expect(pushed).rejects.toMatchObject({ code: 'Refused' });
  });
});

function linkBlob(): string {
  writeFileSync(join(servedFolder(), 'target'), '/etc/passwd');
  return fixture.repository.git('hash-object', '-w', join(servedFolder(), 'target'));
}

function commitIndex(): string {
  fixture.repository.git('commit', '-q', '-m', 'link');
  fixture.repository.git('push', '-q', 'origin', 'HEAD:refs/heads/main');
  return fixture.repository.git('rev-parse', 'HEAD');
}

describe('a ref that preserves a commit', () => {
  const ledger = 'refs/holdfast/prod/shop/web/lkg';

  it('is created, moved by compare and swap, and preserves the commit after a force-push and gc', async () => {
    const good = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    const source = fixture.source();
    await source.moveRef({ ref: ledger, before: undefined, after: good });
    fixture.repository.git('commit', '-q', '--amend', '-m', 'rewritten');
    fixture.repository.forcePush();
    fixture.repository.bare('reflog', 'expire', '--expire=now', '--all');
    fixture.repository.bare('gc', '-q', '--prune=now');
    const fresh = fixture.source({ namespace: 'fresh' });
    expect((await fresh.readPaths(good, ['a.yaml'])).get('a.yaml')?.toString()).toBe('a: 1\n');
    const next = fixture.repository.commit({ 'a.yaml': 'a: 2\n' });
    await source.moveRef({ ref: ledger, before: good, after: next });
    expect(await source.listRefs('refs/holdfast/prod/')).toEqual(new Map([[ledger, next]]));
    const stale = source.moveRef({ ref: ledger, before: good, after: next });
    await expect(stale).rejects.toMatchObject({ code: 'Conflict' });
  });

  it('is rejected for a commit that the server does not have', async () => {
    fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    const lost = fixture.source().moveRef({ ref: ledger, before: undefined, after: 'a'.repeat(40) });
    await expect(lost).rejects.toMatchObject({ code: 'Rejected' });
  });
});

describe('what writing reads', () => {
  it('gives files by their paths, and undefined for what is no file', async () => {
    const commit = fixture.repository.commit({ 'deep/x.yaml': 'x: 1\n', 'a.bin': Buffer.from([0, 255]) });
    const found = await fixture.source().readPaths(commit, ['deep/x.yaml', 'a.bin', 'deep', 'none/x']);
    expect([...found].map(([path, bytes]) => [path, bytes && [...bytes].length])).toEqual([
      ['deep/x.yaml', 5],
      ['a.bin', 2],
      ['deep', undefined],
      ['none/x', undefined],
    ]);
  });

  it('says what a commit changed, also when the store began at that commit', async () => {
    const first = fixture.repository.commit({
      'a.yaml': 'a',
      'deep/b.yaml': 'b',
      'deep/c.yaml': 'c',
      d: 'd',
    });
    const second = fixture.repository.commit({
      'a.yaml': 'A',
      'deep/b.yaml': null,
      'deep/e/f': 'f',
      d: null,
      'd/d': 'd',
    });
    const paths = ['a.yaml', 'd', 'd/d', 'deep/b.yaml', 'deep/e/f'];
    expect(await fixture.source().changesOf(second)).toEqual({ parent: first, paths });
    await expect(fixture.source().changesOf(first)).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('a commit on a branch is exactly a change', () => {
  const change = { 'web.yaml': 'w: 1\n', 'new.yaml': undefined };

  /** These files, at the parent of whatever commit. */
  function onTopOf(head: string, files: Record<string, string | undefined>) {
    return { head, filesAt: async () => request(head, files).files };
  }

  /** The answer of `isExactly` for a pushed commit. */
  async function isExactly(push: () => string): Promise<boolean> {
    const parent = fixture.repository.commit({ 'web.yaml': 'w: 2\n', 'new.yaml': 'n: 1\n', 'own.yaml': 'o' });
    return fixture.source().isExactly(push(), onTopOf(parent, change));
  }

  const pushed = (files: Readonly<Record<string, string | null>>) => () =>
    fixture.repository.commit(files, 'Undo', 'undo');

  it('where it holds these files and leaves the others', async () => {
    expect(await isExactly(pushed({ 'web.yaml': 'w: 1\n', 'new.yaml': null }))).toBe(true);
  });

  it('when others pushed other files in between', async () => {
    const parent = fixture.repository.commit({ 'web.yaml': 'w: 2\n', 'new.yaml': 'n: 1\n' });
    const undo = pushed({ 'web.yaml': 'w: 1\n', 'new.yaml': null })();
    fixture.repository.git('reset', '-q', '--hard', parent);
    const head = fixture.repository.commit({ 'own.yaml': 'O' });
    const source = fixture.source();
    expect(await source.isExactly(undo, onTopOf(head, change))).toBe(true);
    const aside = fixture.repository.commit({ 'own.yaml': 'aside' }, 'Aside', 'aside');
    expect(await source.isExactly(aside, onTopOf(head, { 'own.yaml': 'aside' }))).toBe(true);
    const another = fixture.repository.commit({ 'web.yaml': 'w: 1\n', 'new.yaml': null }, 'Undo', 'other');
    expect(await source.isExactly(another, onTopOf(head, change))).toBe(false);
  });

  it('when others pushed the same file in between, as the files are asked for where it begins', async () => {
    const parent = fixture.repository.commit({ 'web.yaml': 'w: 2\n' });
    const undo = pushed({ 'web.yaml': 'w: 1\n' })();
    fixture.repository.git('reset', '-q', '--hard', parent);
    const head = fixture.repository.commit({ 'web.yaml': 'w: 2\nx: 1\n' });
    const filesAt = async (commit: string) =>
      request(commit, { 'web.yaml': commit === parent ? 'w: 1\n' : 'w: 1\nx: 1\n' }).files;
    expect(await fixture.source().isExactly(undo, { head, filesAt })).toBe(true);
  });

  it('and nothing is asked for at a commit that head does not descend from', async () => {
    const head = fixture.repository.commit({ 'web.yaml': 'w: 2\n' });
    pushed({ 'web.yaml': 'theirs' })();
    const theirs = pushed({ 'web.yaml': 'w: 1\n' })();
    const asked: string[] = [];
    const filesAt = async (commit: string) => {
      asked.push(commit);
      return request(commit, { 'web.yaml': 'w: 1\n' }).files;
    };
    expect(await fixture.source().isExactly(theirs, { head, filesAt })).toBe(false);
    expect(asked).toEqual([]);
  });

  it.each<[string, () => string]>([
    ['a file has other content', pushed({ 'web.yaml': 'w: 3\n', 'new.yaml': null })],
    ['a file more is changed', pushed({ 'web.yaml': 'w: 1\n', 'new.yaml': null, 'own.yaml': 'O' })],
    ['a file is emptied instead of deleted', pushed({ 'web.yaml': 'w: 1\n', 'new.yaml': '' })],
    [
      'a file became a link',
      () => {
        const file = join(dirname(fixture.dataDir), 'shop', 'new.yaml');
        rmSync(file);
        symlinkSync('/etc/passwd', file);
        return pushed({ 'web.yaml': 'w: 1\n' })();
      },
    ],
    [
      'there is a commit between',
      () => {
        pushed({ 'own.yaml': 'O' })();
        return pushed({ 'own.yaml': 'o', 'web.yaml': 'w: 1\n', 'new.yaml': null })();
      },
    ],
    [
      'it merges another history',
      () => {
        const undo = pushed({ 'web.yaml': 'w: 1\n', 'new.yaml': null })();
        const { git } = fixture.repository;
        const merge = git('commit-tree', `${undo}^{tree}`, '-p', `${undo}^`, '-p', undo, '-m', 'Undo');
        git('push', '-q', 'origin', `${merge}:refs/heads/undo`);
        return merge;
      },
    ],
  ])('and is not where %s', async (_, push) => {
    expect(await isExactly(push)).toBe(false);
  });
});

describe('a signed commit', () => {
  it('is verified by git against the allowed signers', async () => {
    const folder = dirname(fixture.dataDir);
    const key = join(folder, 'key');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    const pem = readFileSync(key, 'utf8');
    const parent = fixture.repository.commit({ 'a.yaml': 'a: 1\n' });
    const source = fixture.source({ signer: async () => sshSigner(pem) });
    const commit = await source.commitFiles(request(parent, { 'a.yaml': 'a: 2\n' }));
    const signers = join(folder, 'signers');
    writeFileSync(signers, `holdfast@localhost ${readFileSync(`${key}.pub`, 'utf8')}`);
    const config = ['-c', 'gpg.format=ssh', '-c', `gpg.ssh.allowedSignersFile=${signers}`];
    const shown = fixture.repository.bare(...config, 'log', '-1', '--format=%G? %GS', commit);
    expect(shown).toBe('G holdfast@localhost');
  });
});
