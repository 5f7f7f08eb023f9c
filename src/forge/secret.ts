import type { HttpAuth } from '../http/types.ts';
import { ForgeError } from './errors.ts';
import type { ForgeCredentials } from './types.ts';

/** Bytes of a Secret's `data` after base64 decoding, by key. */
export type SecretValues = Readonly<Record<string, Uint8Array>>;

/** The value of one key as one line of text, without the line feed at its end; undefined when it is missing or empty. Throws ForgeError. */
export function secretText(values: SecretValues, key: string): string | undefined {
  const text = new TextDecoder().decode(values[key] ?? new Uint8Array()).trim();
  if (/\p{Cc}/u.test(text)) {
    throw new ForgeError('Unauthorized', `the Secret's ${key} holds a control character; write it anew`);
  }
  return text || undefined;
}

/**
 * Credentials from the Secret of a Source: `forgeToken` (for the forge alone), a GitHub App (`githubAppID`,
 * `githubAppInstallationID`, `githubAppPrivateKey`, as Flux calls them), `bearerToken`, or `username` and `password`; in this
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

function githubAppOf(values: SecretValues): ForgeCredentials | undefined {
  const appId = secretText(values, 'githubAppID');
  const installationId = secretText(values, 'githubAppInstallationID');
  const key = values.githubAppPrivateKey;
  if (!appId && !installationId && !key) return undefined;
  if (!appId || !installationId || !key) {
    throw new ForgeError(
      'Unauthorized',
      'a GitHub App needs githubAppID, githubAppInstallationID and githubAppPrivateKey; one of them is missing',
    );
  }
  if (!/^\d{1,20}$/.test(installationId)) {
    throw new ForgeError('Unauthorized', 'githubAppInstallationID must be a number');
  }
  return { kind: 'githubApp', appId, installationId, privateKey: new TextDecoder().decode(key) };
}

/** Sign-in for forges that take a token in the Authorization header, whichever way the Secret holds it. */
export function tokenAuth(
  credentials: Exclude<ForgeCredentials, { kind: 'githubApp' }>,
): HttpAuth | undefined {
  if (credentials.kind === 'none') return undefined;
  const token = credentials.kind === 'token' ? credentials.token : credentials.password;
  return { kind: 'bearer', token };
}
