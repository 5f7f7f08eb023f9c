import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { ParsedKey } from 'ssh2';
import type { SecretValues } from '../../api/kubernetes.ts';
import type { HttpAuth, HttpRequest, HttpTls } from '../../http/types.ts';
import { GitError } from '../errors.ts';
import { type KnownHosts, parseKnownHosts } from './ssh/known-hosts.ts';
import type { OpenKey } from './ssh/private-key.ts';

/** How a server of SSH is known, and how to sign in there. */
export interface SshCredentials {
  /** Where they come from, `namespace/name`, for messages. */
  readonly secret: string;
  /** Before the one in the address, as in Flux. */
  readonly username: string | undefined;
  readonly knownHosts: KnownHosts;
  readonly key: ParsedKey;
}

/** How to get to a Git server and to sign in there. Holds secrets: never log or serialise it. */
export interface GitCredentials {
  readonly auth?: HttpAuth;
  readonly tls?: HttpTls;
  /** Address of the proxy to go through, with its credentials as user info. */
  readonly proxy?: string;
  /** For an SSH address. */
  readonly ssh?: SshCredentials;
  /** Called when the server refused `auth`, so that a cached token is not used again. */
  refused?(): void;
}

/** What the outbound client takes of them. */
export function httpOptionsOf({
  auth,
  proxy,
  tls,
}: GitCredentials): Pick<HttpRequest, 'auth' | 'tls' | 'proxy'> {
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

/**
 * Credentials for an SSH address from a Secret of Flux (`identity`, `known_hosts`, `password`: the passphrase) or Argo CD (`sshPrivateKey`, to
 * which known_hosts is added). The key's own public half is used, and `identity.pub` is not read. Throws GitError Unauthorized.
 */
export async function sshCredentialsFromSecret(
  name: string,
  data: SecretValues,
  openKey: OpenKey,
): Promise<SshCredentials> {
  const identity = firstOf(data, ['identity', 'sshPrivateKey']);
  if (!identity) {
    const isForHttps = firstOf(data, ['bearerToken', 'githubAppID', 'password']) !== undefined;
    const otherwise = isForHttps ? ', or set spec.url to the https address, which its keys are for' : '';
    throw unusable(name, `an SSH address needs a private key; add it as identity${otherwise}`);
  }
  const hosts = firstOf(data, ['known_hosts']);
  if (!hosts)
    throw unusable(
      name,
      'an SSH address needs known_hosts, with the host keys of the server as ssh-keyscan prints them; add it',
    );
  const passphrase = textOf(data.password);
  try {
    return {
      secret: name,
      username: lineOf(name, 'username', data.username) || undefined,
      knownHosts: parseKnownHosts(new TextDecoder().decode(hosts.bytes)),
      key: await openKey(new TextDecoder().decode(identity.bytes), passphrase).catch((error: Error) => {
        throw unusable(name, `${identity.key} ${error.message}`);
      }),
    };
  } catch (error) {
    if (error instanceof GitError) throw error;
    throw unusable(name, `known_hosts ${error instanceof Error ? error.message : 'cannot be read'}`);
  }
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

/** Refuses control characters: the values of Secrets were checked, those of the environment were not. */
function plain(where: string, key: string, value: string): string {
  if (!/\p{Cc}/u.test(value)) return value;
  throw new GitError('Unauthorized', `${where}: the Git ${key} contains a control character; set it again`);
}

/**
 * The certificate that we show to a Git server (mutual TLS), checked before anything is sent with it; undefined when the Secret has
 * none. Throws GitError Unauthorized, which names Secret and keys and quotes nothing of them.
 */
function clientCertificate(
  secret: string,
  certificate: NamedValue | undefined,
  key: NamedValue | undefined,
): Pick<HttpTls, 'cert' | 'key'> | undefined {
  if (!certificate && !key) return undefined;
  if (!key) throw unusable(secret, `holds ${certificate?.key} without its key; add tls.key`);
  if (!certificate) throw unusable(secret, `holds ${key.key} without its certificate; add tls.crt`);
  const first = certificateOf(certificate);
  if (!first) throw unusable(secret, `${certificate.key} is not a certificate in PEM format`);
  const privateKey = privateKeyOf(key);
  if (!privateKey)
    throw unusable(secret, `${key.key} is not a private key in PEM format without a passphrase`);
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

/**
 * The address of a Source's proxy from the Secret of `spec.proxySecretRef`, in Flux's format: `address`, and `username` with `password`
 * where the proxy wants them; these become user info of the answer. `name` is for messages. Throws GitError Unauthorized, which never
 * quotes the address: it may hold a password.
 */
export function proxyFromSecret(name: string, data: SecretValues): string {
  const address = lineOf(name, 'address', data.address)?.trim();
  if (!address) throw unusableProxy(name, 'has no key address; it must be http(s)://host:port');
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol.startsWith('socks'))
    throw unusableProxy(
      name,
      `address is a ${url.protocol} proxy; only HTTP and HTTPS proxies are supported`,
    );
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw unusableProxy(name, 'address must be http(s)://host:port');
  const username = lineOf(name, 'username', data.username);
  const password = lineOf(name, 'password', data.password);
  if (password && !username && !url.username)
    throw unusableProxy(name, 'holds a password without a username');
  if (username) url.username = encodeURIComponent(username);
  if (password) url.password = encodeURIComponent(password);
  return url.href;
}

function unusableProxy(secret: string, problem: string): GitError {
  return new GitError('Unauthorized', `Secret ${secret} of spec.proxySecretRef: ${problem}`);
}

/** One value with the key it was found under, for messages. */
interface NamedValue {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** The first of these keys that holds something. */
function firstOf(data: SecretValues, keys: readonly string[]): NamedValue | undefined {
  for (const key of keys) {
    const bytes = data[key];
    if (bytes && bytes.length > 0) return { key, bytes };
  }
  return undefined;
}

/** Text without the line feeds at its end (`echo x | base64`); undefined for nothing. */
function textOf(bytes: Uint8Array | undefined): string | undefined {
  if (!bytes) return undefined;
  const text = new TextDecoder().decode(bytes);
  let end = text.length;
  while (end > 0 && '\r\n'.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** The same for what must be one line: a control character would break a header. Throws GitError Unauthorized without the value. */
function lineOf(secret: string, key: string, bytes: Uint8Array | undefined): string | undefined {
  const text = textOf(bytes);
  if (text === undefined || !/\p{Cc}/u.test(text)) return text;
  throw new GitError(
    'Unauthorized',
    `Secret ${secret}: the Git ${key} contains a control character; set it again`,
  );
}
