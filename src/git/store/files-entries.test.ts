import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';

const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
});
afterEach(() => fixture.close());

test('reads the entries of a commit at paths, and follows no link', async () => {
  const work = join(dirname(fixture.dataDir), 'shop');
  mkdirSync(join(work, 'app'), { recursive: true });
  symlinkSync('/etc/passwd', join(work, 'app/out'));
  symlinkSync('../base', join(work, 'app/aside'));
  const commit = fixture.repository.commit({
    'base/a.yaml': 'a: 1',
    'app/data.bin': Buffer.from([0xff, 0xfe]),
    'app/big': 'x'.repeat(101),
  });
  const source = fixture.source();
  await source.poll(signal);
  const paths = [
    '',
    'base',
    'base/a.yaml',
    'app/data.bin',
    'app/big',
    'app/out',
    'app/aside/a.yaml',
    'none',
    'base/a.yaml/x',
    '../x',
  ];
  const found = await source.entriesAt(commit, paths, { signal, maxFileBytes: 100 });
  const shapes = Object.fromEntries(
    [...found].map(([path, entry]) => [
      path,
      entry.kind === 'folder' ? entry.names : entry.kind === 'file' ? entry.bytes.length : entry.message,
    ]),
  );
  expect(shapes).toEqual({
    '': ['app', 'base'],
    base: ['a.yaml'],
    'base/a.yaml': 4,
    'app/data.bin': 2,
    'app/big': 'has 101 bytes; at most 100 are read',
    'app/out': 'is or leads through a symbolic link; links are not followed',
    'app/aside/a.yaml': 'is or leads through a symbolic link; links are not followed',
    '../x': 'has a name that is not safe on every file system',
  });
});

test('reads files of any bytes where it is asked for them', async () => {
  fixture.repository.commit({ 'chart/a.tgz': Buffer.from([0xff, 0xfe]), 'chart/Chart.yaml': 'name: a' });
  const source = fixture.source();
  const { head } = await source.poll(signal);
  const read = await source.readFiles(head.commit, 'chart', { signal, alsoRead: () => true, anyBytes: true });
  expect(read.problems).toEqual([]);
  expect(read.files.map(({ path }) => path)).toEqual(['chart/Chart.yaml', 'chart/a.tgz']);
});
