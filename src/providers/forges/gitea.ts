/** The REST API of Gitea; Forgejo has the same. */
import * as z from 'zod';
import { githubStyle } from './github.ts';
import type { ForgeDialect } from './types.ts';

const pullRequestSchema = z.object({
  number: z.number().int().positive(),
  html_url: z.string(),
  state: z.enum(['open', 'closed']),
  merged: z.boolean(),
  title: z.string(),
  body: z.string(),
  // `ref` stops being the branch when the branch is deleted; `label` stays.
  head: z.object({ label: z.string(), sha: z.string(), repo_id: z.number() }),
  base: z.object({ repo_id: z.number() }),
});

/** The `gitea` entry of the table of forges. */
export const gitea: ForgeDialect = {
  ...githubStyle,
  kind: 'gitea',
  aliases: ['forgejo'],
  hosts: ['codeberg.org', 'gitea.com'],
  fingerprint: {
    path: '/version',
    fits: ({ status, json }) => status === 200 && typeof json.version === 'string',
  },
  headers: {},
  draft: { prefix: 'WIP: ' },
  // Gitea may live below a path, and owner and name are always the last two parts.
  place({ origin }, path) {
    const parts = path.split('/');
    const root = parts.slice(0, -2).join('/');
    return {
      api: `${origin}${root ? `/${root}` : ''}/api/v1`,
      repository: parts.slice(-2).join('/'),
    };
  },
  // A token as the password of basic authentication is accepted like the password itself.
  auth(credentials) {
    if (credentials.kind === 'token') return { kind: 'bearer', token: credentials.token };
    if (credentials.kind === 'none') return undefined;
    return { kind: 'basic', username: credentials.username, password: credentials.password };
  },
  // There is no filter by source branch; the newest come first.
  list: (repository, _branch, page) => ({
    method: 'GET',
    path: `/repos/${repository}/pulls`,
    query: { state: 'all', page, limit: 50 },
  }),
  read(answer) {
    const pull = pullRequestSchema.parse(answer);
    return {
      number: pull.number,
      url: pull.html_url,
      state: pull.merged ? 'merged' : pull.state,
      branch: pull.head.label,
      head: pull.head.sha,
      title: pull.title,
      body: pull.body,
      fromFork: pull.head.repo_id !== pull.base.repo_id,
    };
  },
  create: (repository, { draft: _, ...request }) => githubStyle.create(repository, request),
};
