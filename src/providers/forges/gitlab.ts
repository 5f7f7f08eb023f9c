/** GitLab's REST API, version 4. Pull requests are merge requests there. */
import * as z from 'zod';
import type { CommitStatus } from '../../api/forge.ts';
import { tokenAuth } from './secret.ts';
import type { ForgeDialect } from './types.ts';

/** Developer: the lowest role that may push a branch. */
const DEVELOPER = 30;

const mergeRequestSchema = z.object({
  iid: z.number().int().positive(),
  web_url: z.string(),
  state: z.enum(['opened', 'closed', 'merged', 'locked']),
  title: z.string(),
  description: z.string().nullish(),
  source_branch: z.string(),
  sha: z.string().nullish(),
  source_project_id: z.number().nullish(),
  target_project_id: z.number(),
});
const accessSchema = z.object({ access_level: z.number() }).nullish();
const rightsSchema = z.object({
  permissions: z.object({ project_access: accessSchema, group_access: accessSchema }).optional(),
});
const states = { opened: 'open', locked: 'open', closed: 'closed', merged: 'merged' } as const;
const statusStates = { pending: 'pending', success: 'success', failure: 'failed', error: 'failed' } as const;

/** The `gitlab` entry of the table of forges. */
export const gitlab: ForgeDialect = {
  kind: 'gitlab',
  hosts: ['gitlab.com'],
  fingerprint: {
    path: '/version',
    // Without a token it answers 401, with a header that identifies it.
    fits: ({ status, headers, json }) =>
      'x-gitlab-meta' in headers && (status === 401 || (status === 200 && typeof json.version === 'string')),
  },
  headers: {},
  draft: { prefix: 'Draft: ' },
  pageSize: 20,
  place: ({ origin }, path) => ({ api: `${origin}/api/v4`, repository: path }),
  placeBelow({ origin }, path) {
    const [root, ...repository] = path.split('/');
    if (repository.length < 2) return undefined;
    return { api: `${origin}/${root}/api/v4`, repository: repository.join('/') };
  },
  auth: tokenAuth,
  list: (repository, branch, page) => ({
    method: 'GET',
    path: `${project(repository)}/merge_requests`,
    query: {
      source_branch: branch,
      state: 'all',
      order_by: 'created_at',
      sort: 'desc',
      per_page: 20,
      page,
    },
  }),
  rows: (answer) => z.array(z.unknown()).parse(answer),
  read(answer) {
    const merge = mergeRequestSchema.parse(answer);
    return {
      number: merge.iid,
      url: merge.web_url,
      state: states[merge.state],
      branch: merge.source_branch,
      head: merge.sha ?? '',
      title: merge.title,
      body: merge.description ?? '',
      fromFork: merge.source_project_id !== merge.target_project_id,
    };
  },
  get: (repository, number) => ({ method: 'GET', path: mergeRequest(repository, number) }),
  create: (repository, { branch, base, title, body }) => ({
    method: 'POST',
    path: `${project(repository)}/merge_requests`,
    json: { source_branch: branch, target_branch: base, title, description: body },
  }),
  comment: (repository, number, body) => ({
    method: 'POST',
    path: `${mergeRequest(repository, number)}/notes`,
    json: { body },
  }),
  close: (repository, number) => ({
    method: 'PUT',
    path: mergeRequest(repository, number),
    json: { state_event: 'close' },
  }),
  status: (repository, commit, { state, context, description, targetUrl }) => ({
    method: 'POST',
    path: `${project(repository)}/statuses/${commit}`,
    json: {
      state: statusStates[state],
      name: context,
      description,
      ...(targetUrl ? { target_url: targetUrl } : {}),
    },
  }),
  isSameStatus: (message: string, { state }: CommitStatus) =>
    message.includes('Cannot transition status') && message.includes(`from :${statusStates[state]}`),
  repositoryOf: (repository) => ({ method: 'GET', path: project(repository) }),
  mayWrite(answer) {
    const { permissions } = rightsSchema.parse(answer);
    if (!permissions) return undefined;
    const levels = [permissions.project_access, permissions.group_access];
    return levels.some((access) => (access?.access_level ?? 0) >= DEVELOPER);
  },
  // A line that begins with `/merge` or `/approve` would be carried out with the token's rights.
  safeText: (text) => text.replace(/^(\s*)\/(?=[a-z_]+)/gim, '$1\\/'),
};

function project(repository: string): string {
  return `/projects/${encodeURIComponent(repository)}`;
}

function mergeRequest(repository: string, number: number): string {
  return `${project(repository)}/merge_requests/${number}`;
}
