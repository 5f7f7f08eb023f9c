import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';
import { noise } from '../testing/test-repository.ts';

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

test('a poll without changes is two requests in protocol v2 and no pack data', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  await source.poll(signal);
  fixture.server.requests.length = 0;

  const poll = await source.poll(signal);

  expect(poll.kind).toBe('unchanged');
  expect(fixture.server.requests.map(({ method, url, protocol }) => [method, url, protocol])).toEqual([
    ['GET', '/shop.git/info/refs?service=git-upload-pack', 'version=2'],
    ['POST', '/shop.git/git-upload-pack', 'version=2'],
  ]);
  const bytes = fixture.server.requests.reduce((sum, { sentBytes }) => sum + sentBytes, 0);
  expect(bytes).toBeLessThan(1_000);
});

test('a poll without changes after a restart fetches nothing, since the store is on disk', async () => {
  fixture.repository.commit({ 'a.yaml': noise(1, 100_000) });
  await fixture.source().poll(signal);

  const restarted = fixture.source();
  const poll = await restarted.poll(signal);

  expect(poll.kind).toBe('unchanged');
  expect(restarted.stats.requests).toBe(2);
  expect(restarted.stats.receivedBytes).toBeLessThan(1_000);
});

test('reads an older commit that is in the store without any request', async () => {
  const old = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  await source.poll(signal);
  fixture.repository.commit({ 'a.yaml': 'a: 2' });
  await source.poll(signal);
  const { requests } = source.stats;

  const read = await source.readFiles(old, '');

  expect(Buffer.from(read.files[0]?.bytes ?? []).toString()).toBe('a: 1');
  expect(source.stats.requests).toBe(requests);
});

test('fetches an older commit by its id into a fresh store', async () => {
  const old = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  fixture.repository.commit({ 'a.yaml': 'a: 2' });
  const source = fixture.source();
  await source.poll(signal);
  expect(await source.hasCommit(old)).toBe(false);

  const read = await source.readFiles(old, '');

  expect(Buffer.from(read.files[0]?.bytes ?? []).toString()).toBe('a: 1');
  expect(await source.hasCommit(old)).toBe(true);
});

test('a missing path is PathNotFound, and one that leaves the repository is Refused', async () => {
  const commit = fixture.repository.commit({ 'app/a.yaml': 'a: 1' });
  const source = fixture.source();
  await expect(source.readFiles(commit, 'apps')).rejects.toMatchObject({
    code: 'PathNotFound',
    message: 'spec.path: apps does not exist at this commit',
  });
  await expect(source.readFiles(commit, 'app/a.yaml')).rejects.toMatchObject({ code: 'PathNotFound' });
  await expect(source.readFiles(commit, '../other')).rejects.toMatchObject({ code: 'Refused' });
});

test('a commit outside the path does not change the tree id of the path', async () => {
  const before = fixture.repository.commit({ 'app/a.yaml': 'a: 1' });
  const after = fixture.repository.commit({ 'docs/page.md': 'text' });
  const source = fixture.source();
  await source.poll(signal);

  expect(await source.treeOidAt(after, 'app')).toBe(await source.treeOidAt(before, 'app'));
  expect(await source.treeOidAt(after, '')).not.toBe(await source.treeOidAt(before, ''));
});

test('concurrent polls and reads of one source do not disturb each other', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  const [poll, files, info] = await Promise.all([
    source.poll(signal),
    source.readFiles(commit, ''),
    source.readCommit(commit),
    source.poll(signal),
  ]);
  expect([poll.head.commit, files.files.length, info.commit]).toEqual([commit, 1, commit]);
  expect(packFiles('.pack')).toHaveLength(1);
});

function packFiles(ending: string): string[] {
  const stores = join(fixture.dataDir, 'git');
  return readdirSync(stores).flatMap((store) => {
    const folder = join(stores, store, 'objects', 'pack');
    return readdirSync(folder)
      .filter((name) => name.endsWith(ending))
      .map((name) => join(folder, name));
  });
}

test('one namespace looks for four ranges of versions at a time, and keeps no other one waiting', async () => {
  const held: Array<() => void> = [];
  fixture.server.fault = (_, response) => {
    held.push(() => response.destroy());
    return true;
  };
  const look = (namespace: string, semver: string) =>
    fixture.source({ namespace, reference: { semver } }).poll(signal);
  const many = Array.from({ length: 8 }, (_, index) => look('mallory', `>=${index}.0.0`));
  await expect.poll(() => held).toHaveLength(4);

  const other = look('shop', '*');

  await expect.poll(() => held).toHaveLength(5);
  fixture.server.fault = undefined;
  for (const end of held) end();
  const ended = await Promise.allSettled([...many, other]);
  expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect(fixture.server.requests.length).toBeGreaterThan(8);
});
