import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { commitFiles, createRepository, git, revertHead } from './git-repository.ts';
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
