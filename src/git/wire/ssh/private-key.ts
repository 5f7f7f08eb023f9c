import { createDecipheriv, createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import type { ParsedKey } from 'ssh2';
import { createPause } from '../../../api/clock.ts';
import { limits } from '../../../api/limits.ts';
import { readPrivateKey } from '../../../http/private-key.ts';
import { createFieldReader, field } from '../../ssh-fields.ts';

/** Private keys of SSH: OpenSSH's own format (PROTOCOL.key of OpenSSH), and PEM. */

const MAGIC = Buffer.from('openssh-key-v1\0');
const OPENSSH = /-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END OPENSSH PRIVATE KEY-----/;
const PEM = /-----BEGIN (PRIVATE KEY|RSA PRIVATE KEY|EC PRIVATE KEY)-----[\s\S]+-----END \1-----/;
const USABLE = /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521))$/;

/** Node's name of a cipher with its key's length; blocks and counters have 16 bytes in each. */
const CIPHERS: Readonly<Record<string, readonly [string, number]>> = {
  'aes256-ctr': ['aes-256-ctr', 32],
  'aes192-ctr': ['aes-192-ctr', 24],
  'aes128-ctr': ['aes-128-ctr', 16],
  'aes256-cbc': ['aes-256-cbc', 32],
  'aes128-cbc': ['aes-128-cbc', 16],
};

/**
 * Opens a private key. Throws Error with what is wrong and what to do, which follows the name of the key's place and quotes nothing of
 * key or passphrase. A passphrase takes some tenths of a second, in small steps.
 */
export async function openPrivateKey(text: string, passphrase: string | undefined): Promise<ParsedKey> {
  if (text.length > limits.sshKeyCharacters)
    throw new Error(`is longer than ${limits.sshKeyCharacters} characters`);
  const own = OPENSSH.exec(text)?.[1];
  const opened = own ? await openOpenssh(Buffer.from(own, 'base64'), passphrase) : openPem(text, passphrase);
  const { utils } = await import('ssh2');
  const key = utils.parseKey(opened);
  // The library's own message may quote the key.
  if (key instanceof Error || !key.isPrivateKey()) throw unreadable();
  if (!USABLE.test(key.type)) throw new Error(`is a ${key.type} key; ${supported}`);
  if (key.type === 'ssh-rsa') refuseLarge(key.getPrivatePEM());
  return key;
}

const supported = 'Ed25519, ECDSA and RSA keys are supported';

function refuseLarge(pem: string): void {
  try {
    readPrivateKey(pem);
  } catch (error) {
    throw error instanceof RangeError ? error : unreadable();
  }
}

function unreadable(): Error {
  return new Error('is not a private key in the format of OpenSSH or PEM');
}

