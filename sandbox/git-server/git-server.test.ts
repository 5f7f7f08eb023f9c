import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/api/clock.ts';
import { createGitSource } from '../../src/git/poll/git-source.ts';
import { createStores } from '../../src/git/store/stores.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { git } from './git.test-support.ts';
import { commitFiles, createRepository, revertHead } from './git-repository.ts';
import { type GitServer, startGitServer } from './git-server.ts';

const run = promisify(execFile);
let root: string;
let server: GitServer;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'holdfast-git-'));
  server = await startGitServer({ root });
});

afterEach(async () => {
  await server.close();
  await rm(root, { recursive: true, force: true });
});

test('serves commits made without a checkout, and takes a push', async () => {
  const repository = await createRepository(root, 'shop');
  const first = await commitFiles(repository, {
    subject: 'First',
    files: { 'a.yaml': 'a: 1\n', 'deep/b.yaml': 'b: 1\n' },
  });
  const clone = join(root, 'clone');
  await run('git', ['clone', '--quiet', `${server.url}/shop.git`, clone]);
  expect(await readFile(join(clone, 'deep/b.yaml'), 'utf8')).toBe('b: 1\n');
  await writeFile(join(clone, 'a.yaml'), 'a: 2\n');
  const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'];
  await run('git', ['-C', clone, ...identity, 'commit', '--quiet', '-am', 'Second']);
  await run('git', ['-C', clone, 'push', '--quiet', 'origin', 'main']);
  expect(await git(repository, ['log', '--format=%s', 'main'])).toBe('Second\nFirst');
  expect(await git(repository, ['rev-parse', 'main~1'])).toBe(first);
});

test('keeps files that a commit does not name, and deletes those it sets to null', async () => {
  const repository = await createRepository(root, 'shop');
  await commitFiles(repository, { subject: 'First', files: { a: '1', b: '1' }, author: 'Ann Other' });
  await commitFiles(repository, { subject: 'Second', files: { b: null, c: '2' } });
  expect(await git(repository, ['ls-tree', '--name-only', 'main'])).toBe('a\nc');
  expect(await git(repository, ['log', '--format=%an', '-1', 'main~1'])).toBe('Ann Other');
});

test('commits on top of a branch whose ref git has packed', async () => {
  const repository = await createRepository(root, 'shop');
  const first = await commitFiles(repository, { subject: 'First', files: { a: '1' } });
  await git(repository, ['pack-refs', '--all']);
  await commitFiles(repository, { subject: 'Second', files: { b: '2' } });
  expect(await git(repository, ['rev-parse', 'main~1'])).toBe(first);
  expect(await git(repository, ['ls-tree', '--name-only', 'main'])).toBe('a\nb');
});

test('puts a file in the place of a folder, and a folder in that of a file, as git does', async () => {
  const repository = await createRepository(root, 'shop');
  const first = { 'a/b': '1', 'a/c': '1', 'a.b': '1', d: '1', ä: '1' };
  await commitFiles(repository, { subject: 'First', files: first });
  const second = await commitFiles(repository, {
    subject: 'Second',
    files: { a: '2', 'd/e': '2', 'ä/b': null },
  });
  const names = async (commit: string) =>
    (await git(repository, ['ls-tree', '-r', '-z', '--name-only', commit])).split('\0').filter(Boolean);
  expect(await names(second)).toEqual(['a', 'a.b', 'd/e', 'ä']);
  const third = await commitFiles(repository, {
    subject: 'Third',
    files: { a: null, d: null, 'x/y/z': '3' },
  });
  expect(await names(third)).toEqual(['a.b', 'x/y/z', 'ä']);
  expect(await git(repository, ['fsck', '--full', '--strict'])).toBe('');
});

test('keeps both commits that are made at once', async () => {
  const repository = await createRepository(root, 'shop');
  const both = ['a', 'b'].map((name) => commitFiles(repository, { subject: name, files: { [name]: '1' } }));
  await Promise.all(both);
  expect(await git(repository, ['rev-list', '--count', 'main'])).toBe('2');
  expect(await git(repository, ['ls-tree', '--name-only', 'main'])).toBe('a\nb');
});

test('serves what git has changed in the repository meanwhile', async () => {
  const repository = await createRepository(root, 'shop');
  const listed = async () => {
    const { stdout } = await run('git', ['ls-remote', `${server.url}/shop.git`]);
    return stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t'));
  };
  const first = await commitFiles(repository, { subject: 'First', files: { a: '1' } });
  const second = await commitFiles(repository, { subject: 'Second', files: { a: '2' } });
  await git(repository, ['gc', '--quiet']);
  expect(await listed()).toEqual([
    [second, 'HEAD'],
    [second, 'refs/heads/main'],
  ]);
  await git(repository, ['update-ref', 'refs/heads/main', first]);
  await git(repository, ['update-ref', 'refs/heads/deep/er', second]);
  expect(await listed()).toEqual([
    [first, 'HEAD'],
    [second, 'refs/heads/deep/er'],
    [first, 'refs/heads/main'],
  ]);
  await git(repository, ['update-ref', '-d', 'refs/heads/main']);
  expect(await listed()).toEqual([[second, 'refs/heads/deep/er']]);
});

