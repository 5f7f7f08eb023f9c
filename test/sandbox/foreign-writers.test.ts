import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/server/app.ts';
import {
  canary,
  condition,
  createSource,
  deployment,
  eventually,
  isNotIdle,
  notesOf,
  onGateway,
  statusOf,
  waitForPhase,
} from './holdfast-bed.ts';
import { type QuickBed, startQuickBed } from './quick-bed.ts';

let bed: QuickBed;
beforeEach(async () => {
  bed = await startQuickBed();
  await bed.commit('v1', { 'web.json': deployment('shop/web:1'), 'canary.json': canary() });
  await createSource(bed);
});
afterEach(() => bed.close());

/** Another tool applies part of the primary by force. */
async function applyPart(manager: string, container: Record<string, unknown>): Promise<void> {
  const { status } = await bed.send(
    'PATCH',
    `/apis/apps/v1/namespaces/shop/deployments/web-primary?fieldManager=${manager}&force=true`,
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web-primary', namespace: 'shop' },
      spec: { template: { spec: { containers: [{ name: 'app', ...container }] } } },
    },
    'application/apply-patch+yaml',
  );
  expect(status).toBe(200);
}

async function drifted(): Promise<string> {
  const found = condition(await bed.canary(), 'Drifted');
  return `${found?.status} ${found?.message}`;
}

function untilDrifted(wanted: RegExp): Promise<boolean> {
  return eventually(`Drifted ${wanted}`, async () => wanted.test(await drifted()), { seen: drifted });
}

test('a primary that another manager changed is Drifted with its name until it is put back', async () => {
  await bed.start();
  await waitForPhase(bed, 'Initialized');

  await applyPart('image-patcher', { image: 'shop/web:hotfix' });
  await untilDrifted(/^True .*image-patcher/);
  await applyPart('image-patcher', { image: 'shop/web:1' });
  await untilDrifted(/^False/);
});

/** What `kubectl set image` sends. */
async function setImage(image: string, manager: string): Promise<void> {
  const { status } = await bed.send(
    'PATCH',
    `/apis/apps/v1/namespaces/shop/deployments/web-primary?fieldManager=${manager}`,
    { spec: { template: { spec: { containers: [{ name: 'app', image }] } } } },
    'application/strategic-merge-patch+json',
  );
  expect(status).toBe(200);
}

test.each(['kubectl-set', 'kubectl-edit', 'holdfast-rollout'])(
  'an image that was set by hand as %s is told before all else, also after a restart (issue 11, 11)',
  async (manager) => {
    const first = await bed.start();
    await waitForPhase(bed, 'Initialized');
    await untilDrifted(/^False/);
    await setImage('shop/web:by-hand', manager);
    const words = new RegExp(
      `^True .*${manager} changed spec.template.spec.containers\\[app\\].image \\(shop/web:by-hand, not shop/web:1\\)`,
    );
    await untilDrifted(words);
    await first.drain();
    await bed.start();
    await untilDrifted(words);
    await setImage('shop/web:1', manager);
    await untilDrifted(/^False/);
  },
);

test('a value from a Secret is told neither where it was changed nor where the API server refuses it', async () => {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'db' },
    stringData: { password: 'hunter2+1' },
  };
  await bed.send('POST', '/api/v1/namespaces/shop/secrets', secret);
  const withUrl = (image: string) => {
    const web = JSON.parse(deployment(image));
    web.spec.template.spec.containers[0].env = [{ name: 'DB', value: 'host=db password=${password}' }];
    return { 'web.json': JSON.stringify(web) };
  };
  await bed.commit('v2', withUrl('shop/web:1'));
  const source = '/apis/holdfast.dev/v1alpha1/namespaces/shop/sources/shop';
  await bed.send('PATCH', source, { spec: { substitute: { from: [{ kind: 'Secret', name: 'db' }] } } });
  await bed.start();
  await waitForPhase(bed, 'Initialized');

  await applyPart('env-patcher', { env: [{ name: 'DB', value: 'sqlite' }] });
  await untilDrifted(/^True .*env-patcher.*sqlite, not host=db password=\*\*\*/);

  bed.sandbox.fault(({ method, path, body }) =>
    method === 'PATCH' && path.endsWith('/deployments/web')
      ? { code: 422, reason: 'Invalid', message: `Invalid value: ${/host=db[^"\\\\]+/.exec(String(body))}` }
      : undefined,
  );
  await bed.commit('v3', withUrl('shop/web:2'));
  const told = async () => condition(await bed.canary(), 'Ready')?.message ?? '';
  await eventually('the refusal is told', async () => /422 Invalid value: host=db/.test(await told()), {
    seen: told,
    timeoutMs: 30_000,
  });
  expect(JSON.stringify(statusOf(await bed.canary()))).not.toContain('hunter2');
});

test('a change that was made while no Holdfast ran is found at the start', async () => {
  const first = await bed.start();
  await waitForPhase(bed, 'Initialized');
  await first.drain();

  await applyPart('image-patcher', { image: 'shop/web:hotfix' });
  await bed.start();

  await untilDrifted(/^True .*image-patcher/);
});

test('what others add, scale or own beside us is no drift and causes no requests', async () => {
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  await untilDrifted(/^False/);
  bed.sandbox.requests.clear();

  await applyPart('injector', { env: [{ name: 'ADDED', value: 'yes' }] });
  await eventually('the new pods are ready', async () => {
    const primary = await bed.get('apps/v1', 'Deployment', 'web-primary');
    const { observedGeneration, updatedReplicas, readyReplicas } = statusOf(primary);
    return (
      observedGeneration === primary?.metadata.generation && updatedReplicas === 2 && readyReplicas === 2
    );
  });

  expect(await drifted()).toMatch(/^False/);
  const gets = bed.sandbox.requests
    .all()
    .filter(
      (request) => isNotIdle(request) && request.method === 'GET' && request.path.endsWith('/web-primary'),
    );
  expect(gets).toEqual([]);
});

