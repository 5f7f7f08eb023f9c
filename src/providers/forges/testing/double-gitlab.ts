/** GitLab's API as far as Holdfast uses it, by https://docs.gitlab.com/api/merge_requests and /commits. */
import {
  addPull,
  type DoubleModel,
  type DoublePull,
  type DoubleRoute,
  type DoubleWire,
  page,
  pullOf,
} from './double.ts';

const REQUESTS = /^\/projects\/acme%2Fshop\/merge_requests$/;
const REQUEST = /^\/projects\/acme%2Fshop\/merge_requests\/(\d+)$/;
const states = { open: 'opened', closed: 'closed', merged: 'merged' };

function shown(pull: DoublePull, { web }: DoubleModel) {
  return {
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
  };
}

const routes: readonly DoubleRoute[] = [
  {
    method: 'GET',
    path: REQUESTS,
    handle({ query }, model) {
      if (query.get('state') !== 'all' || query.get('sort') !== 'desc')
        return { status: 400, json: { error: 'state' } };
      const rows = model.pulls.filter(({ branch }) => branch === query.get('source_branch'));
      return { status: 200, json: page(rows, query, 'per_page').map((pull) => shown(pull, model)) };
    },
  },
  {
    method: 'POST',
    path: REQUESTS,
    handle({ json }, model) {
      const branch = String(json.source_branch);
      const open = model.pulls.find(
        (pull) => pull.branch === branch && !pull.isFork && pull.state === 'open',
      );
      const message = `Another open merge request already exists for this source branch: !${open?.number}`;
      if (open) return { status: 409, json: { message: [message] } };
      if (!model.branches.has(branch)) return { status: 400, json: { error: 'source_branch is invalid' } };
      const { title, description, target_branch } = json;
      const fields = { title: String(title), body: String(description), base: String(target_branch) };
      return { status: 201, json: shown(addPull(model, { branch, ...fields }), model) };
    },
  },
  {
    method: 'GET',
    path: REQUEST,
    handle(request, model) {
      const pull = pullOf(request, model);
      return pull
        ? { status: 200, json: shown(pull, model) }
        : { status: 404, json: { message: '404 Not found' } };
    },
  },
  {
    method: 'PUT',
    path: REQUEST,
    handle(request, model) {
      const pull = pullOf(request, model);
      const { title, description, state_event } = request.json;
      if (!pull) return { status: 404, json: { message: '404 Not found' } };
      if (title !== undefined) pull.title = String(title);
      if (description !== undefined) pull.body = String(description);
      if (state_event === 'close') pull.state = 'closed';
      return { status: 200, json: shown(pull, model) };
    },
  },
  {
    method: 'POST',
    path: /^\/projects\/acme%2Fshop\/merge_requests\/(\d+)\/notes$/,
    handle({ parts, json }, model) {
      model.comments.push({ number: Number(parts[0]), body: String(json.body) });
      return { status: 201, json: {} };
    },
  },
  {
    method: 'POST',
    path: /^\/projects\/acme%2Fshop\/statuses\/([0-9a-f]{40})$/,
    handle({ parts, json }, model) {
      const { state, name, description, target_url } = json as Record<string, string>;
      const last = model.statuses.findLast((one) => one.commit === parts[0] && one.context === name);
      const message = `Cannot transition status via :enqueue from :${state} (Reason(s): Status cannot transition via "enqueue")`;
      if (last?.state === state) return { status: 400, json: { message } };
      if (!['pending', 'running', 'success', 'failed', 'canceled'].includes(state ?? ''))
        return { status: 400, json: { error: 'state does not have a valid value' } };
      model.statuses.push({
        commit: parts[0] ?? '',
        state: state ?? '',
        context: name ?? '',
        description: description ?? '',
        targetUrl: target_url,
      });
      return { status: 201, json: {} };
    },
  },
  {
    method: 'GET',
    path: /^\/projects\/acme%2Fshop$/,
    handle: () => ({
      status: 200,
      json: { id: 7, permissions: { project_access: null, group_access: { access_level: 40 } } },
    }),
  },
];

/** The double's side of GitLab. */
export const gitlabWire: DoubleWire = {
  authorization: 'Bearer s3cr3t-token',
  unauthorized: { message: '401 Unauthorized' },
  routes,
};
