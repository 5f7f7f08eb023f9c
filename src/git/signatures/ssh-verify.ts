import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type AllowedSigner, whyNotNow } from './allowed-signers.ts';
import { createFieldReader, field } from './ssh-wire.ts';

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

/** Somebody's signature in the format of ssh-keygen (PROTOCOL.sshsig). */
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
  const signature = parse(armored);
  const fingerprint = `SHA256:${createHash('sha256').update(signature.key).digest('base64').replace(/=+$/, '')}`;
  if (signature.namespace !== namespace)
    throw new Error(
      `${fingerprint} signed it for ${JSON.stringify(signature.namespace.slice(0, 40))}, not for git`,
    );
  const listed = signers.filter(({ key }) => key.equals(signature.key));
  if (listed.length === 0) throw new Error(`${fingerprint} is none of the allowed signers`);
  const refusals = listed.map((signer) => whyNotNow(signer, namespace, timeMs));
  const at = refusals.indexOf(undefined);
  const { principals } = listed[Math.max(at, 0)] ?? { principals: '' };
  if (at < 0) throw new Error(`${principals} (${fingerprint}) signed it, but ${refusals[0]}`);
  if (!isGenuine(signature, payload))
    throw new Error(`the signature by ${principals} (${fingerprint}) is not one of this content`);
  return `${principals} (${fingerprint})`;
}

function parse(armored: string): SshSignature {
  const [, body] =
    /^-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)\n-----END SSH SIGNATURE-----\n?$/.exec(armored) ??
    [];
  if (body === undefined) throw unreadable('its armour is broken');
  const bytes = Buffer.from(body.replaceAll('\n', ''), 'base64');
  if (!bytes.subarray(0, magic.length).equals(magic)) throw unreadable('it is none');
  const reader = createFieldReader(bytes, magic.length, unreadable);
  if (reader.number() !== 1) throw unreadable('its version is not 1');
  const key = reader.field();
  const where = reader.field().toString('utf8');
  const reserved = reader.field();
  const hash = reader.field().toString('latin1');
  const inner = createFieldReader(reader.field(), 0, unreadable);
  const signature = {
    key,
    namespace: where,
    reserved,
    hash,
    type: inner.field().toString('latin1'),
    bytes: inner.field(),
  };
  if (!reader.isAtEnd() || !inner.isAtEnd()) throw unreadable('something follows it');
  if (hash !== 'sha256' && hash !== 'sha512') throw unreadable('its hash is neither sha256 nor sha512');
  return signature;
}

function isGenuine({ key, reserved, hash, type, bytes, ...rest }: SshSignature, payload: Buffer): boolean {
  const digest = createHash(hash).update(payload).digest();
  const signed = Buffer.concat([magic, field(rest.namespace), field(reserved), field(hash), field(digest)]);
  const reader = createFieldReader(key, 0, unreadable);
  const kind = reader.field().toString('latin1');
  if (kind === 'ssh-ed25519' && type === kind) return verify(null, signed, ed25519(reader.field()), bytes);
  const rsaHash = rsaHashes[type];
  if (kind === 'ssh-rsa' && rsaHash) {
    const [e, n] = [reader.field(), reader.field()];
    return verify(rsaHash, signed, rsa(n, e), bytes);
  }
  if (Object.hasOwn(curves, kind) && type === kind) {
    const { curve, hash: curveHash, size } = curves[kind as Curve];
    reader.field();
    const ecdsa = { key: ecPoint(reader.field(), curve, size), dsaEncoding: 'ieee-p1363' as const };
    const numbers = createFieldReader(bytes, 0, unreadable);
    return verify(
      curveHash,
      signed,
      ecdsa,
      Buffer.concat([numberOf(numbers.field(), size), numberOf(numbers.field(), size)]),
    );
  }
  throw unreadable(`${type.slice(0, 40)} by a key of type ${kind.slice(0, 40)} is not supported`);
}

function ed25519(x: Buffer): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') }, format: 'jwk' });
}

function rsa(n: Buffer, e: Buffer): KeyObject {
  const jwk = { kty: 'RSA', n: n.toString('base64url'), e: e.toString('base64url') };
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < minRsaBits)
    throw unreadable(`its RSA key is shorter than ${minRsaBits} bits`);
  return key;
}

/** An uncompressed point: 4, then both coordinates. */
function ecPoint(point: Buffer, crv: string, size: number): KeyObject {
  if (point.length !== 1 + 2 * size || point[0] !== 4) throw unreadable('its key is no point of the curve');
  const x = point.subarray(1, 1 + size).toString('base64url');
  const y = point.subarray(1 + size).toString('base64url');
  return createPublicKey({ key: { kty: 'EC', crv, x, y }, format: 'jwk' });
}

/** A positive number of SSH, which may begin with a zero byte or leave zeros out, in exactly so many bytes. */
function numberOf(mpint: Buffer, size: number): Buffer {
  const bare = mpint[0] === 0 ? mpint.subarray(1) : mpint;
  if (bare.length > size) throw unreadable('a number of it is too long');
  return Buffer.concat([Buffer.alloc(size - bare.length), bare]);
}

function unreadable(why: string): Error {
  return new Error(`its SSH signature cannot be used: ${why}`);
}
