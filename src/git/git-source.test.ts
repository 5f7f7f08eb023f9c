import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGitFixture, type GitFixture } from './testing/fixture.ts';

const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
});
afterEach(() => fixture.close());

/** Bytes that compression cannot shrink, so that a snapshot is visible in the traffic. */
function noise(seed: number, length: number): string {
  let state = seed + 1;
  let text = '';
  while (text.length < length) {
    state = (state * 48_271) % 2_147_483_647;
    text += state.toString(36);
  }
  return text;
}

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

test('a poll without news is two requests in protocol v2 and no pack data', async () => {
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

test('a poll without news after a restart fetches nothing, since the store is on disk', async () => {
  fixture.repository.commit({ 'a.yaml': noise(1, 100_000) });
  await fixture.source().poll(signal);

  const restarted = fixture.source();
  const poll = await restarted.poll(signal);

  expect(poll.kind).toBe('unchanged');
  expect(restarted.stats.requests).toBe(2);
  expect(restarted.stats.receivedBytes).toBeLessThan(1_000);
});

test('a branch is matched exactly although the listing also returns longer names', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': '1' });
  fixture.repository.commit({ 'a.yaml': '2' }, 'Other', 'main-next');
  expect((await fixture.source().poll(signal)).head.commit).toBe(commit);
});

test('the first fetch is one commit deep, a later one sends only what is new', async () => {
  const { repository } = fixture;
  for (let number = 0; number < 5; number += 1) repository.commit({ 'big.txt': noise(number, 200_000) });
  const source = fixture.source();
  await source.poll(signal);
  const firstBytes = source.stats.receivedBytes;
  const commit = repository.commit({ 'a.yaml': 'a: 1' });

  const poll = await source.poll(signal);

  expect(poll).toMatchObject({ kind: 'moved', head: { commit } });
  expect(firstBytes).toBeLessThan(200_000);
  expect(source.stats.receivedBytes - firstBytes).toBeLessThan(5_000);
});

test('history grows from the shallow start, and each update stays small', async () => {
  const { repository } = fixture;
  const first = repository.commit({ 'big.txt': noise(1, 200_000) });
  const source = fixture.source();
  await source.poll(signal);
  const startBytes = source.stats.receivedBytes;
  let latest = first;
  for (let number = 0; number < 4; number += 1) {
    latest = repository.commit({ 'a.yaml': `a: ${number}` });
    expect((await source.poll(signal)).kind).toBe('moved');
  }
  expect(source.stats.receivedBytes - startBytes).toBeLessThan(10_000);
  expect(await source.isDescendant(latest, first)).toBe('yes');
  expect(await source.isDescendant(first, latest)).toBe('no');
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

test('a force-push is reported as rewritten, also after a restart', async () => {
  const { repository } = fixture;
  repository.commit({ 'a.yaml': 'a: 1' });
  const lost = repository.commit({ 'a.yaml': 'a: 2' });
  const source = fixture.source();
  await source.poll(signal);
  repository.git('reset', '-q', '--hard', 'HEAD~1');
  repository.git('commit', '-q', '--allow-empty', '-m', 'Other history');
  repository.forcePush();

  const poll = await source.poll(signal, lost);
  const again = await source.poll(signal, lost);
  const restarted = await fixture.source().poll(signal, lost);

  expect([poll.kind, again.kind, restarted.kind]).toEqual(['rewritten', 'rewritten', 'rewritten']);
  expect(poll.head.subject).toBe('Other history');
});

test('a branch that went back to an older commit is reported as rewritten', async () => {
  const { repository } = fixture;
  const old = repository.commit({ 'a.yaml': 'a: 1' });
  repository.commit({ 'a.yaml': 'a: 2' });
  const source = fixture.source();
  await source.poll(signal);
  repository.git('reset', '-q', '--hard', old);
  repository.forcePush();

  expect(await source.poll(signal)).toMatchObject({ kind: 'rewritten', head: { commit: old } });
});

test('a fresh store learns by deepening that head descends from the commit applied before', async () => {
  const applied = fixture.repository.commit({ 'a.yaml': 'a: 0' });
  for (let number = 1; number < 70; number += 1) {
    fixture.repository.git('commit', '-q', '--allow-empty', '-m', `Commit ${number}`);
  }
  fixture.repository.forcePush();

  expect((await fixture.source().poll(signal, applied)).kind).toBe('moved');
});

test('ancestry that the server no longer tells counts as rewritten', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 0' });
  expect((await fixture.source().poll(signal, '1'.repeat(40))).kind).toBe('rewritten');
});

test('a commit gone after force-push and gc is NotFound in a fresh store, not a false success', async () => {
  const { repository } = fixture;
  repository.commit({ 'a.yaml': 'a: 1' });
  const lost = repository.commit({ 'a.yaml': 'a: 2' });
  const old = fixture.source();
  await old.poll(signal);
  repository.git('reset', '-q', '--hard', 'HEAD~1');
  repository.git('commit', '-q', '--allow-empty', '-m', 'Other history');
  repository.forcePush();
  repository.bare('reflog', 'expire', '--expire=now', '--all');
  repository.bare('gc', '-q', '--prune=now');

  const fresh = fixture.source({ id: 'delivery/fresh' });
  await fresh.poll(signal);
  await old.poll(signal);

  await expect(fresh.readFiles(lost, '')).rejects.toMatchObject({ code: 'NotFound' });
  expect((await old.readFiles(lost, '')).files).toHaveLength(1);
});

test('a fetch that the server answers with success but without the commit is NotFound', async () => {
  const { repository, server } = fixture;
  repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  await source.poll(signal);
  const emptyPack = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  const trailer = Buffer.from('029d08823bd8a8eab510ad6ac75c823cfd3ed31e', 'hex');
  const pack = Buffer.concat([Buffer.from([1]), emptyPack, trailer]);
  const packet = Buffer.concat([Buffer.from((pack.length + 4).toString(16).padStart(4, '0')), pack]);
  server.transform = () => Buffer.concat([Buffer.from('0008NAK\n'), packet, Buffer.from('0000')]);

  await expect(source.readFiles('1'.repeat(40), '')).rejects.toMatchObject({ code: 'NotFound' });
});

test('a remote HEAD that points to an unborn branch does not matter to a Source with a branch', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  fixture.repository.bare('symbolic-ref', 'HEAD', 'refs/heads/nowhere');

  expect((await fixture.source().poll(signal)).head.commit).toBe(commit);
  await expect(fixture.source({ reference: {} }).poll(signal)).rejects.toMatchObject({
    code: 'RefNotFound',
    message: expect.stringContaining('set spec.ref.branch'),
  });
});

test('without a reference the default branch is followed', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  expect((await fixture.source({ reference: {} }).poll(signal)).head.commit).toBe(commit);
});

