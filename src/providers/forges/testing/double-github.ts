/** GitHub's API as far as Holdfast uses it, by https://docs.github.com/rest (2022-11-28). */
import {
  addPull,
  type DoubleModel,
  type DoublePull,
  type DoubleRoute,
  type DoubleWire,
  page,
  pullOf,
} from './double.ts';

const PULLS = /^\/repos\/acme\/shop\/pulls$/;
const PULL = /^\/repos\/acme\/shop\/pulls\/(\d+)$/;

function shown(pull: DoublePull, { web }: DoubleModel) {
  return {
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
  };
}

function invalid(message: string) {
  return {
    status: 422,
    json: { message: 'Validation Failed', errors: [{ resource: 'PullRequest', code: 'custom', message }] },
  };
}

const routes: readonly DoubleRoute[] = [
  {
    method: 'GET',
    path: PULLS,
    handle({ query }, model) {
      if (query.get('state') !== 'all' || query.get('direction') !== 'desc') return invalid('state');
      const [owner, branch] = query.get('head')?.split(':') ?? [];
      const rows = model.pulls.filter((pull) => owner === 'acme' && pull.branch === branch);
      return { status: 200, json: page(rows, query, 'per_page').map((pull) => shown(pull, model)) };
    },
  },
  {
    method: 'POST',
    path: PULLS,
    handle({ json }, model) {
      const branch = String(json.head);
      if (!model.branches.has(branch)) return invalid('head is invalid');
      if (json.draft && model.options.refusesDrafts)
        return invalid('Draft pull requests are not supported in this repository.');
      if (model.pulls.some((pull) => pull.branch === branch && !pull.isFork && pull.state === 'open'))
        return invalid(`A pull request already exists for acme:${branch}.`);
      const { title, body, base, draft } = json;
      const fields = { title: String(title), body: String(body), base: String(base), draft: Boolean(draft) };
      return { status: 201, json: shown(addPull(model, { branch, ...fields }), model) };
    },
  },
  {
    method: 'GET',
    path: PULL,
    handle(request, model) {
      const pull = pullOf(request, model);
      return pull
        ? { status: 200, json: shown(pull, model) }
        : { status: 404, json: { message: 'Not Found' } };
    },
  },
  {
    method: 'PATCH',
    path: PULL,
    handle(request, model) {
      const pull = pullOf(request, model);
      if (!pull) return { status: 404, json: { message: 'Not Found' } };
      Object.assign(pull, request.json);
      return { status: 200, json: shown(pull, model) };
    },
  },
  {
    method: 'POST',
    path: /^\/repos\/acme\/shop\/issues\/(\d+)\/comments$/,
    handle({ parts, json }, model) {
      model.comments.push({ number: Number(parts[0]), body: String(json.body) });
      return { status: 201, json: {} };
    },
  },
  {
    method: 'POST',
    path: /^\/repos\/acme\/shop\/statuses\/([0-9a-f]{40})$/,
    handle({ parts, json }, model) {
      const { state, context, description, target_url } = json as Record<string, string>;
      if (!['pending', 'success', 'failure', 'error'].includes(state ?? '')) return invalid('state');
      if ((description ?? '').length > 140)
        return invalid('description is too long (maximum is 140 characters)');
      model.statuses.push({
        commit: parts[0] ?? '',
        state: state ?? '',
        context: context ?? '',
        description: description ?? '',
        targetUrl: target_url,
      });
      return { status: 201, json: {} };
    },
  },
  {
    method: 'GET',
    path: /^\/repos\/acme\/shop$/,
    handle: () => ({
      status: 200,
      json: { full_name: 'acme/shop', permissions: { pull: true, push: true } },
    }),
  },
];

/** The double's side of GitHub. */
export const githubWire: DoubleWire = {
  authorization: 'Bearer s3cr3t-token',
  unauthorized: { message: 'Bad credentials', status: '401' },
  routes,
};
