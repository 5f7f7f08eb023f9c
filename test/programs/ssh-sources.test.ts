import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { git } from '../../sandbox/git-server/git.test-support.ts';
import {
  type Bed,
  canary,
  condition,
  deployment,
  eventually,
  failPrimary,
  runUntilInitialized,
  startBed,
  statusOf,
} from '../sandbox/holdfast-bed.ts';
import { type Sshd, startSshd } from './sshd.ts';

let bed: Bed;
let sshd: Sshd;
let folder: string;
let key: ReturnType<Sshd['key']>;
let next: ReturnType<Sshd['key']>;
beforeEach(async () => {
  // First, for making keys stops everything: connections to the bed would be closed meanwhile.
  folder = mkdtempSync(join(tmpdir(), 'holdfast-sshd-'));
  sshd = await startSshd(folder, { hostKeys: ['ed25519'] });
  key = sshd.key('-t', 'ed25519', '-N', '');
  next = sshd.key('-t', 'ecdsa', '-N', 'next passphrase');
  bed = await startBed();
});
afterEach(async () => {
  await bed.close();
  await sshd.close();
  rmSync(folder, { recursive: true });
});

/** The Secret as Flux makes it. */
async function putSecret(values: Record<string, string>): Promise<void> {
  const entries = Object.entries(values).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  const metadata = { name: 'git', namespace: 'shop' };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data: Object.fromEntries(entries) };
  const path = '/api/v1/namespaces/shop/secrets';
  await bed.send('DELETE', `${path}/git`);
  expect((await bed.send('POST', path, secret)).status).toBe(201);
}

function fetched(reason: string): Promise<string> {
  return eventually(
    `Fetched: ${reason}`,
    async () => {
      const found = condition(await bed.source(), 'Fetched');
      return found?.reason === reason && (found.message || 'no message');
    },
    { seen: async () => statusOf(await bed.source()) },
  );
}

test('a Source on SSH rolls out, takes a bad commit back in Git, and follows a rotated Secret', async () => {
  sshd.authorize(key.line);
  await putSecret({ identity: key.text, 'identity.pub': key.line, known_hosts: sshd.knownHost() });
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  const url = `ssh://git@127.0.0.1:${sshd.port}${bed.repository}`;
  await runUntilInitialized(bed, {
    ...{ url, interval: '1s', retryInterval: '1s', secretRef: { name: 'git' } },
    write: { revert: 'commit', ledger: true },
  });
  failPrimary(bed, 'shop/web:2');
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await eventually(
    'a revert is at the head of main',
    async () => (await git(bed.repository, ['log', '-1', '--format=%s', 'main'])).startsWith('Revert'),
    { timeoutMs: 120_000, seen: async () => statusOf(await bed.canary()) },
  );
  expect(await git(bed.repository, ['show', 'main:web.json'])).toBe(deployment('shop/web:1'));
  await eventually('the ledger holds what is good', async () =>
    git(bed.repository, ['for-each-ref', '--format=%(refname)', 'refs/holdfast/test/shop/web/lkg']),
  );
  sshd.authorize(next.line);
  expect(await fetched('Unauthorized')).toMatch(/refused the ssh-ed25519 key SHA256:\S+ of Secret shop\/git/);
  const values = { identity: next.text, known_hosts: sshd.knownHost() };
  await putSecret({ ...values, password: 'next passphrase' });
  await fetched('Fetched');
});
