import type { HttpTls } from '../http/dispatchers.ts';
import type { HttpAuth, HttpRequest } from '../http/types.ts';
import { clientCertificate } from './client-certificate.ts';
import { GitError } from './errors.ts';
import { firstOf, lineOf, type SecretValues, textOf } from './secret-values.ts';

/** How to get to a Git server and to sign in there. Holds secrets: never log or serialise it. */
export interface GitCredentials {
  readonly auth?: HttpAuth;
  readonly tls?: HttpTls;
  /** Address of the proxy to go through, with its credentials as user info. */
  readonly proxy?: string;
  /** Told when the server refused `auth`, so that one which was kept is not used again. */
  refused?(): void;
}

/** What the outbound client takes of them. */
export function wayOf({ auth, proxy, tls }: GitCredentials): Pick<HttpRequest, 'auth' | 'tls' | 'proxy'> {
  return { ...(auth ? { auth } : {}), ...(tls ? { tls } : {}), ...(proxy === undefined ? {} : { proxy }) };
}

/**
 * Credentials from a Secret in Flux's format: `bearerToken`, or `username` + `password`; `ca.crt`; `tls.crt` + `tls.key` (design
 * section 2.2). `name` is for messages. Throws GitError Unauthorized when the keys do not fit together.
 */
export function credentialsFromSecret(name: string, data: SecretValues): GitCredentials {
  const auth = chooseAuth(`Secret ${name}`, {
    token: lineOf(name, 'bearerToken', data.bearerToken),
    username: lineOf(name, 'username', data.username),
    password: lineOf(name, 'password', data.password),
  });
  const tls = tlsFromSecret(name, data);
  return { ...(auth ? { auth } : {}), ...(tls ? { tls } : {}) };
}

/** Credentials from HOLDFAST_GIT_TOKEN, or HOLDFAST_GIT_USERNAME and HOLDFAST_GIT_PASSWORD; none set: anonymous. */
export function credentialsFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): GitCredentials {
  const auth = chooseAuth('the environment', {
    token: env.HOLDFAST_GIT_TOKEN,
    username: env.HOLDFAST_GIT_USERNAME,
    password: env.HOLDFAST_GIT_PASSWORD,
  });
  return auth ? { auth } : {};
}

/** `ca.crt`, `tls.crt` and `tls.key`, or as Flux called them before: `caFile`, `certFile`, `keyFile`. Undefined: the system's authorities, no certificate. */
export function tlsFromSecret(name: string, data: SecretValues): HttpTls | undefined {
  const ca = textOf(firstOf(data, ['ca.crt', 'caFile'])?.bytes);
  const own = clientCertificate(
    name,
    firstOf(data, ['tls.crt', 'certFile']),
    firstOf(data, ['tls.key', 'keyFile']),
  );
  return ca || own ? { ...(ca ? { ca } : {}), ...own } : undefined;
}

interface Given {
  readonly token: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

function chooseAuth(where: string, { token, username, password }: Given): HttpAuth | undefined {
  if (token) return { kind: 'bearer', token: plain(where, 'token', token) };
  if (!username && !password) return undefined;
  if (!password) {
    throw new GitError(
      'Unauthorized',
      `${where} holds a Git username without a password; add the password or remove both`,
    );
  }
  // Forges that take a token as password accept any user name, but not an empty one.
  return { kind: 'basic', username: plain(where, 'username', username || 'git'), password };
}

/** Of a Secret that was looked at already; the environment may hold anything. */
function plain(where: string, key: string, value: string): string {
  if (!/\p{Cc}/u.test(value)) return value;
  throw new GitError('Unauthorized', `${where}: the Git ${key} holds a control character; write it anew`);
}
