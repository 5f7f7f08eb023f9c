/** GitHub's API as far as Holdfast uses it, by https://docs.github.com/rest (2022-11-28). */
import type { DoubleWire } from './double.ts';

const PULL = /^\/repos\/acme\/shop\/pulls\/(\d+)$/;

function invalid(message: string) {
  return {
    status: 422,
    json: { message: 'Validation Failed', errors: [{ resource: 'PullRequest', code: 'custom', message }] },
  };
}

/** The double's side of GitHub. */
export const githubWire: DoubleWire = {
  authorization: 'Bearer s3cr3t-token',
  unauthorized: { message: 'Bad credentials', status: '401' },
  missing: { status: 404, json: { message: 'Not Found' } },
  paths: {
    repository: /^\/repos\/acme\/shop$/,
    pulls: /^\/repos\/acme\/shop\/pulls$/,
    pull: PULL,
    comments: /^\/repos\/acme\/shop\/issues\/(\d+)\/comments$/,
    statuses: /^\/repos\/acme\/shop\/statuses\/([0-9a-f]{40})$/,
  },
  repository: { full_name: 'acme/shop', permissions: { pull: true, push: true } },
  pageSize: 'per_page',
  list(query, { pulls }) {
    if (query.get('state') !== 'all' || query.get('direction') !== 'desc') return invalid('state');
    const [owner, branch] = query.get('head')?.split(':') ?? [];
    return pulls.filter((pull) => owner === 'acme' && pull.branch === branch);
  },
  shown: (pull, { web }) => ({
    number: pull.number,
    html_url: `${web}/acme/shop/pull/${pull.number}`,
    state: pull.state === 'open' ? 'open' : 'closed',
    merged_at: pull.state === 'merged' ? '2026-01-01T00:00:00Z' : null,
    draft: pull.draft,
    title: pull.title,
    body: pull.body || null,
    head: {
      ref: pull.branch,
      sha: pull.head,
      repo: { full_name: pull.isFork ? 'mallory/shop' : 'acme/shop' },
    },
    base: { ref: pull.base, repo: { full_name: 'acme/shop' } },
  }),
  opened: ({ head, base, title, body, draft }) => ({
    branch: String(head),
    base: String(base),
    title: String(title),
    body: String(body),
    draft: Boolean(draft),
  }),
  noBranch: invalid('head is invalid'),
  exists: ({ branch }) => invalid(`A pull request already exists for acme:${branch}.`),
  refusesPull: ({ draft }, { options }) =>
    draft && options.refusesDrafts
      ? invalid('Draft pull requests are not supported in this repository.')
      : undefined,
  comment: ({ body }) => String(body),
  status({ state = '', context = '', description = '', target_url }) {
    if (!['pending', 'success', 'failure', 'error'].includes(state)) return invalid('state');
    if (description.length > 140) return invalid('description is too long (maximum is 140 characters)');
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
  isDraft: ({ draft }) => draft,
};
