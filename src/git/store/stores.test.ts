import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../api/clock.ts';
import type { GitSourceOptions } from '../poll/git-source.ts';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';
import { noise } from '../testing/test-repository.ts';
import { storeName } from './stores.ts';

const signal = new AbortController().signal;
const ages = { maxAgeMs: 60_000, retryMs: 5_000, maxRetryMs: 60_000 };
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
});
afterEach(() => fixture.close());

function storesOnDisk(): string[] {
  const folder = join(fixture.dataDir, 'git');
  return existsSync(folder) ? readdirSync(folder) : [];
}

test('Sources of one address and Secret share store, poll and fetch', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const stores = fixture.stores();
  const names = Array.from({ length: 20 }, (_, index) => `shop-${index}`);
  const sources = names.map((name) => fixture.source({ stores, ages, name, credentialsFrom: 'Secret git' }));

  const polls = await Promise.all(sources.map((source) => source.poll(new AbortController().signal)));

  expect(new Set(polls.map(({ head }) => head.commit))).toEqual(new Set([commit]));
  expect(fixture.server.requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'POST']);
  expect(storesOnDisk()).toHaveLength(1);
});

test('a namespace with more than its share fetches nothing once all together fill the disk, and others do', async () => {
  const { repository } = fixture;
  repository.commit({ 'a.txt': noise(1, 55_000) });
  const stores = fixture.stores({ diskBytes: 100_000 });
  const of = (namespace: string, credentialsFrom: string) =>
    fixture.source({ stores, namespace, name: credentialsFrom, credentialsFrom });
  const [first, second] = [of('large', 'one'), of('large', 'two')];
  await first.poll(signal);
  await second.poll(signal);

  const full = { code: 'Storage', message: expect.stringMatching(/namespace large .*--git-disk-mib/) };
  await expect(of('large', 'three').poll(signal)).rejects.toMatchObject(full);
  expect((await of('small', 'one').poll(signal)).kind).toBe('moved');
  const commit = repository.commit({ 'b.txt': noise(2, 100) });
  await expect(first.poll(signal)).rejects.toMatchObject(full);
  expect((await of('small', 'one').poll(signal)).head.commit).toBe(commit);

  for (const name of ['two', 'three']) stores.forget(`large/${name}`);
  await stores.sweep();
  expect((await first.poll(signal)).head.commit).toBe(commit);
});

test('packs that are being received count before they are whole, so that many at a time do not fill the disk', async () => {
  fixture.repository.commit({ 'a.txt': 'a' });
  const stores = fixture.stores({ diskBytes: 5 * 1_048_576 });
  const of = (namespace: string, credentialsFrom: string) =>
    fixture.source({ stores, namespace, name: credentialsFrom, credentialsFrom });
  // Of each pack 3 MiB come, and then nothing.
  const band = Buffer.concat([Buffer.from([1]), Buffer.alloc(60_000)]);
  const packet = Buffer.concat([Buffer.from((band.length + 4).toString(16).padStart(4, '0')), band]);
  fixture.server.fault = ({ method, url = '' }, response) => {
    if (method !== 'POST' || !url.endsWith('/git-upload-pack') || response.req.headers['git-protocol'])
      return false;
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' });
    response.write('0008NAK\n');
    for (let sent = 0; sent < 3 * 1_048_576; sent += band.length) response.write(packet);
    return true;
  };
  const abort = new AbortController();
  const polls = ['one', 'two', 'three'].map((name) => of('large', name).poll(abort.signal));

  await expect(Promise.race(polls)).rejects.toMatchObject({
    code: 'Storage',
    message: expect.stringMatching(/namespace large /),
  });

  fixture.server.fault = undefined;
  expect((await of('small', 'one').poll(signal)).kind).toBe('moved');
  abort.abort();
  await Promise.allSettled(polls);
  expect((await of('large', 'four').poll(signal)).kind).toBe('moved');
});

test('namespaces below their share fetch although a third one has filled the disk, until each has its share', async () => {
  const { repository } = fixture;
  repository.commit({ 'a.txt': noise(1, 30_000) });
  const stores = fixture.stores({ diskBytes: 150_000 });
  const of = (namespace: string, credentialsFrom: string) =>
    fixture.source({ stores, namespace, name: credentialsFrom, credentialsFrom });
  /** Fetches one copy after the other, and says how many there were room for. */
  async function fill(namespace: string): Promise<number> {
    for (let copies = 0; ; copies += 1)
      try {
        await of(namespace, `copy ${copies}`).poll(signal);
      } catch (error) {
        expect(error).toMatchObject({ code: 'Storage', message: expect.stringContaining(namespace) });
        return copies;
      }
  }
  const large = await fill('large');

  for (const namespace of ['small', 'other'])
    expect((await of(namespace, 'copy 0').poll(signal)).kind).toBe('moved');

  const [small, other] = [await fill('small'), await fill('other')];
  expect(large).toBeGreaterThan(3);
  expect([small, other]).toEqual([Math.floor(large / 3), Math.floor(large / 3)]);
  expect(await fill('large')).toBe(large);
});

