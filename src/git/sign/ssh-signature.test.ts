import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GitError } from '../errors.ts';
import { sshSigner, verifySsh } from './ssh-signature.ts';

function opensshKey(type: string, passphrase: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-key-'));
  try {
    execFileSync('ssh-keygen', ['-q', '-t', type, '-N', passphrase, '-f', join(folder, 'key')]);
    return readFileSync(join(folder, 'key'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('signs with a PKCS#8 key as with one of ssh-keygen', () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  for (const key of [pem, opensshKey('ed25519', '')]) {
    const armored = sshSigner(key)(Buffer.from('tree 1\n'));
    expect(armored).toMatch(/^-----BEGIN SSH SIGNATURE-----\n[\w+/=\n]+\n-----END SSH SIGNATURE-----$/);
    expect(sshSigner(key)(Buffer.from('tree 1\n'))).toBe(armored);
    expect(sshSigner(key)(Buffer.from('tree 2\n'))).not.toBe(armored);
  }
});

it('refuses other keys with a message that shows none of them', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const whole = opensshKey('ed25519', '');
  const keys = [
    ['not an Ed25519', rsa.export({ format: 'pem', type: 'pkcs8' }).toString()],
    ['not an Ed25519', opensshKey('ecdsa', '')],
    ['passphrase', opensshKey('ed25519', 'secret')],
    ['cannot be read', 'hello'],
    ['cannot be read', whole.replace(/\n.{70}\n/, '\nAAAA\n')],
  ] as const;
  for (const [why, key] of keys) {
    const make = () => sshSigner(key);
    expect(make).toThrow(GitError);
    expect(make).toThrow(why);
    expect(make).not.toThrow(key.split('\n')[1] ?? '');
  }
});

/** The same with one byte more behind everything, or behind the signature within. */
function withTrailingByte(signature: string, place: 'outer' | 'inner'): string {
  const bytes = Buffer.from(signature.replaceAll(/-----.*-----|\n/g, ''), 'base64');
  // The last field: the name of the algorithm and 64 bytes, each with its length.
  const length = 4 + 'ssh-ed25519'.length + 4 + 64;
  if (place === 'inner') bytes.writeUInt32BE(length + 1, bytes.length - length - 4);
  const body = Buffer.concat([bytes, Buffer.from([0])]).toString('base64');
  return `-----BEGIN SSH SIGNATURE-----\n${body}\n-----END SSH SIGNATURE-----\n`;
}

it.each(['outer', 'inner'] as const)('a signature with data behind its %s fields is refused', (place) => {
  const content = Buffer.from('tree 1\n');
  const signature = sshSigner(opensshKey('ed25519', ''))(content);
  const check = (armored: string) => verifySsh(content, armored, { signers: [], timeMs: 0 });
  expect(() => check(signature)).toThrow('not among the allowed signers');
  expect(() => check(withTrailingByte(signature, place))).toThrow('trailing data');
});
