import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { GitError } from '../errors.ts';
import { createFieldReader, field, fingerprintOf } from '../ssh-fields.ts';
import { type AllowedSigner, validityProblem } from './allowed-signers.ts';

const magic = Buffer.from('SSHSIG');
const namespace = 'git';
const minRsaBits = 2048;
/** Keys and signatures of ECDSA: name, curve in JWK, hash, bytes of a number. */
const curves = {
  'ecdsa-sha2-nistp256': { curve: 'P-256', hash: 'sha256', size: 32 },
  'ecdsa-sha2-nistp384': { curve: 'P-384', hash: 'sha384', size: 48 },
  'ecdsa-sha2-nistp521': { curve: 'P-521', hash: 'sha512', size: 66 },
} as const;
type Curve = keyof typeof curves;
const rsaHashes: Readonly<Record<string, string>> = { 'rsa-sha2-256': 'sha256', 'rsa-sha2-512': 'sha512' };

/** A signature in the format of ssh-keygen (PROTOCOL.sshsig). */
interface SshSignature {
  readonly key: Buffer;
  readonly namespace: string;
  readonly reserved: Buffer;
  readonly hash: string;
  readonly type: string;
  readonly bytes: Buffer;
}

/**
 * Checks an SSH signature for Git. Returns the principals and the fingerprint of who signed; throws Error that says why not, with the
 * fingerprint. The time is the one the commit names, as Git has it.
 */
export function verifySsh(
  payload: Buffer,
  armored: string,
  { signers, timeMs }: { signers: readonly AllowedSigner[]; timeMs: number },
): string {
  const signature = parseSshSignature(armored);
  const fingerprint = fingerprintOf(signature.key);
  if (signature.namespace !== namespace)
    throw new Error(
      `${fingerprint} signed it for ${JSON.stringify(signature.namespace.slice(0, 40))}, not for git`,
    );
  const listed = signers.filter(({ key }) => key.equals(signature.key));
  if (listed.length === 0) throw new Error(`${fingerprint} is not among the allowed signers`);
  const refusals = listed.map((signer) => validityProblem(signer, namespace, timeMs));
  const at = refusals.indexOf(undefined);
  const { principals } = listed[Math.max(at, 0)] ?? { principals: '' };
  if (at < 0) throw new Error(`${principals} (${fingerprint}) signed it, but ${refusals[0]}`);
  if (!isGenuine(signature, payload))
    throw new Error(`the signature by ${principals} (${fingerprint}) does not match the content`);
  return `${principals} (${fingerprint})`;
}

function parseSshSignature(armored: string): SshSignature {
  const [, body] =
    /^-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\n?$/.exec(armored) ??
    [];
  if (body === undefined) throw unreadableSignature('its armor is malformed');
  const bytes = Buffer.from(body.replaceAll('\n', ''), 'base64');
  if (!bytes.subarray(0, magic.length).equals(magic))
    throw unreadableSignature('it does not begin with SSHSIG');
  const reader = createFieldReader(bytes, magic.length, unreadableSignature);
  if (reader.number() !== 1) throw unreadableSignature('its version is not 1');
  const key = reader.field();
  const where = reader.field().toString('utf8');
  const reserved = reader.field();
  const hash = reader.field().toString('latin1');
  const inner = createFieldReader(reader.field(), 0, unreadableSignature);
  const signature = {
    key,
    namespace: where,
    reserved,
    hash,
    type: inner.field().toString('latin1'),
    bytes: inner.field(),
  };
  if (!reader.isAtEnd() || !inner.isAtEnd()) throw unreadableSignature('it has trailing data');
  if (hash !== 'sha256' && hash !== 'sha512')
    throw unreadableSignature('its hash is neither sha256 nor sha512');
  return signature;
}

function isGenuine({ key, reserved, hash, type, bytes, ...rest }: SshSignature, payload: Buffer): boolean {
  const digest = createHash(hash).update(payload).digest();
  const signed = Buffer.concat([magic, field(rest.namespace), field(reserved), field(hash), field(digest)]);
  const reader = createFieldReader(key, 0, unreadableSignature);
  const kind = reader.field().toString('latin1');
  if (kind === 'ssh-ed25519' && type === kind) {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: reader.field().toString('base64url') };
    return verify(null, signed, createPublicKey({ key: jwk, format: 'jwk' }), bytes);
  }
  const rsaHash = rsaHashes[type];
  if (kind === 'ssh-rsa' && rsaHash) {
    const [e, n] = [reader.field(), reader.field()];
    return verify(rsaHash, signed, rsa(n, e), bytes);
  }
  if (Object.hasOwn(curves, kind) && type === kind) {
    const { curve, hash: curveHash, size } = curves[kind as Curve];
    reader.field();
    const ecdsa = { key: ecPoint(reader.field(), curve, size), dsaEncoding: 'ieee-p1363' as const };
    const numbers = createFieldReader(bytes, 0, unreadableSignature);
    return verify(
      curveHash,
      signed,
      ecdsa,
      Buffer.concat([numberOf(numbers.field(), size), numberOf(numbers.field(), size)]),
    );
  }
  throw unreadableSignature(`${type.slice(0, 40)} by a key of type ${kind.slice(0, 40)} is not supported`);
}

function rsa(n: Buffer, e: Buffer): KeyObject {
  const jwk = { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') };
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < minRsaBits)
    throw unreadableSignature(`its RSA key is shorter than ${minRsaBits} bits`);
  return key;
}

/** An uncompressed point: 4, then both coordinates. */
function ecPoint(point: Buffer, crv: string, size: number): KeyObject {
  if (point.length !== 1 + 2 * size || point[0] !== 4)
    throw unreadableSignature('its public key is not a point on the curve');
  const x = point.subarray(1, 1 + size).toString('base64url');
  const y = point.subarray(1 + size).toString('base64url');
  return createPublicKey({ key: { kty: 'EC', crv, x, y }, format: 'jwk' });
}

/** A positive number of SSH, which may begin with a zero byte or omit leading zeros, in exactly `size` bytes. */
function numberOf(mpint: Buffer, size: number): Buffer {
  const bare = mpint[0] === 0 ? mpint.subarray(1) : mpint;
  if (bare.length > size) throw unreadableSignature('one of its integers is too long');
  return Buffer.concat([Buffer.alloc(size - bare.length), bare]);
}

function unreadableSignature(why: string): Error {
  return new Error(`its SSH signature is not valid: ${why}`);
}

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
  if (key.asymmetricKeyType !== 'ed25519') throw unusable('it is not an Ed25519 key');
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const publicKey = Buffer.concat([field('ssh-ed25519'), field(Buffer.from(x, 'base64url'))]);
  return (bytes) => {
    const head = [field(namespace), field(''), field('sha512')];
    const digest = createHash('sha512').update(bytes).digest();
    const signed = sign(null, Buffer.concat([magic, ...head, field(digest)]), key);
    const signature = Buffer.concat([field('ssh-ed25519'), field(signed)]);
    const version = Buffer.from([0, 0, 0, 1]);
    return armored(Buffer.concat([magic, version, field(publicKey), ...head, field(signature)]));
  };
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
  if (cipher !== 'none') throw unusable('it is protected by a passphrase');
  reader.field();
  reader.field();
  if (reader.number() !== 1) throw unusable('it holds more than one key');
  reader.field();
  const inner = createFieldReader(reader.field(), 8, unusable);
  if (inner.field().toString('latin1') !== 'ssh-ed25519') throw unusable('it is not an Ed25519 key');
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
