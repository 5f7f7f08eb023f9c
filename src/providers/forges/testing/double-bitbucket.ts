/** Bitbucket Cloud's API as far as Holdfast uses it, by https://developer.atlassian.com/cloud/bitbucket/rest. */
import type { DoubleWire } from './double.ts';

const REQUEST = /^\/repositories\/acme\/shop\/pullrequests\/(\d+)$/;
const states = { open: 'OPEN', closed: 'DECLINED', merged: 'MERGED' };

function bad(message: string) {
  return { status: 400, json: { type: 'error', error: { message } } };
}

/** The double's side of Bitbucket, with a repository's access token. */
export const bitbucketWire: DoubleWire = {
  authorization: 'Bearer s3cr3t-token',
  unauthorized: { type: 'error', error: { message: 'Token is invalid, expired, or not supported' } },
  missing: { status: 404, json: { type: 'error', error: { message: 'Not found' } } },
  paths: {
    repository: /^\/repositories\/acme\/shop$/,
    pulls: /^\/repositories\/acme\/shop\/pullrequests$/,
    pull: REQUEST,
    comments: /^\/repositories\/acme\/shop\/pullrequests\/(\d+)\/comments$/,
    statuses: /^\/repositories\/acme\/shop\/commit\/([0-9a-f]{40})\/statuses\/build$/,
  },
  repository: { full_name: 'acme/shop' },
  pageSize: 'pagelen',
  list(query, { pulls }) {
    const q = query.get('q') ?? '';
    if (query.get('sort') !== '-created_on' || !q.includes('DECLINED')) return bad('sort');
    const wanted = /source\.branch\.name = "([^"]+)"/.exec(q)?.[1];
    return pulls.filter(({ branch }) => branch === wanted);
  },
  page: (values) => ({ values }),
  shown: (pull, { web }) => ({
    id: pull.number,
    links: { html: { href: `${web}/acme/shop/pull-requests/${pull.number}` } },
    state: states[pull.state],
    draft: pull.draft,
    title: pull.title,
    description: pull.body,
    source: {
      branch: { name: pull.branch },
      commit: { hash: pull.head.slice(0, 12) },
      repository: pull.isFork ? null : { full_name: 'acme/shop' },
    },
    destination: { branch: { name: pull.base }, repository: { full_name: 'acme/shop' } },
  }),
  opened(json) {
    const { title, description, draft, source, destination } = json as {
      title: string;
      description: string;
      draft?: boolean;
      source: { branch: { name: string } };
      destination: { branch: { name: string } };
    };
    const branches = { branch: source.branch.name, base: destination.branch.name };
    return { ...branches, title, body: description, draft: Boolean(draft) };
  },
  noBranch: bad('source branch not found'),
  exists: () => ({ status: 409, json: { error: { message: 'a pull request for this branch exists' } } }),
  comment: ({ content }) => (content as { raw: string }).raw,
  status({ key = '', state = '', name: context = '', description = '', url }) {
    if (!key || key.length > 40) return bad('key is too long');
    if (!url) return bad('url is required');
    if (!['INPROGRESS', 'SUCCESSFUL', 'FAILED', 'STOPPED'].includes(state)) return bad('state');
    return { state, context, description, targetUrl: url };
  },
  changes: [
    {
      method: 'POST',
      path: /^\/repositories\/acme\/shop\/pullrequests\/(\d+)\/decline$/,
      handle(pull) {
        if (pull.state !== 'open') return bad('this pull request is already closed');
        pull.state = 'closed';
        return undefined;
      },
    },
  ],
  failedState: 'FAILED',
  isDraft: ({ draft }) => draft,
};
