import { afterEach, beforeEach, expect, test } from 'vitest';
import type {
  CanaryView,
  Fleet,
  FleetChange,
  Freshness,
  Session,
  SourceView,
} from '../../src/dashboard/views.ts';
import type { App } from '../../src/server/app.ts';
import { type Bed, canary, createSource, deployment, eventually, waitForPhase } from './holdfast-bed.ts';
import { startQuickBed } from './quick-bed.ts';

let bed: Bed;
beforeEach(async () => {
  bed = await startQuickBed();
  bed.sandbox.authorize(({ user, verb, resource, namespace }) => {
    if (user.startsWith('system:serviceaccount:')) return true;
    return (rights[user] ?? []).some((one) =>
      [verb, '*'].some((each) => one === `${namespace}/${resource}/${each}`),
    );
  });
});
afterEach(async () => {
  rights = {};
  await bed.close();
});

/** `namespace/resource/verb`, by user. Tokens are the names of their users. */
let rights: Record<string, readonly string[]> = {};
const reader = ['shop/canaries/list', 'shop/canaries/get', 'shop/sources/list', 'shop/sources/get'];

const listen = { host: '127.0.0.1', port: 0 };

function start(more: Parameters<Bed['start']>[0] = {}): Promise<App> {
  return bed.start({ dashboard: { listen }, ...more });
}

/** A page that somebody has open: what the last event of each name said. */
async function open(app: App, token: string, query: string) {
  const closing = new AbortController();
  const answer = await fetch(`${app.dashboardUrl}/api/stream?${query}`, {
    headers: { 'x-holdfast-page': '1', 'x-holdfast-token': token },
    signal: closing.signal,
  });
  const last = new Map<string, unknown>();
  const all: Array<{ event: string; data: unknown }> = [];
  const reading = read(answer, (event, data) => {
    last.set(event, data);
    all.push({ event, data });
  }).catch(() => undefined);
  return {
    status: answer.status,
    all,
    last: <T>(event: string) => last.get(event) as T | undefined,
    ended: reading,
    close: () => closing.abort(),
  };
}

async function read(answer: Response, onEvent: (event: string, data: unknown) => void): Promise<void> {
  let text = '';
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    for (const part of parts) {
      const [, event = '', data = ''] = /^event: (\w+)\ndata: (.*)$/s.exec(part) ?? [];
      if (event) onEvent(event, JSON.parse(data));
    }
  }
}