/** The same key in a format that the library reads, without a passphrase. */
function openPem(text: string, passphrase: string | undefined): string {
  if (text.includes('-----BEGIN ENCRYPTED PRIVATE KEY-----'))
    throw new Error('is an encrypted key in PKCS#8; convert it: ssh-keygen -p -f FILE');
  const [pem] = PEM.exec(text) ?? [];
  if (!pem) throw unreadable();
  const isEncrypted = pem.includes('Proc-Type: 4,ENCRYPTED');
  if (isEncrypted && !passphrase) throw noPassphrase();
  try {
    const key = createPrivateKey(isEncrypted ? { key: pem, passphrase: passphrase ?? '' } : pem);
    if (key.asymmetricKeyType === 'rsa') return String(key.export({ type: 'pkcs1', format: 'pem' }));
    if (key.asymmetricKeyType === 'ec') return String(key.export({ type: 'sec1', format: 'pem' }));
    if (key.asymmetricKeyType === 'ed25519') {
      const { d = '' } = key.export({ format: 'jwk' });
      const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
      return ed25519Text(Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url'));
    }
  } catch {
    throw isEncrypted ? wrongPassphrase() : unreadable();
  }
  throw new Error(`is of a type that is not used here; ${supported}`);
}

function ed25519Text(seed: Buffer, point: Buffer): string {
  const type = field('ssh-ed25519');
  const check = Buffer.alloc(8);
  const list = Buffer.concat([check, type, field(point), field(Buffer.concat([seed, point])), field('')]);
  const padding = Buffer.from(Array.from({ length: (8 - (list.length % 8)) % 8 }, (_, index) => index + 1));
  return opensshText(Buffer.concat([type, field(point)]), Buffer.concat([list, padding]));
}

/** Cipher, key derivation, number of keys, public key, then the private list, which begins with one number twice. */
async function openOpenssh(bytes: Buffer, passphrase: string | undefined): Promise<string> {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw unreadable();
  const reader = createFieldReader(bytes, MAGIC.length, unreadable);
  const [cipher, derivation, options] = [
    reader.field().toString(),
    reader.field().toString(),
    reader.field(),
  ];
  if (reader.number() !== 1) throw new Error('holds more than one key');
  const publicKey = reader.field();
  const list = reader.field();
  if (cipher === 'none') return opensshText(publicKey, list);
  if (!passphrase) throw noPassphrase();
  const [algorithm, keyBytes] = CIPHERS[cipher] ?? [];
  if (!algorithm || !keyBytes || derivation !== 'bcrypt') {
    const name = cipher.replace(/[^\w@.-]/g, '?').slice(0, 40);
    throw new Error(`is encrypted with ${name}; encrypt it again: ssh-keygen -p -Z aes256-ctr -f FILE`);
  }
  const derivationReader = createFieldReader(options, 0, unreadable);
  const [salt, rounds] = [derivationReader.field(), derivationReader.number()];
  if (rounds < 1 || rounds > limits.sshKeyRounds)
    throw new Error(
      `has a passphrase of ${rounds} rounds; at most ${limits.sshKeyRounds} are taken: ssh-keygen -p -a 16 -f FILE`,
    );
  if (list.length % 16 !== 0 || list.length === 0 || salt.length === 0) throw unreadable();
  const secret = await bcryptPbkdf(Buffer.from(passphrase, 'utf8'), salt, keyBytes + 16, rounds);
  const decipher = createDecipheriv(algorithm, secret.subarray(0, keyBytes), secret.subarray(keyBytes));
  decipher.setAutoPadding(false);
  const plain = Buffer.concat([decipher.update(list), decipher.final()]);
  if (plain.readUInt32BE(0) !== plain.readUInt32BE(4)) throw wrongPassphrase();
  return opensshText(publicKey, plain);
}

function opensshText(publicKey: Buffer, list: Buffer): string {
  const one = Buffer.from([0, 0, 0, 1]);
  const none = [field('none'), field('none'), field('')];
  const bytes = Buffer.concat([MAGIC, ...none, one, field(publicKey), field(list)]);
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${bytes.toString('base64').replace(/.{70}/g, '$&\n')}\n-----END OPENSSH PRIVATE KEY-----\n`;
}

/**
 * The key derivation of OpenSSH's format, with the library's one expensive step and pauses between: the library's own runs to the end in one
 * turn, for seconds where a key has many rounds.
 */
async function bcryptPbkdf(
  passphrase: Buffer,
  salt: Buffer,
  length: number,
  rounds: number,
): Promise<Buffer> {
  const { default: bcrypt } = await import('bcrypt-pbkdf');
  const pause = createPause();
  const sha512 = (bytes: Uint8Array) => createHash('sha512').update(bytes).digest();
  const password = sha512(passphrase);
  const blocks = Math.ceil(length / BLOCK_BYTES);
  const made = Buffer.alloc(blocks * BLOCK_BYTES);
  for (let block = 0; block < blocks; block += 1) {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(block + 1);
    let salted = sha512(Buffer.concat([salt, number]));
    const sum = Buffer.alloc(BLOCK_BYTES);
    for (let round = 0; round < rounds; round += 1) {
      const hash = new Uint8Array(BLOCK_BYTES);
      bcrypt.hash(password, salted, hash);
      hash.forEach((byte, index) => {
        sum[index] = (sum[index] ?? 0) ^ byte;
      });
      salted = sha512(hash);
      await pause();
    }
    // Bytes of the blocks take turns in the key.
    sum.forEach((byte, index) => {
      made[index * blocks + block] = byte;
    });
  }
  return made.subarray(0, length);
}

const BLOCK_BYTES = 32;

function noPassphrase(): Error {
  return new Error('is encrypted, and the Secret has no passphrase in the key password');
}

function wrongPassphrase(): Error {
  return new Error('cannot be opened with the passphrase in the key password');
}

/** Opens a private key, once for each content of a Secret. Throws Error that says what is wrong and quotes nothing. */
export type OpenKey = (text: string, passphrase: string | undefined) => Promise<ParsedKey>;

const MAX_KEYS = 256;

/**
 * Opened keys, by a digest of key and passphrase: a passphrase costs some tenths of a second, and each poll needs the key. Failures
 * are cached as well, for the same reason.
 */
export function createKeyRing(): OpenKey {
  const keys = new Map<string, Promise<ParsedKey>>();
  return (text, passphrase = '') => {
    const digest = createHash('sha256')
      .update(JSON.stringify([text, passphrase]))
      .digest('hex');
    const found = keys.get(digest) ?? openPrivateKey(text, passphrase || undefined);
    keys.delete(digest);
    keys.set(digest, found);
    const [oldest] = keys.keys();
    if (keys.size > MAX_KEYS && oldest !== undefined) keys.delete(oldest);
    found.catch(() => undefined);
    return found;
  };
}
