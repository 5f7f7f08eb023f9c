/** GitHub's REST API, version 2022-11-28; GitHub Enterprise Server has it below /api/v3, and with data residency (ghe.com) it has a host of its own. */
import * as z from 'zod';
import type { NewPullRequest } from '../../api/forge.ts';
import { tokenAuth } from './secret.ts';
import type { ForgeDialect } from './types.ts';

const rightsSchema = z.object({ permissions: z.object({ push: z.boolean() }).optional() });

/** Requests that are the same in Gitea's API, which follows GitHub's. */
export const githubStyle = {
  rows: (answer) => z.array(z.unknown()).parse(answer),
  get: (repository, number) => ({ method: 'GET', path: `/repos/${repository}/pulls/${number}` }),
  create: (repository, { branch, ...rest }: Omit<NewPullRequest, 'draft'>) => ({
    method: 'POST',
    path: `/repos/${repository}/pulls`,
    json: { head: branch, ...rest },
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

const publicHosts = ['github.com', 'www.github.com'];
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
  aliases: ['github-enterprise'],
  hosts: publicHosts,
  fingerprint: {
    path: '/meta',
    fits: ({ status, headers }) => 'x-github-request-id' in headers && (status === 200 || status === 401),
  },
  headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  draft: 'field',
  pageSize: 30,
  place({ protocol, hostname, host }, path) {
    const [owner = '', name = ''] = path.split('/').slice(-2);
    const cloud = publicHosts.includes(hostname) ? 'github.com' : /\.ghe\.com$/.test(hostname) && hostname;
    const api = cloud ? `https://api.${cloud}` : `${protocol}//${host}/api/v3`;
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