test('each Source gets the result of a poll for its own previous commit', async () => {
  const { repository } = fixture;
  const first = repository.commit({ 'a.yaml': 'a: 1' });
  const stores = fixture.stores();
  const [one, two, late] = ['one', 'two', 'late'].map((name) => fixture.source({ stores, ages, name }));
  for (const source of [one, two, late]) await source?.poll(signal, first);
  const second = repository.commit({ 'a.yaml': 'a: 2' });
  one?.expectNews();
  for (const source of [one, two]) expect((await source?.poll(signal, first))?.kind).toBe('moved');
  repository.git('reset', '-q', '--hard', first);
  repository.forcePush();
  const third = repository.commit({ 'a.yaml': 'a: 3' });
  one?.expectNews();

  const kinds = await Promise.all([
    one?.poll(signal, second),
    two?.poll(signal, second),
    late?.poll(signal, first),
  ]);

  expect(kinds.map((poll) => [poll?.kind, poll?.head.commit])).toEqual([
    ['rewritten', third],
    ['rewritten', third],
    ['moved', third],
  ]);
});

test('Sources of one repository that follow different branches share the store', async () => {
  const { repository } = fixture;
  const main = repository.commit({ 'a.yaml': 'a: 1' });
  repository.git('push', '-q', 'origin', 'HEAD:refs/heads/next');
  const stores = fixture.stores();
  const first = fixture.source({ stores, name: 'main' });
  const second = fixture.source({ stores, name: 'next', reference: { branch: 'next' } });
  await first.poll(signal);

  expect((await second.poll(signal)).head.commit).toBe(main);
  expect(fixture.server.requests.filter(({ url }) => url.endsWith('/git-upload-pack')).length).toBe(3);
});

test.each<[string, Partial<GitSourceOptions>]>([
  ['another Secret', { credentialsFrom: 'Secret other' }],
  ['no Secret', { credentialsFrom: 'nowhere' }],
  ['the Secret of that name in another namespace', { namespace: 'other' }],
])('%s reads nothing of what these credentials fetched', async (_, other) => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const stores = fixture.stores();
  const mine = { stores, credentialsFrom: 'Secret git' };
  await fixture.source(mine).poll(signal);
  fixture.server.fault = (_request, response) => {
    response.writeHead(401).end();
    return true;
  };
  const theirs = fixture.source({ ...mine, name: 'theirs', ...other, reference: { commit } });

  expect(await theirs.hasCommit(commit)).toBe(false);
  await expect(theirs.poll(signal)).rejects.toMatchObject({ code: 'Unauthorized' });
  await expect(theirs.readFiles(commit, '')).rejects.toMatchObject({ code: 'Unauthorized' });
});

test('a store goes with the last Source that uses it', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const stores = fixture.stores();
  await fixture.source({ stores, name: 'first' }).poll(signal);
  await fixture.source({ stores, name: 'second' }).poll(signal);

  stores.forget('delivery/first');
  await stores.sweep();
  expect(storesOnDisk()).toHaveLength(1);
  stores.forget('delivery/second');
  await stores.sweep();
  expect(storesOnDisk()).toEqual([]);
});

test('a Source that moves to another address leaves its old store', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const stores = fixture.stores();
  await fixture.source({ stores }).poll(signal);
  const before = storesOnDisk();
  fixture.source({ stores, credentialsFrom: 'Secret other' });

  await stores.sweep();

  expect(before).toHaveLength(1);
  expect(storesOnDisk()).toEqual([]);
});

test('what an earlier run left goes, what is used stays, and so does what is no store', async () => {
  fixture.repository.commit({ 'a.yaml': 'a: 1' });
  await fixture.source({ name: 'gone', namespace: 'gone' }).poll(signal);
  await fixture.source().poll(signal);
  const [left = ''] = storesOnDisk();
  mkdirSync(join(fixture.dataDir, 'git', `${'0'.repeat(40)}.git.new`));
  mkdirSync(join(fixture.dataDir, 'git', 'other'));
  const stores = fixture.stores({ clock: systemClock });
  fixture.source({ stores });

  await stores.sweep();

  expect(storesOnDisk()).toHaveLength(2);
  expect(storesOnDisk()).toContain('other');
  expect(left).not.toBe('');
});

test('the name of a store is a hash, whatever address and names hold', () => {
  const key = { url: 'https://git.example.com/../x.git', namespace: '../../etc', credentials: 'a' };
  expect(storeName(key)).toMatch(/^[0-9a-f]{40}\.git$/);
  const shifted = { ...key, namespace: 'a/b', credentials: 'c' };
  expect(storeName(shifted)).not.toBe(storeName({ ...shifted, namespace: 'a', credentials: 'b/c' }));
});
