/** Signing in as a GitHub App: its private key is exchanged for a token of one installation. */
import { createHash, type KeyObject, sign } from 'node:crypto';
import * as z from 'zod';
import type { Clock } from '../../api/clock.ts';
import type { SecretValues } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import { readPrivateKey } from '../../http/private-key.ts';
import type { HttpClient } from '../../http/types.ts';
import { ForgeError } from './errors.ts';
import { github } from './github.ts';
import { githubAppOf } from './secret.ts';
import { type ForgeConnection, forgeTenant, sendToForge } from './send.ts';
import type { ForgeNetworkSettings, GithubApp } from './types.ts';

/** Gives the token of a GitHub App's installation. Throws ForgeError. */
export interface GithubAppTokens {
  of(app: GithubApp, connection: AppConnection): Promise<string>;
  /** A token that was refused is not given again. */
  drop(token: string): void;
}

/** What forges are opened with. One per process, since it caches what is known about hosts. */
export interface ForgeSettings {
  readonly http: Pick<HttpClient, 'send'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Shared by forges and by Git. */
  readonly tokens: GithubAppTokens;
}

/** Where an App signs in: a connection without authentication. */
type AppConnection = Omit<ForgeConnection, 'auth'>;

/** GitHub allows ten minutes; its clock may be behind ours. */
const JWT_LIFETIME_S = 540;
const CLOCK_SKEW_S = 60;
/** A token lives for an hour and is renewed this long before its end. */
const RENEW_BEFORE_MS = 300_000;
const MAX_TOKENS = 200;

const tokenSchema = z.object({
  token: z.string().min(1).max(1024),
  expires_at: z.iso.datetime({ offset: true }),
});
const installationSchema = z.object({ id: z.number().int().positive() });

/** Exchanges the App's key for tokens and caches each until shortly before its expiry; users of one App share them. */
export function createGithubAppTokens(): GithubAppTokens {
  const cached = new Map<string, AppToken>();
  const underWay = new Map<string, Promise<AppToken>>();

  /** Many Sources of one App are read at a time, and GitHub limits how often an App signs in. Who goes another way has to try it. */
  function exchangeOnce(key: string, app: GithubApp, connection: AppConnection): Promise<AppToken> {
    const place = hashOf(key, JSON.stringify(connection.way));
    const running = underWay.get(place);
    if (running) return running;
    const exchanging = exchange(app, connection).finally(() => underWay.delete(place));
    underWay.set(place, exchanging);
    return exchanging;
  }

  return {
    async of(app, connection) {
      const { appId, installation, privateKey } = app;
      const key = hashOf(connection.api, appId, JSON.stringify(installation), privateKey);
      const known = cached.get(key);
      if (known && known.endsMs - RENEW_BEFORE_MS > connection.nowMs()) return known.token;
      const fresh = await exchangeOnce(key, app, connection);
      if (cached.size >= MAX_TOKENS) cached.clear();
      cached.set(key, fresh);
      return fresh.token;
    },
    drop(token) {
      for (const [key, known] of cached) if (known.token === token) cached.delete(key);
    },
  };
}

/** As GitHub's documentation of Apps says, the token of an App is the password of this user. */
export const appUser = 'x-access-token';

/** The token with which Git reads the repository of a Source; undefined when its Secret names no App. Throws ForgeError. */
export async function gitTokenOf(
  source: Source,
  { values, way }: { readonly values: SecretValues; readonly way: ForgeNetworkSettings },
  { http, clock, tokens }: ForgeSettings,
): Promise<string | undefined> {
  const app = githubAppOf(values);
  if (!app) return undefined;
  const url = new URL(source.spec.url);
  const api = app.api ?? github.place(url, url.pathname).api;
  const tenant = forgeTenant(source);
  return tokens.of(app, {
    http: { send: (request) => http.send({ ...request, tenant }) },
    way,
    nowMs: () => clock.nowMs(),
    api,
    headers: github.headers,
    where: `github ${new URL(api).host}`,
  });
}

/** The RS256 JWT by which the App authenticates. Throws ForgeError Unauthorized for an invalid key. */
export function appJwt(app: GithubApp, nowMs: number): string {
  const now = Math.floor(nowMs / 1000);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iat: now - CLOCK_SKEW_S, exp: now + JWT_LIFETIME_S, iss: app.appId };
  const text = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), rsaKey(app.privateKey)).toString('base64url')}`;
}

function rsaKey(pem: string): KeyObject {
  try {
    const key = readPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch (error) {
    // The parser's message may quote the key.
    if (error instanceof RangeError)
      throw new ForgeError('Unauthorized', `githubAppPrivateKey ${error.message}`);
  }
  throw new ForgeError('Unauthorized', 'githubAppPrivateKey is not an RSA private key in PEM format');
}

/** Private keys, and passwords of proxies, are not stored themselves. */
function hashOf(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\0')).digest('hex');
}

interface AppToken {
  readonly token: string;
  readonly endsMs: number;
}

async function exchange(app: GithubApp, connection: AppConnection): Promise<AppToken> {
  const jwt = appJwt(app, connection.nowMs());
  const asApp: ForgeConnection = { ...connection, auth: async () => ({ kind: 'bearer', token: jwt }) };
  const id = 'id' in app.installation ? app.installation.id : await findInstallation(asApp, app.installation);
  const answer = await sendToForge(asApp, 'sign in as GitHub App', {
    method: 'POST',
    path: `/app/installations/${id}/access_tokens`,
  });
  const read = tokenSchema.safeParse(answer);
  if (!read.success)
    throw new ForgeError('Invalid', 'GitHub returned no token for the installation of the App');
  return { token: read.data.token, endsMs: Date.parse(read.data.expires_at) };
}

/** An organisation's installation, else a user's: GitHub has an address for each. */
async function findInstallation(connection: ForgeConnection, { owner }: { readonly owner: string }) {
  const ask = (path: string) =>
    sendToForge(connection, `find the installation of the GitHub App for ${owner}`, { method: 'GET', path });
  const answer = await ask(`/orgs/${owner}/installation`).catch((error: unknown) => {
    if (error instanceof ForgeError && error.code === 'NotFound') return ask(`/users/${owner}/installation`);
    throw error;
  });
  const read = installationSchema.safeParse(answer);
  if (!read.success)
    throw new ForgeError('Invalid', `GitHub returned no installation of the App for ${owner}`);
  return String(read.data.id);
}
