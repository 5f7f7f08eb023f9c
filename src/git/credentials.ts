import type { HttpTls } from '../http/dispatchers.ts';
import type { HttpAuth } from '../http/types.ts';
import { GitError } from './errors.ts';

/** How to sign in to a Git server. Holds secrets: never log or serialise it. */
export interface GitCredentials {
  readonly auth?: HttpAuth;
  readonly tls?: HttpTls;
}

/** Bytes of a Secret's `data` after base64 decoding, by key. */
export type SecretValues = Readonly<Record<string, Uint8Array>>;

/**
 * Credentials from a Secret: `bearerToken`, or `username` + `password`, and `ca.crt` (design section 2.2).
 * `name` is for messages. Throws GitError Unauthorized when the keys do not fit together.
 */
export function credentialsFromSecret(name: string, data: SecretValues): GitCredentials {
  const text = (key: string) => readText(name, key, data[key]);
  const auth = chooseAuth(`Secret ${name}`, {
    token: text('bearerToken'),
    username: text('username'),
    password: text('password'),
  });
  const ca = text('ca.crt');
  return { ...(auth ? { auth } : {}), ...(ca ? { tls: { ca } } : {}) };
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

interface Given {
  readonly token: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

function chooseAuth(where: string, { token, username, password }: Given): HttpAuth | undefined {
  if (token) return { kind: 'bearer', token: checked(where, 'token', token) };
  if (!username && !password) return undefined;
  if (!password) {
    throw new GitError(
      'Unauthorized',
      `${where} holds a Git username without a password; add the password or remove both`,
    );
  }
  // Forges that take a token as password accept any user name, but not an empty one.
  return { kind: 'basic', username: checked(where, 'username', username || 'git'), password };
}

/** A trailing line feed (`echo x | base64`) is cut; any other control character would break the header. */
function readText(name: string, key: string, bytes: Uint8Array | undefined): string | undefined {
  if (!bytes) return undefined;
  const text = new TextDecoder().decode(bytes).replace(/[\r\n]+$/, '');
  return key === 'ca.crt' ? text : checked(`Secret ${name}`, key, text);
}

function checked(where: string, key: string, value: string): string {
  if (/\p{Cc}/u.test(value)) {
    throw new GitError('Unauthorized', `${where}: the Git ${key} holds a control character; write it anew`);
  }
  return value;
}
