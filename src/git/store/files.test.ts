import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ReadFilesOptions } from '../../contracts/git.ts';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';
import type { ManifestFiles } from '../types.ts';

const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
});
afterEach(() => fixture.close());

async function read(path = '', options: Partial<ReadFilesOptions> = {}): Promise<ManifestFiles> {
  const source = fixture.source();
  const { head } = await source.poll(signal);
  return source.readFiles(head.commit, path, options);
}

/** Paths of files, and of problems with their reasons. */
function shape({ files, problems }: ManifestFiles): unknown {
  return {
    files: files.map(({ path }) => path),
    problems: problems.map(({ path, reason }) => [path, reason]),
  };
}

function link(target: string, path: string): void {
  const file = join(dirname(fixture.dataDir), 'shop', path);
  mkdirSync(dirname(file), { recursive: true });
  symlinkSync(target, file);
}

/** Commits a tree of raw entries that git itself would not write. */
function commitRawTree(entries: ReadonlyArray<{ mode: string; name: string | Buffer; oid: string }>): void {
  const bytes = entries.map(({ mode, name, oid }) =>
    Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.from([0]), Buffer.from(oid, 'hex')]),
  );
  const served = join(dirname(fixture.dataDir), 'shop.git');
  const tree = execFileSync('git', ['hash-object', '-t', 'tree', '--literally', '-w', '--stdin'], {
    cwd: served,
    input: Buffer.concat(bytes),
    encoding: 'utf8',
  }).trim();
  const commit = fixture.repository.bare('commit-tree', '-m', 'Raw', tree);
  fixture.repository.bare('update-ref', 'refs/heads/main', commit);
}

test('reads only manifests, below the path only, sorted', async () => {
  fixture.repository.commit({
    'prod/b.yml': 'b: 1',
    'prod/a/z.json': '{}',
    'prod/a.YAML': 'a: 1',
    'prod/page.md': 'text',
    'prod-2/c.yaml': 'c: 1',
    'top.yaml': 'top: 1',
  });
  expect(shape(await read('prod'))).toEqual({
    files: ['prod/a.YAML', 'prod/a/z.json', 'prod/b.yml'],
    problems: [],
  });
});

test('reads further files that the caller asks for', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1', 'values.tpl': 'x', 'page.md': 'text' });
  const files = await read('', { alsoRead: (path) => path.endsWith('.tpl') });
  expect(shape(files)).toEqual({ files: ['a.yaml', 'values.tpl'], problems: [] });
});

test('a manifest that is kept takes no more memory than its bytes', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1', 'b.yaml': `b: ${'x'.repeat(100_000)}` });
  const { files } = await read();
  expect(files.map(({ bytes }) => bytes.buffer.byteLength)).toEqual([4, 100_003]);
});

test('symbolic links out, in and to themselves concern their own path only', async () => {
  link('/etc/passwd', 'out.yaml');
  link('a.yaml', 'in.yaml');
  link('loop.yaml', 'loop.yaml');
  link('../../..', 'folder');
  link('a.yaml', 'page.md');
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  expect(shape(await read())).toEqual({
    files: ['a.yaml'],
    problems: [
      ['folder', 'Symlink'],
      ['in.yaml', 'Symlink'],
      ['loop.yaml', 'Symlink'],
      ['out.yaml', 'Symlink'],
    ],
  });
});

test('a path that leads through a symbolic link is PathNotFound', async () => {
  link('real', 'prod');
  fixture.repository.commit({ 'real/a.yaml': 'a: 1' });
  await expect(read('prod')).rejects.toMatchObject({
    code: 'PathNotFound',
    message: 'spec.path: prod is a symlink, not a folder at this commit',
  });
});

test('a submodule concerns its own path only', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  fixture.repository.git('update-index', '--add', '--cacheinfo', `160000,${commit},vendor`);
  fixture.repository.git('commit', '-q', '-m', 'Add submodule');
  fixture.repository.forcePush();
  expect(shape(await read())).toEqual({ files: ['a.yaml'], problems: [['vendor', 'Submodule']] });
});

