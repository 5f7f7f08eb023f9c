import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { GitError } from './errors.ts';
import { createFieldReader, field } from './signatures/ssh-wire.ts';

const MAGIC = 'SSHSIG';
const NAMESPACE = 'git';
const OPENSSH_MAGIC = 'openssh-key-v1\0';
/** PKCS#8 of an Ed25519 key: this header, then its 32 bytes. */
const PKCS8_HEADER = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/**
 * A signer of commits in Git's SSH format (sshsig, namespace `git`, SHA-512) from an Ed25519 private key: as ssh-keygen writes it without a
 * passphrase, or PKCS#8 PEM. Throws GitError Unauthorized, without a byte of the key, for anything else.
 */
export function sshSigner(pem: string): (bytes: Buffer) => string {
  const key = readPrivateKey(pem.trim());
  if (key.asymmetricKeyType !== 'ed25519') throw unusable('it is no Ed25519 key');
  const publicKey = publicKeyOf(key);
  return (bytes) => {
    const head = [field(NAMESPACE), field(''), field('sha512')];
    const digest = createHash('sha512').update(bytes).digest();
    const signed = sign(null, Buffer.concat([Buffer.from(MAGIC), ...head, field(digest)]), key);
    const signature = Buffer.concat([field('ssh-ed25519'), field(signed)]);
    const version = Buffer.from([0, 0, 0, 1]);
    return armored(Buffer.concat([Buffer.from(MAGIC), version, field(publicKey), ...head, field(signature)]));
  };
}

function publicKeyOf(key: KeyObject): Buffer {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return Buffer.concat([field('ssh-ed25519'), field(Buffer.from(x, 'base64url'))]);
}

function readPrivateKey(pem: string): KeyObject {
  const openssh = /^-----BEGIN OPENSSH PRIVATE KEY-----([\s\S]+)-----END OPENSSH PRIVATE KEY-----$/.exec(pem);
  try {
    if (!openssh?.[1]) return createPrivateKey(pem);
    const seed = seedOf(Buffer.from(openssh[1], 'base64'));
    return createPrivateKey({
      key: Buffer.concat([PKCS8_HEADER, seed]),
      format: 'der',
      type: 'pkcs8',
    });
  } catch (error) {
    if (error instanceof GitError) throw error;
    // The cause may quote the key.
    throw unusable('it cannot be read');
  }
}

/** The secret part of OpenSSH's own format: cipher, key derivation, public key, then the private list. */
function seedOf(bytes: Buffer): Buffer {
  if (!bytes.subarray(0, OPENSSH_MAGIC.length).equals(Buffer.from(OPENSSH_MAGIC)))
    throw unusable('it cannot be read');
  const reader = createFieldReader(bytes, OPENSSH_MAGIC.length, unusable);
  const cipher = reader.field().toString('latin1');
  if (cipher !== 'none') throw unusable('it is locked by a passphrase');
  reader.field();
  reader.field();
  if (reader.number() !== 1) throw unusable('it holds more than one key');
  reader.field();
  const inner = createFieldReader(reader.field(), 8, unusable);
  if (inner.field().toString('latin1') !== 'ssh-ed25519') throw unusable('it is no Ed25519 key');
  inner.field();
  const seed = inner.field().subarray(0, SEED_BYTES);
  if (seed.length !== SEED_BYTES) throw unusable('it cannot be read');
  return seed;
}

function armored(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,70}/g) ?? [];
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----'].join('\n');
}

function unusable(why: string): GitError {
  return new GitError(
    'Unauthorized',
    `the key signingKey of spec.secretRef cannot be used: ${why}; give an Ed25519 key without a passphrase (ssh-keygen -t ed25519)`,
  );
}
