import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, test } from 'vitest';
import { largeRsaKey } from '../../../http/testing/large-key.ts';
import { createKeyRing, openPrivateKey } from './private-key.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-ssh-keys-'));
afterAll(() => rmSync(folder, { recursive: true }));
let made = 0;

/** A key of ssh-keygen with its public half. */
function keygen(...args: readonly string[]): { text: string; line: string } {
  made += 1;
  const file = join(folder, `key-${made}`);
  execFileSync('ssh-keygen', ['-q', '-C', '', '-f', file, ...args]);
  return { text: readFileSync(file, 'utf8'), line: readFileSync(`${file}.pub`, 'utf8').trim() };
}

/** The public half of what was opened, as ssh-keygen writes it. */
async function lineOf(text: string, passphrase?: string): Promise<string> {
  const key = await openPrivateKey(text, passphrase);
  const signed = key.sign(Buffer.from('bytes'), key.type === 'ssh-rsa' ? 'sha512' : undefined);
  expect(key.verify(Buffer.from('bytes'), signed, key.type === 'ssh-rsa' ? 'sha512' : undefined)).toBe(true);
  return `${key.type} ${key.getPublicSSH().toString('base64')}`;
}

const ROUNDS = ['-a', '2'];

test('an RSA key that would take a second to sign with is refused', async () => {
  await expect(openPrivateKey(largeRsaKey(16_384), undefined)).rejects.toThrow('is a key of 16384 bits');
});

test.each<readonly [string, readonly string[], string | undefined]>([
  ['Ed25519', ['-t', 'ed25519', '-N', ''], undefined],
  ['ECDSA P-256', ['-t', 'ecdsa', '-b', '256', '-N', ''], undefined],
  ['ECDSA P-384', ['-t', 'ecdsa', '-b', '384', '-N', ''], undefined],
  ['ECDSA P-521', ['-t', 'ecdsa', '-b', '521', '-N', ''], undefined],
  ['RSA', ['-t', 'rsa', '-b', '2048', '-N', ''], undefined],
  ['RSA in PEM', ['-t', 'rsa', '-b', '2048', '-m', 'PEM', '-N', ''], undefined],
  ['ECDSA in PEM', ['-t', 'ecdsa', '-m', 'PEM', '-N', ''], undefined],
  ['RSA in PKCS#8', ['-t', 'rsa', '-b', '2048', '-m', 'PKCS8', '-N', ''], undefined],
  ['Ed25519 with a passphrase', ['-t', 'ed25519', '-N', 'öpen me', ...ROUNDS], 'öpen me'],
  ['the same by aes256-cbc', ['-t', 'ed25519', '-N', 'open', '-Z', 'aes256-cbc', ...ROUNDS], 'open'],
  ['the same by aes128-ctr', ['-t', 'ed25519', '-N', 'open', '-Z', 'aes128-ctr', ...ROUNDS], 'open'],
  ['ECDSA with a passphrase', ['-t', 'ecdsa', '-N', 'open', ...ROUNDS], 'open'],
  ['RSA with a passphrase', ['-t', 'rsa', '-b', '2048', '-N', 'open', ...ROUNDS], 'open'],
  [
    'RSA in PEM with a passphrase',
    ['-t', 'rsa', '-b', '2048', '-m', 'PEM', '-N', 'open sesame'],
    'open sesame',
  ],
])('%s is opened, and signs', async (_what, args, passphrase) => {
  const { text, line } = keygen(...args);
  expect(await lineOf(text, passphrase)).toBe(line);
});

test.each(['P-256', 'P-384', 'P-521'])(
  'a key as Flux makes it is opened: %s in PKCS#8',
  async (namedCurve) => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    expect(await lineOf(String(pem))).toMatch(/^ecdsa-sha2-nistp\d{3} /);
  },
);

test('Ed25519 in PKCS#8 is the same key as in the format of OpenSSH', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const line = await lineOf(String(privateKey.export({ type: 'pkcs8', format: 'pem' })));
  const bytes = Buffer.from(line.split(' ')[1] ?? '', 'base64');
  expect(bytes.subarray(-32)).toEqual(Buffer.from(x, 'base64url'));
});

describe('a key that cannot be used', () => {
  const encrypted = keygen('-t', 'ed25519', '-N', 'c0rrect', ...ROUNDS).text;
  const pem = keygen('-t', 'rsa', '-b', '2048', '-m', 'PEM', '-N', 'c0rrect').text;
  const pkcs8 = keygen('-t', 'rsa', '-b', '2048', '-m', 'PKCS8', '-N', 'c0rrect').text;
  const endless = keygen('-t', 'ed25519', '-N', 'c0rrect', ...ROUNDS).text.split('\n');
  const body = Buffer.from(endless.slice(1, -2).join(''), 'base64');
  // The rounds are the last number of the derivation's options: after magic, cipher, name, length and salt.
  body.writeUInt32BE(4_000_000_000, body.indexOf('bcrypt') + 6 + 4 + 4 + 16);
  const hostile = `-----BEGIN OPENSSH PRIVATE KEY-----\n${body.toString('base64')}\n-----END OPENSSH PRIVATE KEY-----`;

  it.each<readonly [string, string, string | undefined, string]>([
    ['without the passphrase', encrypted, undefined, 'no passphrase in the key password'],
    ['with another passphrase', encrypted, 'wr0ng', 'cannot be opened with the passphrase'],
    ['in PEM without the passphrase', pem, undefined, 'no passphrase in the key password'],
    ['in PEM with another passphrase', pem, 'wr0ng', 'cannot be opened with the passphrase'],
    ['that is encrypted in PKCS#8', pkcs8, 'c0rrect', 'ssh-keygen -p -f FILE'],
    ['whose passphrase would take days', hostile, 'c0rrect', 'at most 256'],
    [
      'that was cut',
      `${encrypted.slice(0, 200)}\n-----END OPENSSH PRIVATE KEY-----`,
      'c0rrect',
      'is not a private key',
    ],
    ['that is a public one', keygen('-t', 'ed25519', '-N', '').line, undefined, 'is not a private key'],
    ['that is something else', 'c0rrect', undefined, 'is not a private key'],
    [
      'of a type nobody takes',
      generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      undefined,
      'Ed25519, ECDSA and RSA',
    ],
    ['that is endless', 'A'.repeat(40_000), undefined, 'is longer than'],
  ])('%s says what to do and quotes nothing', async (_what, text, passphrase, problem) => {
    const error = await openPrivateKey(text, passphrase).catch((caught: Error) => caught);
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toContain(problem);
    expect(String(error)).not.toMatch(/c0rrect|wr0ng|AAAA/);
  });
});

test('other work continues while a passphrase is tried, and the same key is not opened twice', async () => {
  const { text } = keygen('-t', 'ed25519', '-N', 'open', '-a', '24');
  const open = createKeyRing();
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  const first = await open(text, 'open');
  clearInterval(timer);
  expect(turns).toBeGreaterThan(3);
  expect(await open(text, 'open')).toBe(first);
  await expect(open(text, 'other')).rejects.toThrow('cannot be opened');
});