test('a pointer of Git LFS concerns its own path only', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12\n`;
  fixture.repository.commit({ 'a.yaml': 'a: 1', 'big.yaml': pointer });
  const files = await read();
  expect(shape(files)).toEqual({ files: ['a.yaml'], problems: [['big.yaml', 'LfsPointer']] });
  expect(files.problems[0]?.message).toContain('big.yaml: is a Git LFS pointer');
});

test('a 20 MB file is one problem, and the other files are read', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1', 'big.yaml': `data: ${'x'.repeat(20_000_000)}` });
  const files = await read();
  expect(shape(files)).toEqual({ files: ['a.yaml'], problems: [['big.yaml', 'TooLarge']] });
  expect(files.problems[0]?.message).toContain('20000006 bytes');
});

test('a file that is not UTF-8 is refused instead of being changed in silence', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: \u00e5', 'latin.yaml': Buffer.from('name: \xe5', 'latin1') });
  expect(shape(await read())).toEqual({ files: ['a.yaml'], problems: [['latin.yaml', 'NotUtf8']] });
});

test('hostile names concern their own entry only', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const blob = fixture.repository.git('rev-parse', 'HEAD:a.yaml');
  const tree = fixture.repository.git('rev-parse', 'HEAD^{tree}');
  commitRawTree([
    { mode: '40000', name: '..', oid: tree },
    { mode: '40000', name: '.GIT', oid: tree },
    { mode: '40000', name: '.g\u200cit', oid: tree },
    { mode: '40000', name: 'git~1', oid: tree },
    { mode: '100644', name: '../up.yaml', oid: blob },
    { mode: '100644', name: 'a.yaml', oid: blob },
    { mode: '100644', name: 'back\\slash.yaml', oid: blob },
    { mode: '100644', name: Buffer.from('lat\xe5n.yaml', 'latin1'), oid: blob },
    { mode: '100644', name: 'line\nfeed.yaml', oid: blob },
  ]);
  const files = await read();
  expect(files.files.map(({ path }) => path)).toEqual(['a.yaml']);
  expect(files.problems.map(({ reason }) => reason)).toEqual(Array.from({ length: 8 }, () => 'UnsafeName'));
});

test('names that differ only in case are different files', async () => {
  fixture.repository.commit({ 'a.yaml': '1', 'A.yaml': '2' });
  expect((await read()).files.map(({ path }) => path)).toEqual(['A.yaml', 'a.yaml']);
});

test.each([
  ['entries', { maxEntries: 3 }],
  ['manifests', { maxFiles: 3 }],
  ['nested', { maxDepth: 1 }],
  ['bytes', { maxTotalBytes: 3 }],
])('a tree beyond the limit of %s fails as a whole', async (word, limits) => {
  fixture.repository.commit({ 'a.yaml': '1', 'b.yaml': '2', 'c.yaml': '3', 'd/e/f.yaml': '4' });
  await expect(read('', { limits })).rejects.toMatchObject({
    code: 'TooLarge',
    message: expect.stringMatching(new RegExp(`${word}.*; choose a smaller path, or divide it between`)),
  });
});

test('a long walk ends when it is aborted', async () => {
  fixture.repository.commit({ 'a/a.yaml': '1', 'b/b.yaml': '2' });
  const source = fixture.source();
  const { head } = await source.poll(signal);
  const abort = new AbortController();
  abort.abort();
  await expect(source.readFiles(head.commit, '', { signal: abort.signal })).rejects.toMatchObject({
    code: 'Aborted',
  });
});

test('control characters in a subject become spaces, and it turns no text that follows it', async () => {
  const source = fixture.source();
  fixture.repository.commit({ 'a.yaml': '1' }, 'Subject\u0007 with bell\u202e and turn\u2067\n\nbody');
  expect((await source.poll(signal)).head.subject).toBe('Subject with bell and turn');
});
