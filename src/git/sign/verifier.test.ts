import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { MeasuredGitSource } from '../poll/git-source.ts';
import { createGitFixture, type GitFixture } from '../testing/fixture.ts';
import { createTestKeys, type TestKeys } from '../testing/signing.ts';
import type { GitReference } from '../types.ts';
import type { Verification } from './verifier.ts';

const signal = new AbortController().signal;
const notVerified = { code: 'NotVerified' };
let fixture: GitFixture;
let keys: TestKeys;
let secret: Record<string, Uint8Array>;

beforeEach(async () => {
  fixture = await createGitFixture();
  keys = createTestKeys();
  const line = `ada@example.com ${keys.make('ada', 'ed25519')}`;
  secret = { allowed_signers: Buffer.from(line) };
  signAs('ada');
});
afterEach(async () => {
  keys.close();
  await fixture.close();
});

/** Commits and tags made from now on are signed by this key of ssh-keygen; undefined: by none. */
function signAs(name: string | undefined): void {
  const { git } = fixture.repository;
  git('config', 'gpg.format', 'ssh');
  git('config', 'user.signingkey', keys.path(name ?? 'ada'));
  for (const what of ['commit', 'tag']) git('config', `${what}.gpgsign`, String(name !== undefined));
}

function verifying(mode: Verification['mode'], reference?: GitReference): MeasuredGitSource {
  const values = async () => secret;
  return fixture.source({
    verification: { mode, secretName: 'delivery/signers', values },
    ...(reference ? { reference } : {}),
  });
}

it('accepts signed commits and reports who signed', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' }, 'Change ÿ\n\nmore\n');
  const source = verifying('HEAD');
  expect(await source.poll(signal)).toMatchObject({
    head: { commit },
    signer: expect.stringMatching(/^ada@example\.com \(SHA256:/),
  });
  expect((await source.readFiles(commit, '', { signal })).files).toHaveLength(1);
  expect((await source.poll(signal)).signer).toContain('ada@');
});

it.each([true, false])(
  'does not fill the disk with commits that nobody signed, one before them signed: %s',
  async (isFirstSigned) => {
    const values = async () => secret;
    const source = fixture.source({
      verification: { mode: 'HEAD', secretName: 'delivery/signers', values },
      stores: fixture.stores({ limits: { maxPacks: 2 } }),
    });
    if (!isFirstSigned) signAs(undefined);
    fixture.repository.commit({ 'a.yaml': 'a: 0' });
    await source.poll(signal).catch(() => undefined);
    signAs(undefined);
    for (let number = 1; number < 6; number += 1) {
      fixture.repository.commit({ 'a.yaml': `a: ${number}` });
      await expect(source.poll(signal)).rejects.toMatchObject(notVerified);
    }
    const folder = join(fixture.dataDir, 'git');
    const packs = readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith('.pack'));
    expect(packs.length).toBeLessThanOrEqual(2);
    signAs('ada');
    const commit = fixture.repository.commit({ 'a.yaml': 'a: 6' });
    expect((await source.poll(signal)).head.commit).toBe(commit);
  },
);

it('reads nothing of an unsigned commit, and continues when head is signed again', async () => {
  const first = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const source = verifying('HEAD');
  await source.poll(signal);
  signAs(undefined);
  const bad = fixture.repository.commit({ 'a.yaml': 'a: 2' });
  await expect(source.poll(signal, first)).rejects.toMatchObject(notVerified);
  await expect(source.poll(signal, first)).rejects.toThrow(
    `commit ${bad.slice(0, 7)} is not applied: it is not signed`,
  );
  for (const read of [
    source.readFiles(bad, '', { signal }),
    source.treeOidAt(bad, '', signal),
    source.entriesAt(bad, ['a.yaml'], { signal, maxFileBytes: 1000 }),
  ])
    await expect(read).rejects.toMatchObject(notVerified);
  expect((await source.readFiles(first, '', { signal })).files).toHaveLength(1);
  signAs('ada');
  const next = fixture.repository.commit({ 'a.yaml': 'a: 3' });
  expect(await source.poll(signal, first)).toMatchObject({ kind: 'moved', head: { commit: next } });
});

it('notices that a key was removed, without a change in Git', async () => {
  const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const source = verifying('HEAD');
  await source.poll(signal);
  secret = { allowed_signers: Buffer.from(`eve@example.com ${keys.make('eve', 'ed25519')}`) };
  await expect(source.poll(signal, commit)).rejects.toThrow('not among the allowed signers');
  secret = {};
  await expect(source.poll(signal, commit)).rejects.toMatchObject({ code: 'SignersUnusable' });
});

