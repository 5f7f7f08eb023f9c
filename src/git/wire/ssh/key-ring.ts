import { createHash } from 'node:crypto';
import type { ParsedKey } from 'ssh2';
import { openPrivateKey } from './private-key.ts';

/** Opens a private key, once for each content of a Secret. Throws Error that says what is wrong and quotes nothing. */
export type OpenKey = (text: string, passphrase: string | undefined) => Promise<ParsedKey>;

const MAX_KEYS = 256;

/**
 * Keys that were opened, by a digest of key and passphrase: a passphrase costs some tenths of a second, and each poll needs the key. One that
 * cannot be opened is kept as well, for the same reason.
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