test.each(['0', '1', '2'])('is cloned and fetched by git in version %s of the protocol', async (version) => {
  const repository = await createRepository(root, 'shop');
  for (const a of ['1', '2', '3']) await commitFiles(repository, { subject: a, files: { a } });
  await git(repository, [
    '-c',
    'user.name=A',
    '-c',
    'user.email=a@b',
    'tag',
    '-a',
    '-m',
    'One',
    'v1',
    'main~1',
  ]);
  const clone = join(root, 'clone');
  const inClone = async (...args: string[]) =>
    (await run('git', ['-c', `protocol.version=${version}`, '-C', clone, ...args])).stdout.trim();
  const url = `${server.url}/shop.git`;
  await run('git', ['-c', `protocol.version=${version}`, 'clone', '--quiet', '--depth=1', url, clone]);
  expect(await inClone('rev-list', '--count', 'HEAD')).toBe('1');
  await inClone('fetch', '--quiet', '--depth=2');
  expect(await inClone('rev-list', '--count', 'HEAD')).toBe('2');
  await commitFiles(repository, { subject: '4', files: { a: '4' } });
  await inClone('fetch', '--quiet', '--unshallow', '--tags');
  expect(await inClone('rev-list', '--count', 'origin/main')).toBe('4');
  expect(await inClone('log', '-1', '--format=%s', 'v1')).toBe('2');
  await inClone('fsck', '--full', '--strict');
});

describe('without git in PATH', () => {
  const { PATH } = process.env;

  beforeEach(() => {
    process.env.PATH = '';
  });

  afterEach(() => {
    process.env.PATH = PATH;
  });

  test('commits, reverts and serves all that Holdfast reads', async () => {
    const repository = await createRepository(root, 'shop');
    const good = await commitFiles(repository, { subject: 'Good', files: { 'a.yaml': 'good' } });
    const client = createHttpClient({ allowLoopback: true });
    const source = createGitSource({
      ...{ namespace: 'shop', name: 'shop', url: `${server.url}/shop.git`, reference: { branch: 'main' } },
      stores: createStores({ dataDir: join(root, 'data'), clock: systemClock }),
      client,
    });
    const readHead = async () => {
      const { head } = await source.poll(new AbortController().signal);
      const { files } = await source.readFiles(head.commit, '.');
      return {
        commit: head.commit,
        files: files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()]),
      };
    };
    expect(await readHead()).toEqual({ commit: good, files: [['a.yaml', 'good']] });
    const bad = await commitFiles(repository, { subject: 'Bad', files: { 'a.yaml': 'bad', 'b.yaml': '1' } });
    expect(await readHead()).toEqual({
      commit: bad,
      files: [
        ['a.yaml', 'bad'],
        ['b.yaml', '1'],
      ],
    });
    const reverted = await revertHead(repository);
    expect(await readHead()).toEqual({ commit: reverted, files: [['a.yaml', 'good']] });
    await client.close();
  });

  test('says that a push needs git', async () => {
    await createRepository(root, 'shop');
    const answer = await fetch(`${server.url}/shop.git/info/refs?service=git-receive-pack`);
    expect([answer.status, await answer.text()]).toEqual([
      501,
      'this request needs git, which is not in PATH\n',
    ]);
  });
});

test('reverts the newest commit in a commit of its own', async () => {
  const repository = await createRepository(root, 'shop');
  await commitFiles(repository, { subject: 'Good', files: { a: 'good' } });
  const bad = await commitFiles(repository, { subject: 'Bad', files: { a: 'bad' } });
  await revertHead(repository);
  expect(await git(repository, ['show', 'main:a'])).toBe('good');
  expect(await git(repository, ['log', '-1', '--format=%B', 'main'])).toBe(
    `Revert "Bad"\n\nThis reverts commit ${bad}.`,
  );
});

test('answers 404 for a repository that does not exist', async () => {
  const answer = await fetch(`${server.url}/none.git/info/refs?service=git-upload-pack`);
  expect(answer.status).toBe(404);
});

test('says what git said when a command fails', async () => {
  await expect(git(join(root, 'none.git'), ['log'])).rejects.toThrow(
    /git log in .*none\.git failed with code 128/,
  );
});