test('an empty repository, a missing and a deleted branch are RefNotFound', async () => {
  const missing = { code: 'RefNotFound', message: expect.stringContaining('no branch "main"') };
  await expect(fixture.source().poll(signal)).rejects.toMatchObject(missing);
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  await source.poll(signal);
  fixture.repository.bare('update-ref', '-d', 'refs/heads/main');

  await expect(source.poll(signal)).rejects.toMatchObject(missing);
});

test('an annotated tag is followed to its commit, and a moved tag is reported', async () => {
  const { repository } = fixture;
  const first = repository.commit({ 'a.yaml': 'a: 1' });
  repository.git('tag', '-a', '-m', 'Release', 'stable');
  repository.git('push', '-q', 'origin', 'stable');
  const source = fixture.source({ reference: { tag: 'stable' } });
  expect(await source.poll(signal)).toMatchObject({ head: { commit: first }, refName: 'refs/tags/stable' });

  const second = repository.commit({ 'a.yaml': 'a: 2' });
  repository.git('tag', '-f', 'stable');
  repository.git('push', '-q', '-f', 'origin', 'stable');
  expect(await source.poll(signal)).toMatchObject({ kind: 'moved', head: { commit: second } });

  repository.git('tag', '-f', 'stable', first);
  repository.git('push', '-q', '-f', 'origin', 'stable');
  expect(await source.poll(signal)).toMatchObject({ kind: 'rewritten', head: { commit: first } });
});

