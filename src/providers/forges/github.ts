/** What GitHub's REST API and Gitea's, which follows it, have in common. */
import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import * as z from 'zod';
import type { NewPullRequest } from '../../api/forge.ts';
import { ForgeError } from './errors.ts';
import { tokenAuth } from './secret.ts';
import { type ForgeConnection, sendToForge } from './send.ts';
import type { ForgeDialect, GithubApp } from './types.ts';

const rightsSchema = z.object({ permissions: z.object({ push: z.boolean() }).optional() });

/** Requests that read the same at both. */
export const githubStyle = {
  rows: (answer) => z.array(z.unknown()).parse(answer),
  get: (repository, number) => ({ method: 'GET', path: `/repos/${repository}/pulls/${number}` }),
  create: (repository, { branch, ...rest }: Omit<NewPullRequest, 'draft'>) => ({
    method: 'POST',
    path: `/repos/${repository}/pulls`,
    json: { head: branch, ...rest },
  }),
  change: (repository, number, content) => ({
    method: 'PATCH',
    path: `/repos/${repository}/pulls/${number}`,
    json: content,
  }),
  comment: (repository, number, body) => ({
    method: 'POST',
    path: `/repos/${repository}/issues/${number}/comments`,
    json: { body },
  }),
  close: (repository, number) => ({
    method: 'PATCH',
    path: `/repos/${repository}/pulls/${number}`,
    json: { state: 'closed' },
  }),
  status: (repository, commit, { targetUrl, ...status }) => ({
    method: 'POST',
    path: `/repos/${repository}/statuses/${commit}`,
    json: { ...status, ...(targetUrl ? { target_url: targetUrl } : {}) },
  }),
  repositoryOf: (repository) => ({ method: 'GET', path: `/repos/${repository}` }),
  mayWrite: (answer) => rightsSchema.parse(answer).permissions?.push,
} satisfies Partial<ForgeDialect>;

// GitHub's REST API, version 2022-11-28; GitHub Enterprise Server has it below /api/v3.

const PUBLIC_HOST = 'github.com';

const repositorySchema = z.object({ full_name: z.string() });
const pullRequestSchema = z.object({
  number: z.number().int().positive(),
  html_url: z.string(),
  state: z.enum(['open', 'closed']),
  merged_at: z.string().nullish(),
  title: z.string(),
  body: z.string().nullish(),
  head: z.object({ ref: z.string(), sha: z.string(), repo: repositorySchema.nullish() }),
  base: z.object({ repo: repositorySchema }),
});

/** The `github` entry of the table of forges. */
export const github: ForgeDialect = {
  ...githubStyle,
  kind: 'github',
  headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  draft: 'field',
  pageSize: 30,
  place({ protocol, hostname, host }, path) {
    const [owner = '', name = ''] = path.split('/').slice(-2);
    const isPublic = hostname === PUBLIC_HOST || hostname === `www.${PUBLIC_HOST}`;
    const api = isPublic ? `https://api.${PUBLIC_HOST}` : `${protocol}//${host}/api/v3`;
    return { api, repository: `${owner}/${name}` };
  },
  auth: tokenAuth,
  list: (repository, branch, page) => ({
    method: 'GET',
    path: `/repos/${repository}/pulls`,
    query: {
      head: `${repository.split('/')[0]}:${branch}`,
      state: 'all',
      sort: 'created',
      direction: 'desc',
      per_page: 30,
      page,
    },
  }),
  read(answer) {
    const pull = pullRequestSchema.parse(answer);
    return {
      number: pull.number,
      url: pull.html_url,
      state: pull.merged_at ? 'merged' : pull.state,
      branch: pull.head.ref,
      head: pull.head.sha,
      title: pull.title,
      body: pull.body ?? '',
      fromFork: pull.head.repo?.full_name !== pull.base.repo.full_name,
    };
  },
};

/** Gives the token of a GitHub App's installation. Throws ForgeError. */
export interface GithubAppTokens {
  of(app: GithubApp, connection: AppConnection): Promise<string>;
  /** A token that was refused is not given again. */
  drop(token: string): void;
}

/** Where an App signs in: a connection without the way to sign in. */
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

/** Exchanges the App's key for tokens and keeps each until shortly before its end; users of one App share them. */
export function createGithubAppTokens(): GithubAppTokens {
  const kept = new Map<string, { readonly token: string; readonly endsMs: number }>();
  return {
    async of(app, connection) {
      const key = cacheKey(app, connection.api);
      const known = kept.get(key);
      if (known && known.endsMs - RENEW_BEFORE_MS > connection.nowMs()) return known.token;
      const fresh = await exchange(app, connection);
      if (kept.size >= MAX_TOKENS) kept.clear();
      kept.set(key, fresh);
      return fresh.token;
    },
    drop(token) {
      for (const [key, known] of kept) if (known.token === token) kept.delete(key);
    },
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
  throw new ForgeError('Unauthorized', 'githubAppPrivateKey is not an RSA private key in PEM format');
}

async function exchange(app: GithubApp, connection: AppConnection) {
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

/** The private key itself is not kept as a key of the map. */
function cacheKey({ appId, installation, privateKey }: GithubApp, api: string): string {
  const parts = [api, appId, JSON.stringify(installation), privateKey];
  return createHash('sha256').update(parts.join('\0')).digest('hex');
}
