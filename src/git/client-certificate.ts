import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { HttpTls } from '../http/dispatchers.ts';
import { GitError } from './errors.ts';
import { type NamedValue, textOf } from './secret-values.ts';

/**
 * The certificate that we show to a Git server (mutual TLS), checked before anything is sent with it; undefined when the Secret has
 * none. Throws GitError Unauthorized, which names Secret and keys and quotes nothing of them.
 */
export function clientCertificate(
  secret: string,
  certificate: NamedValue | undefined,
  key: NamedValue | undefined,
): Pick<HttpTls, 'cert' | 'key'> | undefined {
  if (!certificate && !key) return undefined;
  if (!key) throw unusable(secret, `holds ${certificate?.key} without its key; add tls.key`);
  if (!certificate) throw unusable(secret, `holds ${key.key} without its certificate; add tls.crt`);
  const first = certificateOf(certificate);
  if (!first) throw unusable(secret, `${certificate.key} is no certificate in PEM format`);
  const privateKey = privateKeyOf(key);
  if (!privateKey) throw unusable(secret, `${key.key} is no private key in PEM format without a passphrase`);
  if (!first.checkPrivateKey(privateKey))
    throw unusable(secret, `${key.key} is not the key of ${certificate.key}`);
  return { cert: textOf(certificate.bytes) ?? '', key: textOf(key.bytes) ?? '' };
}

function unusable(secret: string, problem: string): GitError {
  return new GitError('Unauthorized', `Secret ${secret}: ${problem}`);
}

function certificateOf({ bytes }: NamedValue): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes);
  } catch {
    return undefined;
  }
}

/** The parser's own message may quote the key. */
function privateKeyOf({ bytes }: NamedValue): KeyObject | undefined {
  try {
    return createPrivateKey(Buffer.from(bytes));
  } catch {
    return undefined;
  }
}