test('a version range follows the highest tag inside it; another branch of releases is no rewrite', async () => {
  const { repository } = fixture;
  const tagged = (name: string) => {
    const commit = repository.commit({ 'a.yaml': name });
    repository.git('tag', name);
    repository.git('push', '-q', 'origin', name);
    return commit;
  };
  const first = tagged('v1.2.0');
  tagged('v2.0.0');
  const source = fixture.source({ reference: { semver: '>=1.0.0 <2' } });
  expect((await source.poll(signal)).head.commit).toBe(first);

  repository.git('checkout', '-q', '--orphan', 'maintenance');
  repository.git('commit', '-q', '--allow-empty', '-m', 'Maintenance');
  repository.git('tag', 'v1.2.1');
  repository.git('push', '-q', 'origin', 'v1.2.1');

  expect(await source.poll(signal)).toMatchObject({ kind: 'moved', refName: 'refs/tags/v1.2.1' });
});

test('a server that knows protocol v0 only is listed with one request, tags and default branch included', async () => {
  const { repository, server } = fixture;
  server.isOld = true;
  const commit = repository.commit({ 'a.yaml': 'a: 1' });
  repository.git('tag', '-a', '-m', 'Release', 'v1.0.0');
  repository.git('push', '-q', 'origin', 'v1.0.0');
  for (const reference of [{ branch: 'main' }, { tag: 'v1.0.0' }, { semver: '1.x' }, {}]) {
    const source = fixture.source({ reference, id: `delivery/${JSON.stringify(reference)}` });
    expect((await source.poll(signal)).head.commit).toBe(commit);
    expect((await source.poll(signal)).kind).toBe('unchanged');
    expect(source.stats.requests).toBe(3);
  }
});

test.each(['', '../../HEAD', 'main', 'A'.repeat(40)])('text %j is no commit id', async (text) => {
  await expect(fixture.source().hasCommit(text)).rejects.toMatchObject({ code: 'NotFound' });
  await expect(fixture.source().readFiles(text, '')).rejects.toMatchObject({ code: 'NotFound' });
  expect(fixture.server.requests).toEqual([]);
});

test.each(['', 'a..b', 'a b', '../x', 'a~1', 'x.lock', 'a//b', 'a\u0000b'])(
  'branch name %j is refused',
  async (branch) => {
    const poll = fixture.source({ reference: { branch } }).poll(signal);
    await expect(poll).rejects.toMatchObject({ code: branch === '' ? 'RefNotFound' : 'Refused' });
  },
);

test('a fixed commit is fetched once and then costs no request', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  fixture.repository.commit({ 'a.yaml': 'a: 2' });
  const source = fixture.source({ reference: { commit } });

  expect((await source.poll(signal)).head.commit).toBe(commit);
  expect((await source.poll(signal)).kind).toBe('unchanged');
  expect(source.stats.requests).toBe(1);
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

test('a commit outside the path keeps the tree id of the path', async () => {
  const before = fixture.repository.commit({ 'app/a.yaml': 'a: 1' });
  const after = fixture.repository.commit({ 'docs/page.md': 'text' });
  const source = fixture.source();
  await source.poll(signal);

  expect(await source.treeOidAt(after, 'app')).toBe(await source.treeOidAt(before, 'app'));
  expect(await source.treeOidAt(after, '')).not.toBe(await source.treeOidAt(before, ''));
});

test('two Sources on one URL do not share a store', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  await fixture.source().poll(signal);
  expect(await fixture.source({ id: 'other/shop' }).hasCommit(commit)).toBe(false);
});

