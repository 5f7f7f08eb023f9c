import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';
import { noise } from '../testing/test-repository.ts';

const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
});
afterEach(() => fixture.close());

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

test('ancestry that the server can no longer prove counts as rewritten', async () => {
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

  const fresh = fixture.source({ namespace: 'fresh' });
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
