import { createPrivateKey, type KeyObject } from 'node:crypto';
import { limits } from '../api/limits.ts';

/** Reads a private key without a passphrase. Throws RangeError for one that takes too long to sign with, else what Node says of the text, which may quote it. */
export function readPrivateKey(pem: string | Buffer): KeyObject {
  const key = createPrivateKey(pem);
  const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  // The numbers besides the modulus may be larger than it.
  const bytes = modulusLength > 0 ? key.export({ type: 'pkcs8', format: 'der' }).length : 0;
  if (modulusLength <= limits.rsaKeyBits && bytes <= limits.privateKeyBytes) return key;
  throw new RangeError(
    `is a key of ${modulusLength} bits and ${bytes} bytes; RSA keys of at most ${limits.rsaKeyBits} bits are used`,
  );
}
