/** Checks of OpenPGP signatures. The library is loaded when the first one is met, since most repositories use SSH keys or none. */

import type { PublicKey } from 'openpgp';
import { limits } from '../../api/limits.ts';

const maxSignatures = 8;
/** Of a public exponent, which is 65537 nearly everywhere. */
const exponentBytes = 8;
/** Of prime and order of a DSA key, as GnuPG makes them at most. */
const [primeBytes, orderBytes] = [512, 32];
/** By which a key says something of itself; each is checked. */
const mostOwnSignatures = 200;
const userIdCharacters = 120;

/** The armoured blocks of public keys in a text, none where they hold no key; undefined without a block. Throws Error for one that cannot be read. */
export async function pgpBlocksIn(text: string): Promise<readonly string[] | undefined> {
  const block = /-----BEGIN PGP PUBLIC KEY BLOCK-----[\s\S]*?-----END PGP PUBLIC KEY BLOCK-----/g;
  const blocks = text.match(block);
  if (blocks === null) return undefined;
  return (await readKeys(blocks)).length > 0 ? blocks : [];
}

/**
 * Checks a detached signature. Returns user id and fingerprint of who signed; throws Error that says why not, with the id of the key. The
 * key must have been valid when it signed.
 */
export async function verifyPgp(
  payload: Buffer,
  armored: string,
  blocks: readonly string[],
): Promise<string> {
  const openpgp = await import('openpgp');
  const keys = await readKeys(blocks);
  const signature = await openpgp.readSignature({ armoredSignature: armored }).catch(() => {
    throw new Error('its PGP signature cannot be read');
  });
  if (signature.packets.length === 0 || signature.packets.length > maxSignatures)
    throw new Error('it has no PGP signature, or more than one');
  // Other types are not made over these very bytes: a text may differ in its blanks, and a standalone one is made over nothing.
  if (signature.packets.some(({ signatureType }) => signatureType !== openpgp.enums.signature.binary))
    throw new Error('its PGP signature is not the signature of a document (type 0)');
  const message = await openpgp.createMessage({ binary: payload });
  const { signatures } = await openpgp.verify({
    message,
    signature,
    verificationKeys: keys,
    format: 'binary',
  });
  const refusals: string[] = [];
  for (const { keyID, verified } of signatures) {
    const signer = keys.find((key) => key.getKeys(keyID).length > 0);
    const id = keyID.toHex().toUpperCase();
    try {
      await verified;
      if (signer) return `${userIdOf(signer.getUserIDs())} (${signer.getFingerprint().toUpperCase()})`;
    } catch (error) {
      const why = error instanceof Error ? error.message.slice(0, 160) : 'unknown';
      refusals.push(
        signer
          ? `${userIdOf(signer.getUserIDs())} (${id}): ${why}`
          : `key ${id} is not among the keys of the Secret`,
      );
    }
  }
  throw new Error(`its PGP signature is not valid: ${refusals.join('; ')}`);
}

/** Copies of a key as one, as GnuPG does on import: of two copies only the later one may say that it is revoked, or valid for longer. */
async function readKeys(blocks: readonly string[]) {
  const openpgp = await import('openpgp');
  const read = await Promise.all(blocks.map((armoredKeys) => openpgp.readKeys({ armoredKeys })));
  const keys = new Map<string, (typeof read)[number][number]>();
  for (const key of read.flat()) {
    refuseLarge(key);
    refuseBrainpool(key);
    const known = keys.get(key.getFingerprint());
    const whole = known ? await known.update(key) : key;
    refuseMany(whole);
    keys.set(key.getFingerprint(), whole);
  }
  return [...keys.values()];
}

/** The library computes with these numbers itself, for as long as it takes. */
function refuseLarge(key: PublicKey): void {
  for (const { keyPacket } of key.getKeys()) {
    // RSA: n and e; DSA, with which the library checks what a key says of itself: p and q.
    const { n, e, p, q } = (keyPacket.publicParams ?? {}) as Partial<Record<string, Uint8Array>>;
    const bytesOf = (number: Uint8Array | undefined) => number?.length ?? 0;
    const isLarge = bytesOf(n) * 8 > limits.rsaKeyBits || bytesOf(p) > primeBytes;
    if (isLarge || bytesOf(e) > exponentBytes || bytesOf(q) > orderBytes)
      throw new Error(
        `has a PGP key that is too large; RSA keys of at most ${limits.rsaKeyBits} bits are used`,
      );
  }
}

/** The library verifies with these curves by another package, which it does not bring along. */
function refuseBrainpool(key: PublicKey): void {
  for (const { algorithm, curve = '' } of key.getKeys().map((one) => one.getAlgorithmInfo()))
    if (algorithm === 'ecdsa' && curve.startsWith('brainpool'))
      throw new Error(`has a PGP key on the curve ${curve}, which is not supported; list another key`);
}

function refuseMany(key: PublicKey): void {
  const { users, subkeys } = key;
  // The library's types leave them out.
  const { directSignatures = [] } = key as { readonly directSignatures?: readonly unknown[] };
  const own = [
    ...[directSignatures, key.revocationSignatures],
    ...users.flatMap((user) => [user.selfCertifications, user.revocationSignatures]),
    ...subkeys.flatMap((subkey) => [subkey.bindingSignatures, subkey.revocationSignatures]),
  ].reduce((sum, signatures) => sum + signatures.length, 0);
  if (own > mostOwnSignatures)
    throw new Error(
      `has a PGP key with ${own} signatures of its own; at most ${mostOwnSignatures} are looked at: gpg --export-options export-minimal`,
    );
}

function userIdOf([first = 'nobody']: readonly string[]): string {
  return first.replace(/\p{Cc}/gu, ' ').slice(0, userIdCharacters);
}