async function ask(
  app: App,
  token: string,
  body: object,
  headers: Record<string, string> = { 'x-holdfast-page': '1' },
) {
  const answer = await fetch(`${app.dashboardUrl}/api/requests`, {
    method: 'POST',
    headers: { ...headers, 'x-holdfast-token': token, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, ...((await answer.json()) as { message?: string; value?: string }) };
}

async function rollOut(): Promise<void> {
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed);
  await waitForPhase(bed, 'Initialized');
}

test('who may list Canaries sees them move, and who may not sees nothing of them', async () => {
  const app = await start();
  await rollOut();
  rights = { alice: reader };
  const alice = await open(app, 'alice', 'view=fleet');
  const bob = await open(app, 'bob', 'view=fleet');
  const fleet = await eventually('the list', async () => alice.last<Fleet>('fleet'));
  expect(fleet.canaries).toMatchObject([
    { namespace: 'shop', name: 'web', phase: 'Initialized', tone: 'good', serving: 'v1', owner: 'shop/shop' },
  ]);
  expect(fleet.sources).toMatchObject([{ name: 'shop', ready: 'True', subject: 'v1' }]);
  expect(alice.last<Freshness>('fresh')).toEqual({ isLeader: true });
  await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  await eventually('the new release in the list', async () => {
    const changes = alice.all
      .filter(({ event }) => event === 'change')
      .map(({ data }) => data as FleetChange);
    return changes.some(({ canaries }) => canaries.some(({ serving }) => serving === 'v2'));
  });
  await eventually("bob's empty list", async () => bob.last<Fleet>('fleet'));
  expect(bob.all.filter(({ event }) => event !== 'fresh')).toEqual([
    { event: 'fleet', data: { canaries: [], sources: [] } },
  ]);
  const canaryOfAnother = await open(app, 'bob', 'view=canary&namespace=shop&name=web');
  const nothing = await open(app, 'bob', 'view=canary&namespace=shop&name=nothing');
  const missing = await eventually('an answer', async () =>
    canaryOfAnother.last<{ message: string }>('missing'),
  );
  expect(missing.message).toBe('There is no Canary shop/web, or you may not read it.');
  await eventually('the same answer', async () => nothing.last('missing'));
  for (const page of [alice, bob, canaryOfAnother, nothing]) page.close();
});

/** Everything that a person with the role admin may do in the namespace, as far as the dashboard asks. */
const admin = ['canaries', 'sources', 'pods', 'deployments', 'services', 'configmaps'].map(
  (one) => `shop/${one}/*`,
);

test('a page of a Canary shows the release under way, its pods and what it changes; an admin may abort it, and it is known who did', async () => {
  const app = await start();
  await rollOut();
  rights = { alice: admin, bob: reader };
  await bed.commit('v2', {
    'web.json': deployment('shop/web:2', { env: { COLOUR: 'red' } }),
    'canary.json': canary({ analysis: { iterations: 500 } }),
  });
  await waitForPhase(bed, 'Progressing');
  const alice = await open(app, 'alice', 'view=canary&namespace=shop&name=web');
  const page = await eventually('the whole page', async () => {
    const view = alice.last<CanaryView>('canary');
    const workloads = view && 'value' in view.pods ? view.pods.value.map(({ workload }) => workload) : [];
    return workloads.includes('web') && view?.requests.some(({ command }) => command === 'abort') && view;
  });
  expect(page.target).toBe('Deployment web');
  expect(page.changes).toEqual({
    value: [
      { path: 'containers[app].env[COLOUR].name', after: 'COLOUR' },
      { path: 'containers[app].env[COLOUR].value', after: 'red' },
      { path: 'containers[app].image', before: 'shop/web:1', after: 'shop/web:2' },
    ],
  });
  const pods = 'value' in page.pods ? page.pods.value : [];
  expect(new Set(pods.map(({ workload }) => workload))).toEqual(new Set(['web', 'web-primary']));
  const abort = page.requests.find(({ command }) => command === 'abort');
  expect(abort).toMatchObject({ isDrastic: true });
  expect(abort?.effect).toMatch(/ “v2” is stopped and rejected; \w{7} “v1” serves all requests\.$/);

  const bob = await open(app, 'bob', 'view=canary&namespace=shop&name=web');
  const seen = await eventually('the page of a reader', async () => bob.last<CanaryView>('canary'));
  expect(seen.pods).toEqual({ missing: 'You may not list pods of namespace shop.' });
  expect(seen.changes).toEqual({
    missing: 'You may not read Deployments of namespace shop, which web is about.',
  });
  expect(seen.requests.find(({ command }) => command === 'abort')?.forbidden).toBe(
    'needs the RBAC verb patch on canaries.flagger.app shop/web',
  );

  const body = {
    kind: 'Canary',
    namespace: 'shop',
    name: 'web',
    command: 'abort',
    revision: abort?.revision,
  };
  expect(await ask(app, 'bob', body)).toEqual({
    status: 403,
    message: 'bob needs the RBAC verb patch on canaries.flagger.app shop/web',
  });
  rights = { ...rights, carol: [...reader, 'shop/canaries/patch'] };
  expect((await ask(app, 'carol', body)).message).toBe(
    'carol needs the RBAC verb abort on canaries.flagger.app shop/web',
  );
  // Another site could send a form from a browser behind a login proxy, but no header of its own.
  expect((await ask(app, 'alice', body, {})).status).toBe(403);
  expect((await ask(app, 'alice', { ...body, revision: '"><script>' })).status).toBe(400);
  expect((await ask(app, 'alice', body)).status).toBe(202);
  await waitForPhase(bed, 'Failed');
  const answered = await eventually('the answer on the page', async () => {
    const view = alice.last<CanaryView>('canary');
    return view?.row.phase === 'Failed' && view;
  });
  expect(answered.status.answers?.abort).toMatchObject({ result: 'Done' });
  expect(answered.status.rejected).toHaveLength(1);
  expect(answered.timeline.weightsPercent).toContain(0);
  const events = (await bed.send('GET', '/apis/events.k8s.io/v1/namespaces/shop/events')).body as {
    items: Array<{ reason: string; note: string }>;
  };
  const audit = events.items.filter(({ reason }) => reason === 'DashboardRequest');
  expect(audit.map(({ note }) => note)).toEqual([
    `alice requested abort of ${abort?.revision?.slice(0, 15)} on the dashboard`,
  ]);
  alice.close();
  bob.close();
});

test('a copy that waits for the Lease serves the dashboard too, and requests there reach the leader', async () => {
  await start();
  const standby = await start();
  await rollOut();
  rights = { alice: admin };
  const page = await open(standby, 'alice', 'view=source&namespace=shop&name=shop');
  const view = await eventually('the page of the Source', async () => {
    const found = page.last<SourceView>('source');
    return found && 'value' in found.objects && found.objects.value.length > 1 && found;
  });
  expect(view.canaries.map(({ name }) => name)).toEqual(['web']);
  expect('value' in view.objects && view.objects.value.map(({ kind, name }) => `${kind} ${name}`)).toEqual(
    expect.arrayContaining(['Canary web']),
  );
  expect(page.last<Freshness>('fresh')).toEqual({ isLeader: false });
  const body = { kind: 'Canary', namespace: 'shop', name: 'web', command: 'pause' };
  expect((await ask(standby, 'alice', body)).status).toBe(202);
  const paused = await bed.canary();
  expect(paused?.metadata.annotations?.['holdfast.dev/pause']).toBe('true');
  expect((await ask(standby, 'alice', { ...body, command: 'resume' })).status).toBe(202);
  expect((await bed.canary())?.metadata.annotations?.['holdfast.dev/pause']).toBeUndefined();
  page.close();
});

test('a request reaches a Source also through a copy that waits and shows nobody anything, as a Service may choose it', async () => {
  await start();
  const standby = await start();
  await rollOut();
  rights = { alice: admin };
  const body = { kind: 'Source', namespace: 'shop', name: 'shop', command: 'sync', revision: 'now' };

  const asked = await ask(standby, 'alice', body);
  const missing = await ask(standby, 'alice', { ...body, name: 'other' });

  expect(asked).toEqual({ status: 202, value: expect.stringMatching(/^now@/) });
  expect((await bed.source())?.metadata.annotations?.['holdfast.dev/sync']).toBe(asked.value);
  expect(missing).toEqual({ status: 404, message: 'there is no Source shop/other' });
});

test('what a login proxy adds to each request, as the groups and the cookies of its session, may take 40 kB', async () => {
  const app = await start();
  rights = { alice: reader };
  const headers = {
    'x-holdfast-page': '1',
    'x-holdfast-token': 'alice',
    'x-forwarded-groups': Array.from({ length: 500 }, (_, index) => `group-${index}`).join(','),
    cookie: `session=${'x'.repeat(34_000)}`,
  };

  const answer = await fetch(`${app.dashboardUrl}/api/session`, { headers });

  expect(answer.status).toBe(200);
  expect((await fetch(`${app.url}/healthz`, { headers })).status).toBe(431);
});

test('a pause that Git sets is not resumed on the dashboard, as Git would set it again: the answer says who sets it', async () => {
  const app = await start();
  const paused = JSON.parse(canary());
  paused.metadata.annotations = { 'holdfast.dev/pause': 'true' };
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': JSON.stringify(paused) });
  await createSource(bed);
  await waitForPhase(bed, 'Initialized');
  rights = { alice: admin };

  const answer = await ask(app, 'alice', {
    kind: 'Canary',
    namespace: 'shop',
    name: 'web',
    command: 'resume',
  });

  expect(answer).toEqual({
    status: 409,
    message:
      'Canary shop/web: metadata.annotations.holdfast.dev/pause is set by holdfast, which would set it back; change it there',
  });
  expect((await bed.canary())?.metadata.annotations).toMatchObject({ 'holdfast.dev/pause': 'true' });
});

test('a page of a copy that waits stays open while that becomes the leader, whose version the Lease then says', async () => {
  const lease = () => bed.get('coordination.k8s.io/v1', 'Lease', 'holdfast', 'default');
  const version = async () => (await lease())?.metadata.annotations?.['holdfast.dev/version'];
  const first = await start({ version: '1.0.0' });
  await rollOut();
  const second = await start({ version: '2.0.0' });
  rights = { alice: admin };
  const page = await open(second, 'alice', 'view=canary&namespace=shop&name=web');
  await eventually('the page', async () => page.last<CanaryView>('canary'));
  expect(page.last<Freshness>('fresh')).toEqual({ isLeader: false });
  expect(await version()).toBe('1.0.0');

  await first.drain();
  await eventually('the page says who leads', async () => page.last<Freshness>('fresh')?.isLeader, {
    seen: lease,
  });
  expect(await version()).toBe('2.0.0');
  const commit = await bed.commit('v2', { 'web.json': deployment('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  await eventually('the page shows v2', async () => JSON.stringify(page.all.at(-1)).includes(commit));
  page.close();
});

test('a token that is not known gets nothing, and nobody gets more than eight pages at a time', async () => {
  const app = await start();
  await rollOut();
  bed.sandbox.authenticate((token) => (token === 'alice' ? token : undefined));
  rights = { alice: reader };
  const session = async (token: string) => {
    const headers = { 'x-holdfast-page': '1', authorization: `Bearer ${token}` };
    const answer = await fetch(`${app.dashboardUrl}/api/session`, { headers });
    return { status: answer.status, body: (await answer.json()) as Session };
  };
  expect(await session('alice')).toEqual({
    status: 200,
    body: { user: 'alice', version: '0.0.0', clusterName: 'test' },
  });
  expect((await session('mallory')).status).toBe(401);
  const many = await Promise.all(Array.from({ length: 9 }, () => open(app, 'alice', 'view=fleet')));
  expect(many.map(({ status }) => status).filter((status) => status !== 200)).toEqual([503]);
  for (const one of many) one.close();
});

test('while the API server does not answer, pages say since when, show what was read, and ask for nothing', async () => {
  const app = await start();
  await rollOut();
  rights = { alice: admin };
  const page = await open(app, 'alice', 'view=fleet');
  await eventually('the list', async () => page.last<Fleet>('fleet'));
  const body = { kind: 'Canary', namespace: 'shop', name: 'web', command: 'pause' };
  const end = bed.sandbox.fault(({ query }) => (query.has('watch') ? 'drop' : { code: 503 }));
  const refused = await ask(app, 'alice', body);
  expect([refused.status, refused.message]).toEqual([
    503,
    'the API server cannot be asked what you may do at the moment',
  ]);
  bed.sandbox.cutWatches('reset');
  const seen = await eventually('the time since when', async () => page.last<Freshness>('fresh')?.staleSince);
  expect(Date.now() - Date.parse(seen)).toBeLessThan(60_000);
  end();
  await eventually('current again', async () => page.last<Freshness>('fresh')?.staleSince === undefined);
  page.close();
});

test('while nobody can say what a person may read, a page says so, and not that there is nothing', async () => {
  const app = await start();
  await rollOut();
  rights = { alice: reader };
  const end = bed.sandbox.fault(({ path }) =>
    path.includes('subjectaccessreviews') ? { code: 503 } : undefined,
  );
  const page = await open(app, 'alice', 'view=fleet');
  const said = await eventually('why there is no list', async () => page.last<{ message: string }>('end'));
  expect(said.message).toBe('the API server cannot be asked what you may read at the moment');
  expect(page.last<Fleet>('fleet')).toBeUndefined();
  end();
  const again = await open(app, 'alice', 'view=fleet');
  const { canaries } = await eventually('the list', async () => again.last<Fleet>('fleet'));
  expect(canaries.map(({ name }) => name)).toEqual(['web']);
  again.close();
});
