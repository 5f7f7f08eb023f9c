import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGitFixture, type GitFixture } from './testing/fixture.ts';

const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
});
afterEach(() => fixture.close());

test('reads head and its manifests', async () => {
  const commit = fixture.repository.commit(
    { 'app/web.yaml': 'kind: Service\n', 'README.md': 'hello' },
    'Add web',
  );
  const source = fixture.source();

  const poll = await source.poll(signal);
  const read = await source.readFiles(commit, './app/');

  expect(poll).toMatchObject({ kind: 'moved', refName: 'refs/heads/main' });
  expect(poll.head).toEqual({
    commit,
    subject: 'Add web',
    author: 'Ada Tester',
    time: '2026-11-01T10:00:00Z',
  });
  expect(read.problems).toEqual([]);
  expect(read.files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()])).toEqual([
    ['app/web.yaml', 'kind: Service\n'],
  ]);
});
