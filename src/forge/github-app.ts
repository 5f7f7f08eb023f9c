import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { z } from 'zod';
import { ForgeError } from './errors.ts';
import { type ForgeConnection, sendToForge } from './send.ts';
import type { ForgeCredentials } from './types.ts';

type GithubApp = Extract<ForgeCredentials, { kind: 'githubApp' }>;

/** Gives the token of a GitHub App's installation. Throws ForgeError. */
export type GithubAppTokens = (app: GithubApp, connection: Omit<ForgeConnection, 'auth'>) => Promise<string>;

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

/** Exchanges the App's key for tokens and keeps each until shortly before its end; users of one App share them. */
export function createGithubAppTokens(): GithubAppTokens {
  const kept = new Map<string, { readonly token: string; readonly endsMs: number }>();
  return async (app, connection) => {
    const key = cacheKey(app, connection.api);
    const known = kept.get(key);
    if (known && known.endsMs - RENEW_BEFORE_MS > connection.nowMs()) return known.token;
    const fresh = await exchange(app, connection);
    if (kept.size >= MAX_TOKENS) kept.clear();
    kept.set(key, fresh);
    return fresh.token;
  };
}

/** The App's proof of who it is: an RS256 JWT. Throws ForgeError Unauthorized when the key is none. */
export function appJwt(app: GithubApp, nowMs: number): string {
  const now = Math.floor(nowMs / 1000);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iat: now - CLOCK_SKEW_S, exp: now + JWT_LIFETIME_S, iss: app.appId };
  const text = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), rsaKey(app.privateKey)).toString('base64url')}`;
}

function rsaKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {
    // The parser's message may quote the key.
  }
  throw new ForgeError('Unauthorized', 'githubAppPrivateKey is no RSA private key in PEM format');
}

async function exchange(app: GithubApp, connection: Omit<ForgeConnection, 'auth'>) {
  const jwt = appJwt(app, connection.nowMs());
  const answer = await sendToForge(
    { ...connection, auth: async () => ({ kind: 'bearer', token: jwt }) },
    'sign in as GitHub App',
    { method: 'POST', path: `/app/installations/${app.installationId}/access_tokens` },
  );
  const read = tokenSchema.safeParse(answer);
  if (!read.success) throw new ForgeError('Invalid', 'GitHub gave no token for the App’s installation');
  return { token: read.data.token, endsMs: Date.parse(read.data.expires_at) };
}

/** The private key itself is not kept as a key of the map. */
function cacheKey({ appId, installationId, privateKey }: GithubApp, api: string): string {
  return createHash('sha256').update([api, appId, installationId, privateKey].join('\0')).digest('hex');
}