it('says of an older signed commit that history was rewritten', async () => {
  const old = fixture.repository.commit({ 'a.yaml': 'a: 1' });
  const newer = fixture.repository.commit({ 'a.yaml': 'a: 2' });
  const source = verifying('HEAD');
  await source.poll(signal);
  fixture.repository.bare('update-ref', 'refs/heads/main', old);
  expect(await source.poll(signal, newer)).toMatchObject({ kind: 'rewritten', head: { commit: old } });
});

it('verifies the signature of a tag, and its name', async () => {
  const { repository } = fixture;
  signAs(undefined);
  const commit = repository.commit({ 'a.yaml': 'a: 1' });
  repository.git('tag', 'light');
  repository.git('tag', '-a', '-m', 'unsigned', 'unsigned');
  signAs('ada');
  repository.git('tag', '-m', 'Release', 'v1.0.0');
  repository.git('push', '-q', 'origin', '--tags');
  const source = verifying('Tag', { tag: 'v1.0.0' });
  expect(await source.poll(signal)).toMatchObject({
    head: { commit },
    signer: expect.stringContaining('ada@'),
  });
  expect((await source.readFiles(commit, '', { signal })).files).toHaveLength(1);
  await expect(verifying('Tag', { tag: 'light' }).poll(signal)).rejects.toThrow('not an annotated tag');
  await expect(verifying('Tag', { tag: 'unsigned' }).poll(signal)).rejects.toThrow('it is not signed');
  await expect(verifying('TagAndHEAD', { tag: 'v1.0.0' }).poll(signal)).rejects.toThrow(
    `commit ${commit.slice(0, 7)}`,
  );
  repository.bare('update-ref', 'refs/tags/v2.0.0', repository.git('rev-parse', 'refs/tags/v1.0.0'));
  const replayed = verifying('Tag', { semver: '>=1.0.0' });
  await expect(replayed.poll(signal)).rejects.toThrow('it was signed as tag "v1.0.0"');
});

it('takes commit and tag together', async () => {
  const { repository } = fixture;
  const commit = repository.commit({ 'a.yaml': 'a: 1' });
  repository.git('tag', '-m', 'Release', 'v1.0.0');
  repository.git('push', '-q', 'origin', '--tags');
  expect(await verifying('TagAndHEAD', { tag: 'v1.0.0' }).poll(signal)).toMatchObject({ head: { commit } });
});

it.each(['Tag', 'TagAndHEAD'] as const)(
  'reads no signed commit that no tag led to, as a ledger could name one: %s',
  async (mode) => {
    const { repository } = fixture;
    const untagged = repository.commit({ 'a.yaml': 'a: 1' });
    const tagged = repository.commit({ 'a.yaml': 'a: 2' });
    repository.git('tag', '-m', 'Release', 'v1.0.0');
    repository.git('push', '-q', 'origin', '--tags');
    const source = verifying(mode, { tag: 'v1.0.0' });
    await source.poll(signal);
    expect((await source.readFiles(tagged, '', { signal })).files).toHaveLength(1);
    await expect(source.readFiles(untagged, '', { signal })).rejects.toMatchObject({
      code: 'NotVerified',
      message: expect.stringContaining('no signed tag that points to it has been read since the start'),
    });
  },
);

it('understands what gpg signed', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gpg-'));
  const gpg = (...args: string[]) =>
    execFileSync('gpg', ['--homedir', home, '--batch', '-q', ...args], { stdio: 'pipe' });
  try {
    gpg(
      '--faked-system-time',
      '20261001T000000',
      '--passphrase',
      '',
      '--quick-gen-key',
      'Bo <bo@example.com>',
      'ed25519',
      'sign',
    );
    const { git } = fixture.repository;
    git('config', 'gpg.format', 'openpgp');
    git('config', 'user.signingkey', 'bo@example.com');
    git('config', 'gpg.program', wrapperOf(home));
    secret = { 'bo.asc': gpg('--armor', '--export', 'bo@example.com') };
    const commit = fixture.repository.commit({ 'a.yaml': 'a: 1' }, 'Signed by gpg ÿ');
    expect(await verifying('HEAD').poll(signal)).toMatchObject({
      head: { commit },
      signer: expect.stringMatching(/^Bo <bo@example\.com> \([0-9A-F]{40}\)$/),
    });
    secret = { ...secret, allowed_signers: readFileSync(`${keys.path('ada')}.pub`) };
    await expect(verifying('HEAD').poll(signal)).rejects.toMatchObject({ code: 'SignersUnusable' });
  } finally {
    execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']);
    rmSync(home, { recursive: true, force: true });
  }
});

function wrapperOf(home: string): string {
  const path = keys.path('gpg.sh');
  execFileSync('sh', [
    '-c',
    `printf '#!/bin/sh\\nexec gpg --homedir %s "$@"\\n' "$1" > "$2" && chmod +x "$2"`,
    'sh',
    home,
    path,
  ]);
  return path;
}
