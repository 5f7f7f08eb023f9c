/** Gitea's API as far as Holdfast uses it; the same contract also runs against a real one in the cluster suites. */
import type { DoubleWire } from './double.ts';

const PULL = /^\/repos\/acme\/shop\/pulls\/(\d+)$/;
const missing = { status: 404, json: { errors: null, message: 'not found', url: '/api/swagger' } };

/** The double's side of Gitea, with a user and a token as password. */
export const giteaWire: DoubleWire = {
  authorization: `Basic ${Buffer.from('bot:s3cr3t-token').toString('base64')}`,
  unauthorized: { message: 'invalid username, password or token', url: '/api/swagger' },
  missing,
  paths: {
    repository: /^\/repos\/acme\/shop$/,
    pulls: /^\/repos\/acme\/shop\/pulls$/,
    pull: PULL,
    comments: /^\/repos\/acme\/shop\/issues\/(\d+)\/comments$/,
    statuses: /^\/repos\/acme\/shop\/statuses\/([0-9a-f]{40})$/,
  },
  repository: { permissions: { admin: false, push: true, pull: true } },
  pageSize: 'limit',
  list: (query, { pulls }) =>
    query.get('state') === 'all' ? pulls : { status: 422, json: { message: 'state' } },
  shown: (pull, { web, branches }) => ({
    number: pull.number,
    html_url: `${web}/acme/shop/pulls/${pull.number}`,
    state: pull.state === 'open' ? 'open' : 'closed',
    merged: pull.state === 'merged',
    title: pull.title,
    body: pull.body,
    head: {
      label: pull.branch,
      ref: branches.has(pull.branch) ? pull.branch : `refs/pull/${pull.number}/head`,
      sha: pull.head,
      repo_id: pull.isFork ? 8 : 7,
    },
    base: { label: pull.base, ref: pull.base, repo_id: 7 },
  }),
  opened: ({ head, base, title, body }) => ({
    branch: String(head),
    base: String(base),
    title: String(title),
    body: String(body),
  }),
  noBranch: missing,
  exists: ({ number }) => ({
    status: 409,
    json: { message: `pull request already exists for these targets [id: ${number}]` },
  }),
  comment: ({ body }) => String(body),
  status({ state = '', context = '', description = '', target_url }) {
    if (!['pending', 'success', 'failure', 'error'].includes(state)) return { status: 422 };
    return { state, context, description, targetUrl: target_url };
  },
  changes: [
    {
      method: 'PATCH',
      path: PULL,
      handle(pull, json) {
        Object.assign(pull, json);
        return undefined;
      },
    },
  ],
  failedState: 'failure',
  isDraft: ({ title }) => title.startsWith('WIP: '),
};
