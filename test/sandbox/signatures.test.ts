import { afterEach, beforeEach, expect, test } from 'vitest';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import { commitFiles } from '../../sandbox/git-server/git-repository.ts';
import { createTestKeys, type TestKeys } from '../../src/git/testing/signing.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  primaryImage,
  untilAtRest,
  untilSeen,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
let keys: TestKeys;
beforeEach(async () => {
  keys = createTestKeys();
  bed = await startQuickBed();
});
afterEach(async () => {
  await bed.close();
  keys.close();
});

function untilSource(type: string, reason: string): Promise<unknown> {
  return untilSeen(
    bed,
    `${type} ${reason}`,
    async () => condition(await bed.source(), type)?.reason === reason,
  );
}

/** Commits on top of main, signed, so that main never leads to anything else meanwhile. */
async function commitSigned(subject: string, files: Record<string, string>): Promise<string> {
  const { repository } = bed;
  const parent = await git(repository, ['rev-parse', '--verify', '--quiet', 'main']).catch(() => '');
  if (parent) await git(repository, ['update-ref', 'refs/heads/staging', parent]);
  const plain = await commitFiles(repository, { subject, files, branch: 'staging' });
  const key = ['-c', 'gpg.format=ssh', '-c', `user.signingkey=${keys.path('ada')}`];
  const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  const onto = parent ? ['-p', parent] : [];
  const commit = await git(repository, [
    ...[...key, ...author],
    ...['commit-tree', '-S', `${plain}^{tree}`, ...onto, '-m', subject],
  ]);
  await git(repository, ['update-ref', 'refs/heads/main', commit]);
  return commit;
}

function note(text: string): string {
  const metadata = { name: 'note', namespace: 'shop' };
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text } });
}

async function running(): Promise<unknown> {
  const { data } = ((await bed.get('v1', 'ConfigMap', 'note')) ?? {}) as { data?: { text?: string } };
  return [await primaryImage(bed), data?.text];
}

test('what is not signed is not applied, what was verified stays in force, and an older signed commit is no news', async () => {
  const signers = Buffer.from(`ada@example.com ${keys.make('ada', 'ed25519')}`).toString('base64');
  await bed.send('POST', '/api/v1/namespaces/shop/secrets', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'signers', namespace: 'shop' },
    data: { allowed_signers: signers },
  });
  const first = await commitSigned('v1', {
    'web.json': deployment('shop/web:1'),
    'canary.json': canary(),
    'note.json': note('one'),
  });
  await createSource(bed, { verify: { mode: 'HEAD', secretRef: { name: 'signers' } } });
  const app = await bed.start();
  await untilAtRest(bed, 'Initialized');
  expect(condition(await bed.source(), 'Verified')).toMatchObject({
    status: 'True',
    message: expect.stringContaining(`${first.slice(0, 7)} is signed by ada@example.com (SHA256:`),
  });

  const bad = await bed.commit('v2', { 'web.json': deployment('shop/web:2'), 'note.json': note('two') });
  await untilSource('Verified', 'NotVerified');
  await bed.pass(5_000);
  expect(condition(await bed.source(), 'Ready')).toMatchObject({
    status: 'False',
    reason: 'NotVerified',
    message: `commit ${bad.slice(0, 7)} is not applied: it is not signed (spec.verify)`,
  });
  expect(await running()).toEqual(['shop/web:1', 'one']);

  await app.drain();
  await bed.send('DELETE', '/api/v1/namespaces/shop/configmaps/note');
  await bed.start();
  await untilSeen(bed, 'what was verified is kept in order after a restart', () =>
    bed.get('v1', 'ConfigMap', 'note'),
  );

  expect(await running()).toEqual(['shop/web:1', 'one']);
  expect(condition(await bed.source(), 'Verified')?.reason).toBe('NotVerified');

  await commitSigned('v3', { 'web.json': deployment('shop/web:3'), 'note.json': note('three') });
  await untilAtRest(bed, 'Succeeded');
  expect(await running()).toEqual(['shop/web:3', 'three']);

  await git(bed.repository, ['update-ref', 'refs/heads/main', first]);
  await untilSource('Ready', 'HistoryRewritten');
  await bed.pass(5_000);
  expect(await running()).toEqual(['shop/web:3', 'three']);
});
