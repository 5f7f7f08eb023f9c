/** GitLab's API as far as Holdfast uses it, by https://docs.gitlab.com/api/merge_requests and /commits. */
import type { DoubleWire } from './double.ts';

const REQUEST = /^\/projects\/acme%2Fshop\/merge_requests\/(\d+)$/;
const states = { open: 'opened', closed: 'closed', merged: 'merged' };

/** The double's side of GitLab. */
export const gitlabWire: DoubleWire = {
  authorization: 'Bearer s3cr3t-token',
  unauthorized: { message: '401 Unauthorized' },
  missing: { status: 404, json: { message: '404 Not found' } },
  paths: {
    repository: /^\/projects\/acme%2Fshop$/,
    pulls: /^\/projects\/acme%2Fshop\/merge_requests$/,
    pull: REQUEST,
    comments: /^\/projects\/acme%2Fshop\/merge_requests\/(\d+)\/notes$/,
    statuses: /^\/projects\/acme%2Fshop\/statuses\/([0-9a-f]{40})$/,
  },
  repository: { id: 7, permissions: { project_access: null, group_access: { access_level: 40 } } },
  pageSize: 'per_page',
  list(query, { pulls }) {
    if (query.get('state') !== 'all' || query.get('sort') !== 'desc')
      return { status: 400, json: { error: 'state' } };
    return pulls.filter(({ branch }) => branch === query.get('source_branch'));
  },
  shown: (pull, { web }) => ({
    id: 1000 + pull.number,
    iid: pull.number,
    web_url: `${web}/acme/shop/-/merge_requests/${pull.number}`,
    state: states[pull.state],
    draft: pull.title.startsWith('Draft: '),
    title: pull.title,
    description: pull.body || null,
    source_branch: pull.branch,
    target_branch: pull.base,
    sha: pull.head,
    source_project_id: pull.isFork ? 8 : 7,
    target_project_id: 7,
  }),
  opened: ({ source_branch, target_branch, title, description }) => ({
    branch: String(source_branch),
    base: String(target_branch),
    title: String(title),
    body: String(description),
  }),
  noBranch: { status: 400, json: { error: 'source_branch is invalid' } },
  exists: ({ number }) => ({
    status: 409,
    json: { message: [`Another open merge request already exists for this source branch: !${number}`] },
  }),
  comment: ({ body }) => String(body),
  status({ state = '', name: context = '', description = '', target_url }, statuses) {
    const message = `Cannot transition status via :enqueue from :${state} (Reason(s): Status cannot transition via "enqueue")`;
    const last = statuses.findLast((one) => one.context === context);
    if (last?.state === state) return { status: 400, json: { message } };
    if (!['pending', 'running', 'success', 'failed', 'canceled'].includes(state))
      return { status: 400, json: { error: 'state does not have a valid value' } };
    return { state, context, description, targetUrl: target_url };
  },
  changes: [
    {
      method: 'PUT',
      path: REQUEST,
      handle(pull, { state_event }) {
        if (state_event === 'close') pull.state = 'closed';
        return undefined;
      },
    },
  ],
  failedState: 'failed',
  isDraft: ({ title }) => title.startsWith('Draft: '),
};