test('a damaged store is fetched anew', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': noise(3, 20_000) });
  const source = fixture.source();
  await source.poll(signal);
  truncateSync(packFiles('.pack')[0] ?? '', 100);

  const read = await source.readFiles(commit, '');

  expect(read.files).toHaveLength(1);
  expect((await fixture.source().poll(signal)).kind).toBe('moved');
});

test('a force-push is seen although the store was damaged meanwhile', async () => {
  const { repository } = fixture;
  repository.commit({ 'a.yaml': noise(1, 20_000) });
  const source = fixture.source();
  await source.poll(signal);
  repository.git('checkout', '-q', '--orphan', 'other');
  repository.git('commit', '-q', '--allow-empty', '-m', 'Other history');
  repository.forcePush();
  truncateSync(packFiles('.pack')[0] ?? '', 100);

  expect((await source.poll(signal)).kind).toBe('rewritten');
});

test('a fetched history of another length is deepened at most as far as needed', async () => {
  const { repository } = fixture;
  repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  const { head } = await source.poll(signal);
  repository.git('checkout', '-q', '--orphan', 'other');
  repository.git('commit', '-q', '--allow-empty', '-m', 'Other history');
  repository.forcePush();
  await source.poll(signal);
  const { requests } = source.stats;

  expect(await source.isDescendant(head.commit, head.commit)).toBe('yes');
  expect(source.stats.requests).toBe(requests);
});

test('a repository of SHA-256 objects is told as not supported', async () => {
  const root = dirname(fixture.dataDir);
  fixture.repository.git('init', '-q', '--object-format=sha256', '-b', 'main', join(root, 'new'));
  fixture.repository.git('-C', join(root, 'new'), 'commit', '-q', '--allow-empty', '-m', 'First');
  const source = fixture.source({ url: `${fixture.server.url}/new/.git` });

  await expect(source.poll(signal)).rejects.toMatchObject({ message: expect.stringContaining('SHA-256') });
});

test('a data directory that cannot be used is Storage, for the operator', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const file = join(dirname(fixture.dataDir), 'file');
  writeFileSync(file, '');
  await expect(fixture.source({ dataDir: file }).poll(signal)).rejects.toMatchObject({
    code: 'Storage',
    actor: 'operator',
  });
});

test('polls and reads of one source at the same time do not disturb one another', async () => {
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

test('a store whose directory was removed is fetched anew', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const source = fixture.source();
  await source.poll(signal);
  rmSync(fixture.dataDir, { recursive: true });

  expect((await source.readFiles(commit, '')).files).toHaveLength(1);
});

test('a store with too many packs is built anew and keeps the commits that must survive', async () => {
  const kept = fixture.repository.commit({ 'a.yaml': 'a: first' });
  const source = fixture.source({ limits: { maxPacks: 3 } });
  await source.poll(signal);
  source.keep([kept]);
  for (let number = 0; number < 4; number += 1) {
    fixture.repository.commit({ 'a.yaml': `a: ${number}` });
    await source.poll(signal);
  }
  expect(packFiles('.pack').length).toBeLessThanOrEqual(3);
  expect(await source.hasCommit(kept)).toBe(true);
  expect((await source.poll(signal)).kind).toBe('unchanged');
});

test('a store that cannot be rebuilt with its kept commits stays in use', async () => {
  const { repository } = fixture;
  const lost = repository.commit({ 'a.yaml': 'a: lost' });
  const source = fixture.source({ limits: { maxPacks: 1 } });
  await source.poll(signal);
  source.keep([lost]);
  repository.git('checkout', '-q', '--orphan', 'other');
  repository.git('commit', '-q', '--allow-empty', '-m', 'Other history');
  repository.forcePush();
  repository.bare('reflog', 'expire', '--expire=now', '--all');
  repository.bare('gc', '-q', '--prune=now');

  const poll = await source.poll(signal);

  expect(poll.kind).toBe('rewritten');
  expect(await source.hasCommit(lost)).toBe(true);
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
