/** Bitbucket Cloud's API as far as Holdfast uses it, by https://developer.atlassian.com/cloud/bitbucket/rest. */
import {
  addPull,
  type DoubleModel,
  type DoublePull,
  type DoubleRoute,
  type DoubleWire,
  page,
  pullOf,
} from './double.ts';

const REQUESTS = /^\/repositories\/acme\/shop\/pullrequests$/;
const REQUEST = /^\/repositories\/acme\/shop\/pullrequests\/(\d+)$/;
const states = { open: 'OPEN', closed: 'DECLINED', merged: 'MERGED' };
const missing = { status: 404, json: { type: 'error', error: { message: 'Not found' } } };

function bad(message: string) {
  return { status: 400, json: { type: 'error', error: { message } } };
}

function shown(pull: DoublePull, { web }: DoubleModel) {
  return {
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
  };
}

const routes: readonly DoubleRoute[] = [
  {
    method: 'GET',
    path: REQUESTS,
    handle({ query }, model) {
      const q = query.get('q') ?? '';
      if (query.get('sort') !== '-created_on' || !q.includes('DECLINED')) return bad('sort');
      const wanted = /source\.branch\.name = "([^"]+)"/.exec(q)?.[1];
      const rows = model.pulls.filter(({ branch }) => branch === wanted);
      return {
        status: 200,
        json: { values: page(rows, query, 'pagelen').map((pull) => shown(pull, model)) },
      };
    },
  },
  {
    method: 'POST',
    path: REQUESTS,
    handle({ json }, model) {
      const { title, description, draft, source, destination } = json as {
        title: string;
        description: string;
        draft?: boolean;
        source: { branch: { name: string } };
        destination: { branch: { name: string } };
      };
      const branch = source.branch.name;
      if (!model.branches.has(branch)) return bad('source branch not found');
      if (model.pulls.some((pull) => pull.branch === branch && !pull.isFork && pull.state === 'open'))
        return { status: 409, json: { error: { message: 'a pull request for this branch exists' } } };
      const fields = { title, body: description, base: destination.branch.name, draft: Boolean(draft) };
      return { status: 201, json: shown(addPull(model, { branch, ...fields }), model) };
    },
  },
  {
    method: 'GET',
    path: REQUEST,
    handle(request, model) {
      const pull = pullOf(request, model);
      return pull ? { status: 200, json: shown(pull, model) } : missing;
    },
  },
  {
    method: 'PUT',
    path: REQUEST,
    handle(request, model) {
      const pull = pullOf(request, model);
      const { title, description } = request.json;
      if (!pull) return missing;
      if (typeof title !== 'string') return bad('title is required');
      Object.assign(pull, { title, body: description });
      return { status: 200, json: shown(pull, model) };
    },
  },
  {
    method: 'POST',
    path: /^\/repositories\/acme\/shop\/pullrequests\/(\d+)\/decline$/,
    handle(request, model) {
      const pull = pullOf(request, model);
      if (pull?.state !== 'open') return bad('this pull request is already closed');
      pull.state = 'closed';
      return { status: 200, json: shown(pull, model) };
    },
  },
  {
    method: 'POST',
    path: /^\/repositories\/acme\/shop\/pullrequests\/(\d+)\/comments$/,
    handle({ parts, json }, model) {
      const { content } = json as { content: { raw: string } };
      model.comments.push({ number: Number(parts[0]), body: content.raw });
      return { status: 201, json: {} };
    },
  },
  {
    method: 'POST',
    path: /^\/repositories\/acme\/shop\/commit\/([0-9a-f]{40})\/statuses\/build$/,
    handle({ parts, json }, model) {
      const { key, state, name, description, url } = json as Record<string, string>;
      if (!key || key.length > 40) return bad('key is too long');
      if (!url) return bad('url is required');
      if (!['INPROGRESS', 'SUCCESSFUL', 'FAILED', 'STOPPED'].includes(state ?? '')) return bad('state');
      model.statuses.push({
        commit: parts[0] ?? '',
        state: state ?? '',
        context: name ?? '',
        description: description ?? '',
        targetUrl: url,
      });
      return { status: 201, json: {} };
    },
  },
  {
    method: 'GET',
    path: /^\/repositories\/acme\/shop$/,
    handle: () => ({ status: 200, json: { full_name: 'acme/shop' } }),
  },
];

/** The double's side of Bitbucket, with a repository's access token. */
export const bitbucketWire: DoubleWire = {
  authorization: 'Bearer s3cr3t-token',
  unauthorized: { type: 'error', error: { message: 'Token is invalid, expired, or not supported' } },
  routes,
};
