/** What GitHub's REST API and Gitea's, which follows it, have in common. */
import * as z from 'zod';
import type { NewPullRequest } from '../api/forge.ts';
import type { ForgeDialect } from './types.ts';

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