test('what kubectl adds to the nodeSelector or the tolerations of a primary is told, and the next release takes it out', async () => {
  const pinned = (image: string) => {
    const object = JSON.parse(deployment(image));
    const pod = { nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'a', operator: 'Exists' }] };
    Object.assign(object.spec.template.spec, pod);
    return JSON.stringify(object);
  };
  await bed.commit('v1', { 'web.json': pinned('shop/web:1') });
  await bed.start();
  await waitForPhase(bed, 'Initialized');
  await untilDrifted(/^False/);
  const patch = async (pod: object) => {
    const path = '/apis/apps/v1/namespaces/shop/deployments/web-primary?fieldManager=kubectl-patch';
    const body = { spec: { template: { spec: pod } } };
    expect((await bed.send('PATCH', path, body)).status).toBe(200);
  };

  await patch({ nodeSelector: { disk: 'ssd', zone: 'north' } });
  await untilDrifted(/^True .*kubectl-patch changed spec.template.spec.nodeSelector/);
  await patch({ nodeSelector: { disk: 'ssd', zone: null } });
  await untilDrifted(/^False/);
  await patch({ tolerations: [{ key: 'a', operator: 'Exists' }, { operator: 'Exists' }] });
  await untilDrifted(/^True .*kubectl-patch changed spec.template.spec.tolerations/);

  await bed.commit('v2', { 'web.json': pinned('shop/web:2') });
  await waitForPhase(bed, 'Succeeded');
  await untilDrifted(/^False/);
  const { spec } = (await bed.get('apps/v1', 'Deployment', 'web-primary')) as { spec?: unknown };
  expect(spec).toMatchObject({ template: { spec: { tolerations: [{ key: 'a' }] } } });
});

describe('what others change of what the rollout keeps is put back, and told', () => {
  let app: App;
  const routes = '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/web';

  beforeEach(async () => {
    await bed.commit('on a gateway', { 'canary.json': canary({ spec: onGateway }) });
    app = await bed.start();
    await waitForPhase(bed, 'Initialized');
  });

  /** Half of the traffic for a canary that has no pods. */
  async function divideRoute(): Promise<void> {
    const route = await bed.get('gateway.networking.k8s.io/v1', 'HTTPRoute', 'web');
    const { rules: before } = route!.spec as { rules: Array<{ backendRefs: object[] }> };
    const rules = before.map((rule) => ({
      ...rule,
      backendRefs: rule.backendRefs.map((backend) => ({ ...backend, weight: 50 })),
    }));
    const { status } = await bed.send('PATCH', `${routes}?fieldManager=argocd`, { spec: { rules } });
    expect(status).toBe(200);
  }

  function untilTold(wanted: RegExp): Promise<boolean> {
    return eventually(
      `${wanted}`,
      async () => notesOf(bed, 'DriftCorrected').some((note) => wanted.test(`${note}`)),
      { seen: async () => notesOf(bed, 'DriftCorrected') },
    );
  }

  test('a route: by whom, which fields, and that it happens again and again', async () => {
    await divideRoute();
    await untilTold(
      /^put back what others had changed: HTTPRoute shop\/web: argocd changed spec\.rules\[0\]\.backendRefs\[[^\]]+\]\.weight \(50, not 100\)/,
    );
    await untilDrifted(/^False HTTPRoute shop\/web: argocd changed .*; corrected at \d{4}-/);
    for (let times = 1; times < 5; times += 1) {
      await divideRoute();
      await bed.pass(20_000);
    }
    await untilDrifted(
      /^True another writer keeps changing what Holdfast puts back: HTTPRoute shop\/web: argocd/,
    );
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    expect(metrics).toContain('holdfast_canary_drift_corrections_total{name="web",namespace="shop"} 5');
    await bed.pass(600_000);
    await untilDrifted(/^False .*corrected at/);
  });

  test('a Service that somebody deletes, and a primary that somebody scales to nothing', async () => {
    await bed.send('DELETE', '/api/v1/namespaces/shop/services/web-primary');
    await untilTold(/: Service shop\/web-primary: was deleted by another client, and is created again$/);
    const scale = '/apis/apps/v1/namespaces/shop/deployments/web-primary/scale?fieldManager=kubectl';
    expect((await bed.send('PATCH', scale, { spec: { replicas: 0 } })).status).toBe(200);
    await untilTold(/: Deployment shop\/web-primary: kubectl changed spec\.replicas \(0, not 2\)$/);
  });

  test('a Service that cannot be read anew: it is put back, and nobody is blamed', async () => {
    const path = '/api/v1/namespaces/shop/services/web-primary';
    const refusal = { code: 403, reason: 'Forbidden', message: 'no' };
    bed.sandbox.fault((request) => (request.method === 'GET' && request.path === path ? refusal : undefined));
    await bed.send('PATCH', `${path}?fieldManager=argocd`, { spec: { selector: { app: 'theirs' } } });
    const selector = async () => (await bed.get('v1', 'Service', 'web-primary'))?.spec;
    await eventually(
      'it is put back',
      async () => JSON.stringify(await selector()).includes('"app":"web-primary"'),
      { seen: selector },
    );
    await bed.pass(5_000);
    expect(notesOf(bed, 'DriftCorrected')).toEqual([]);
  });

  test('a route, while Holdfast was not there', async () => {
    await app.drain();
    await divideRoute();
    expect(notesOf(bed, 'DriftCorrected')).toEqual([]);
    await bed.start();
    await untilTold(/HTTPRoute shop\/web: argocd changed/);
  });
});
