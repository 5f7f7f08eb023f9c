/** Gitea's API as far as Holdfast uses it; the same contract also runs against a real one in the cluster suites. */
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
const missing = { status: 404, json: { errors: null, message: 'not found', url: '/api/swagger' } };

function shown(pull: DoublePull, model: DoubleModel) {
  const ref = model.branches.has(pull.branch) ? pull.branch : `refs/pull/${pull.number}/head`;
  return {
    number: pull.number,
    html_url: `${model.web}/acme/shop/pulls/${pull.number}`,
    state: pull.state === 'open' ? 'open' : 'closed',
    merged: pull.state === 'merged',
    title: pull.title,
    body: pull.body,
    head: { label: pull.branch, ref, sha: pull.head, repo_id: pull.isFork ? 8 : 7 },
    base: { label: pull.base, ref: pull.base, repo_id: 7 },
  };
}

const routes: readonly DoubleRoute[] = [
  {
    method: 'GET',
    path: PULLS,
    handle({ query }, model) {
      if (query.get('state') !== 'all') return { status: 422, json: { message: 'state' } };
      return { status: 200, json: page(model.pulls, query, 'limit').map((pull) => shown(pull, model)) };
    },
  },
  {
    method: 'POST',
    path: PULLS,
    handle({ json }, model) {
      const branch = String(json.head);
      if (!model.branches.has(branch)) return missing;
      const open = model.pulls.find(
        (pull) => pull.branch === branch && !pull.isFork && pull.state === 'open',
      );
      if (open)
        return {
          status: 409,
          json: { message: `pull request already exists for these targets [id: ${open.number}]` },
        };
      const { title, body, base } = json;
      const fields = { title: String(title), body: String(body), base: String(base) };
      return { status: 201, json: shown(addPull(model, { branch, ...fields }), model) };
    },
  },
  {
    method: 'GET',
    path: PULL,
    handle(request, model) {
      const pull = pullOf(request, model);
      return pull ? { status: 200, json: shown(pull, model) } : missing;
    },
  },
  {
    method: 'PATCH',
    path: PULL,
    handle(request, model) {
      const pull = pullOf(request, model);
      if (!pull) return missing;
      Object.assign(pull, request.json);
      return { status: 201, json: shown(pull, model) };
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
      if (!['pending', 'success', 'failure', 'error'].includes(state ?? '')) return { status: 422 };
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
    handle: () => ({ status: 200, json: { permissions: { admin: false, push: true, pull: true } } }),
  },
];

/** The double's side of Gitea, with a user and a token as password. */
export const giteaWire: DoubleWire = {
  authorization: `Basic ${Buffer.from('bot:s3cr3t-token').toString('base64')}`,
  unauthorized: { message: 'invalid username, password or token', url: '/api/swagger' },
  routes,
};
