import {
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto';
import { fromBech32 } from './bech32.ts';

/** A private key of age (X25519). */
export interface AgeIdentity {
  readonly privateKey: KeyObject;
  /** 32 bytes. */
  readonly publicKey: Buffer;
}

const pkcs8Prefix = Buffer.from('302e020100300506032b656e04220420', 'hex');
const spkiPrefix = Buffer.from('302a300506032b656e032100', 'hex');
const fileKeyBytes = 16;
const tagBytes = 16;
/** Data keys have 32 bytes; a payload of more than one chunk holds something else. */
const chunkBytes = 64 * 1024;

/** The identities in a key file as age-keygen writes it; comments and keys of other kinds are left out. */
export function identitiesIn(text: string): AgeIdentity[] {
  return text.split('\n').flatMap((line) => {
    const raw = fromBech32(line.trim(), 'AGE-SECRET-KEY-');
    if (raw?.length !== 32) return [];
    const privateKey = createPrivateKey({
      key: Buffer.concat([pkcs8Prefix, raw]),
      format: 'der',
      type: 'pkcs8',
    });
    const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
    return [{ privateKey, publicKey: spki.subarray(-32) }];
  });
}

/**
 * Opens a short armored file of age (C2SP age-encryption.org/v1) with the first identity that fits. Undefined when none fits, or when it is
 * no such file or was changed.
 */
export function openAge(armored: string, identities: readonly AgeIdentity[]): Buffer | undefined {
  const file = parse(armored);
  if (!file) return undefined;
  for (const { share, body } of file.stanzas) {
    for (const identity of identities) {
      const fileKey = unwrap(identity, share, body);
      if (fileKey) return isHeaderSound(file, fileKey) ? payloadOf(file.payload, fileKey) : undefined;
    }
  }
  return undefined;
}

interface AgeFile {
  readonly stanzas: ReadonlyArray<{ readonly share: Buffer; readonly body: Buffer }>;
  /** What the header's code covers, up to its `---`. */
  readonly covered: Buffer;
  readonly code: Buffer;
  readonly payload: Buffer;
}

function parse(armored: string): AgeFile | undefined {
  const inner =
    /^\s*-----BEGIN AGE ENCRYPTED FILE-----\r?\n(?<base64>[A-Za-z0-9+/=\r\n]+)-----END AGE ENCRYPTED FILE-----\s*$/.exec(
      armored,
    )?.groups?.base64;
  if (inner === undefined) return undefined;
  const bytes = Buffer.from(inner, 'base64');
  const start = bytes.indexOf('\n--- ');
  const end = bytes.indexOf('\n', start + 1);
  if (start < 0 || end < 0) return undefined;
  const header = bytes.toString('latin1', 0, start + 1);
  if (!header.startsWith('age-encryption.org/v1\n')) return undefined;
  const stanzas = [
    ...header.matchAll(/^-> X25519 (?<share>[A-Za-z0-9+/]{43})\n(?<body>[A-Za-z0-9+/]{43})\n/gm),
  ];
  return {
    stanzas: stanzas.map(({ groups = {} }) => ({
      share: Buffer.from(groups.share ?? '', 'base64'),
      body: Buffer.from(groups.body ?? '', 'base64'),
    })),
    covered: bytes.subarray(0, start + '\n---'.length),
    code: Buffer.from(bytes.toString('latin1', start + '\n--- '.length, end), 'base64'),
    payload: bytes.subarray(end + 1),
  };
}

function unwrap(identity: AgeIdentity, share: Buffer, body: Buffer): Buffer | undefined {
  const publicKey = createPublicKey({ key: Buffer.concat([spkiPrefix, share]), format: 'der', type: 'spki' });
  const salt = Buffer.concat([share, identity.publicKey]);
  try {
    const secret = diffieHellman({ privateKey: identity.privateKey, publicKey });
    if (secret.every((byte) => byte === 0)) return undefined;
    const key = derived(secret, salt, 'age-encryption.org/v1/X25519');
    const fileKey = opened(key, Buffer.alloc(12), body);
    return fileKey?.length === fileKeyBytes ? fileKey : undefined;
  } catch {
    // A share of low order: OpenSSL refuses it.
    return undefined;
  }
}

function isHeaderSound({ covered, code }: AgeFile, fileKey: Buffer): boolean {
  const key = derived(fileKey, Buffer.alloc(0), 'header');
  const wanted = createHmac('sha256', key).update(covered).digest();
  return code.length === wanted.length && timingSafeEqual(code, wanted);
}

function payloadOf(payload: Buffer, fileKey: Buffer): Buffer | undefined {
  const chunk = payload.subarray(16);
  if (chunk.length > chunkBytes + tagBytes) return undefined;
  const nonce = Buffer.alloc(12);
  // The only chunk is the last one.
  nonce[11] = 1;
  return opened(derived(fileKey, payload.subarray(0, 16), 'payload'), nonce, chunk);
}

function derived(secret: Buffer, salt: Buffer, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, 32));
}

function opened(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer | undefined {
  if (sealed.length < tagBytes) return undefined;
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}
