import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';
import { encodePktLine, FLUSH, inPieces } from './pkt-line.ts';
import { resolveReference } from './references.ts';
import type { GitTransport } from './transport.ts';

const signal = new AbortController().signal;
let fixture: GitFixture;

beforeEach(async () => {
  fixture = await createGitFixture();
});
afterEach(() => fixture.close());

test('a branch is matched exactly although the listing also returns longer names', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': '1' });
  fixture.repository.commit({ 'a.yaml': '2' }, 'Other', 'main-next');
  expect((await fixture.source().poll(signal)).head.commit).toBe(commit);
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

test('an empty repository of a server that knows protocol v0 only has no branch until the first commit', async () => {
  fixture.server.isOld = true;
  const source = fixture.source();
  await expect(source.poll(signal)).rejects.toMatchObject({
    code: 'RefNotFound',
    message: expect.stringContaining('no branch "main"'),
  });
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });

  expect((await source.poll(signal)).head.commit).toBe(commit);
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
    const source = fixture.source({ reference, namespace: JSON.stringify(reference) });
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

test('a repository of SHA-256 objects is reported as not supported', async () => {
  const root = dirname(fixture.dataDir);
  fixture.repository.git('init', '-q', '--object-format=sha256', '-b', 'main', join(root, 'new'));
  fixture.repository.git('-C', join(root, 'new'), 'commit', '-q', '--allow-empty', '-m', 'First');
  const source = fixture.source({ url: `${fixture.server.url}/new/.git` });

  await expect(source.poll(signal)).rejects.toMatchObject({ message: expect.stringContaining('SHA-256') });
});

test('of the versions in a range the highest thousand are remembered, however many a server has', async () => {
  const idOf = (version: number) => version.toString(16).padStart(40, '0');
  const tags = Array.from({ length: 1_500 }, (_, version) =>
    encodePktLine(`${idOf(version)} refs/tags/1.0.${version}\n`),
  );
  const capabilities = ['version 2\n', 'ls-refs=unborn\n'].map(encodePktLine);
  const greeting = [encodePktLine('# service=git-upload-pack\n'), FLUSH, ...capabilities, FLUSH];
  const request: GitTransport['request'] = async ({ url, method = 'GET' }) => ({
    url,
    method,
    statusCode: 200,
    statusMessage: '',
    headers: { 'content-type': 'application/x-git-upload-pack-advertisement' },
    body: inPieces(Buffer.concat(method === 'GET' ? greeting : [...tags, FLUSH])),
  });

  const found = await resolveReference(
    async () => ({ request }) as GitTransport,
    'https://git.example.com/shop.git',
    { semver: '1.x' },
  );

  expect(found.refName).toBe('refs/tags/1.0.1499');
  expect([found.candidates.length, found.candidates.at(-1)]).toEqual([1_000, idOf(500)]);
});
