import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { readPrivateKey } from './private-key.ts';
import { largeRsaKey } from './testing/large-key.ts';

test.each([
  ['Ed25519', () => generateKeyPairSync('ed25519').privateKey],
  ['P-256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey],
  ['RSA of 2048 bits', () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey],
] as const)('a key of %s is read', (_, make) => {
  const key = make();
  expect(readPrivateKey(String(key.export({ type: 'pkcs8', format: 'pem' }))).equals(key)).toBe(true);
});

test('an RSA key of 8,192 bits is read', () => {
  expect(readPrivateKey(largeRsaKey(8_192)).asymmetricKeyDetails?.modulusLength).toBe(8_192);
});

/** OpenSSL 3.5, in Node 24, refuses exponents that are larger than the modulus by itself. */
const byOpenSsl = Number(process.versions.node.split('.')[0]) >= 24;
const byUs = /^is a key of \d+ bits and \d+ bytes; RSA keys of at most/;

test.each([
  ['16,384 bits', () => largeRsaKey(16_384), byUs],
  [
    '2,048 bits and exponents of 40,000',
    () => largeRsaKey(2_048, 40_000),
    byOpenSsl ? /^Unable to create key pointer$/ : byUs,
  ],
])('an RSA key of %s is refused, which would take a second or minutes to sign with', (_, make, refusal) => {
  expect(() => readPrivateKey(make())).toThrow(refusal);
});
