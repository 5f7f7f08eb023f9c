import type { SecretValues } from '../../api/kubernetes.ts';
import { withoutLastSlashes } from '../../api/limits.ts';
import { isSshAddress } from '../../api/source/git-address.ts';
import type { Source } from '../../api/source/source.ts';
import type { HttpAuth } from '../../http/types.ts';
import { ForgeError } from './errors.ts';
import type { ForgeCredentials, GithubApp } from './types.ts';

/** The value of one key as one line of text, without the line feed at its end; undefined when it is missing or empty. Throws ForgeError. */
export function secretText(values: SecretValues, key: string): string | undefined {
  const text = new TextDecoder().decode(values[key] ?? new Uint8Array()).trim();
  if (/\p{Cc}/u.test(text)) {
    throw new ForgeError('Unauthorized', `the Secret's ${key} contains a control character; set it again`);
  }
  return text || undefined;
}

/**
 * Credentials from the Secret of a Source: `forgeToken` (for the forge alone), a GitHub App (`githubAppID`,
 * `githubAppInstallationID` or `githubAppInstallationOwner`, `githubAppPrivateKey`, `githubAppBaseURL`, as Flux calls them), `bearerToken`, or `username` and `password`; in this
 * order. Throws ForgeError Unauthorized when keys do not fit together.
 */
export function credentialsOf(values: SecretValues): ForgeCredentials {
  const token = secretText(values, 'forgeToken');
  if (token) return { kind: 'token', token };
  const app = githubAppOf(values);
  if (app) return app;
  const bearer = secretText(values, 'bearerToken');
  if (bearer) return { kind: 'token', token: bearer };
  const password = secretText(values, 'password');
  if (!password) return { kind: 'none' };
  return { kind: 'password', username: secretText(values, 'username') ?? 'git', password };
}

/** The values of a Source's Secret for its forge. With an SSH address `password` is a passphrase, which must not be sent to a server. */
export function forgeValuesOf({ spec }: Source, values: SecretValues): SecretValues {
  if (!isSshAddress(spec.url)) return values;
  const { username: _user, password: _passphrase, ...rest } = values;
  return rest;
}

/** The GitHub App of a Secret, its keys as Flux calls them; undefined when it has none. Throws ForgeError Unauthorized. */
export function githubAppOf(values: SecretValues): GithubApp | undefined {
  const appId = secretText(values, 'githubAppID');
  const installation = installationOf(values);
  const key = values.githubAppPrivateKey;
  if (!appId && !installation && !key) return undefined;
  if (!appId || !installation || !key) {
    throw new ForgeError(
      'Unauthorized',
      'a GitHub App needs githubAppID, githubAppInstallationID (or githubAppInstallationOwner) and githubAppPrivateKey; one of them is missing',
    );
  }
  const api = apiOf(values);
  const privateKey = new TextDecoder().decode(key);
  return { kind: 'githubApp', appId, installation, privateKey, ...(api === undefined ? {} : { api }) };
}

function installationOf(values: SecretValues): GithubApp['installation'] | undefined {
  const id = secretText(values, 'githubAppInstallationID');
  if (id !== undefined && !/^\d{1,20}$/.test(id))
    throw new ForgeError('Unauthorized', 'githubAppInstallationID must be a number');
  if (id !== undefined) return { id };
  const owner = secretText(values, 'githubAppInstallationOwner');
  if (owner !== undefined && !/^[\w.-]{1,100}$/.test(owner))
    throw new ForgeError(
      'Unauthorized',
      'githubAppInstallationOwner must be the name of an organisation or user',
    );
  return owner === undefined ? undefined : { owner };
}

/** Of a GitHub Enterprise Server: `https://github.example.com/api/v3`. */
function apiOf(values: SecretValues): string | undefined {
  const given = secretText(values, 'githubAppBaseURL');
  if (given === undefined) return undefined;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (isPlain && (url.protocol === 'https:' || url.protocol === 'http:')) return withoutLastSlashes(url.href);
  throw new ForgeError(
    'Unauthorized',
    'githubAppBaseURL must be the URL of the GitHub API, as https://host/api/v3',
  );
}

/** Authentication for forges that take a token in the Authorization header, from either key of the Secret. */
export function tokenAuth(
  credentials: Exclude<ForgeCredentials, { kind: 'githubApp' }>,
): HttpAuth | undefined {
  if (credentials.kind === 'none') return undefined;
  const token = credentials.kind === 'token' ? credentials.token : credentials.password;
  return { kind: 'bearer', token };
}
