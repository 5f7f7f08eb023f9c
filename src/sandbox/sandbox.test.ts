import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { at } from './json.ts';
import { type Sandbox, startSandbox } from './sandbox.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

let clock: VirtualClock;
let sandbox: Sandbox;

beforeEach(async () => {
  clock = createVirtualClock();
  sandbox = await startSandbox({ clock });
});

afterEach(() => sandbox.close());

async function apply(object: KubernetesObject): Promise<void> {
  const [group = '', version = ''] = object.apiVersion.includes('/')
    ? object.apiVersion.split('/')
    : ['', object.apiVersion];
  const root = group ? `/apis/${group}/${version}` : `/api/${version}`;
  const plural = { HTTPProxy: 'httpproxies' }[object.kind] ?? `${object.kind.toLowerCase()}s`;
  const path = `${root}/namespaces/default/${plural}/${object.metadata.name}?fieldManager=test&force=true`;
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const answer = await fetch(sandbox.url + path, { method: 'PATCH', headers, body: JSON.stringify(object) });
  expect(answer.ok, await answer.text()).toBe(true);
}

function deployment(
  name: string,
  env: Record<string, string> = {},
  spec: Record<string, unknown> = {},
  image = 'fake/app:v1',
): KubernetesObject {
  const labels = { app: name };
  const variables = Object.entries(env).map(([key, value]) => ({ name: key, value }));
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'app', image, env: variables }] } },
      ...spec,
    },
  };
}

function service(name: string, selected: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: { app: selected }, ports: [{ port: 80 }] },
  };
}

function route(primaryWeight: number): KubernetesObject {
  const backendRefs = [
    { name: 'web-primary', port: 80, weight: primaryWeight },
    { name: 'web-canary', port: 80, weight: 100 - primaryWeight },
  ];
  const spec = { parentRefs: [{ name: 'gateway' }], rules: [{ backendRefs }] };
  return { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata: { name: 'web' }, spec };
}

function stored(key: string, name: string): KubernetesObject | undefined {
  return sandbox.store.get(key, 'default', name);
}

function reason(name: string, type: string): unknown {
  const conditions = at(stored('apps/deployments', name), 'status', 'conditions') as Array<
    Record<string, unknown>
  >;
  return conditions.find((each) => each.type === type)?.reason;
}

async function twoCopies(canaryEnv: Record<string, string> = {}): Promise<void> {
  await apply(deployment('web-primary'));
  await apply(deployment('web', canaryEnv));
  await apply(service('web-primary', 'web-primary'));
  await apply(service('web-canary', 'web'));
}

async function query(text: string): Promise<Array<{ value: [number, string] }>> {
  const answer = await fetch(`${sandbox.prometheusUrl}/api/v1/query?query=${encodeURIComponent(text)}`);
  const body = (await answer.json()) as { data: { result: Array<{ value: [number, string] }> } };
  return body.data.result;
}

test('gives a kubeconfig that the client library loads', () => {
  const config = new KubeConfig();
  config.loadFromString(sandbox.kubeconfig);
  expect(config.getCurrentCluster()).toMatchObject({ server: sandbox.url, skipTLSVerify: true });
});

describe('pods', () => {
  test('become ready when their time has come, and not before', async () => {
    await apply(deployment('web', { START_DELAY_MS: '5000' }));
    clock.advance(4_900);
    expect(at(stored('apps/deployments', 'web'), 'status', 'readyReplicas')).toBeUndefined();
    clock.advance(200);
    expect(at(stored('apps/deployments', 'web'), 'status', 'readyReplicas')).toBe(1);
  });

  test('fail only in the primary when the variable says so', async () => {
    await apply(deployment('web', { PRIMARY_READY: 'false' }));
    await apply(deployment('web-primary', { PRIMARY_READY: 'false' }));
    clock.advance(590_000);
    expect(reason('web', 'Progressing')).toBe('NewReplicaSetAvailable');
    expect(reason('web-primary', 'Progressing')).toBe('ReplicaSetUpdated');
    clock.advance(15_000);
    expect(reason('web-primary', 'Progressing')).toBe('ProgressDeadlineExceeded');
  });

  test.each([
    ['missing/app:v1', {}, 'ImagePullBackOff'],
    ['fake/app:v1', { CRASH_AFTER_MS: '0' }, 'CrashLoopBackOff'],
  ])('image %s with %o waits with %s', async (image, env, expected) => {
    await apply(deployment('web', env as Record<string, string>, {}, image));
    clock.advance(35_000);
    const [pod] = sandbox.store.list('/pods', 'default');
    const statuses = at(pod, 'status', 'containerStatuses') as Array<{
      restartCount: number;
      state: { waiting: { reason: string } };
    }>;
    expect(statuses[0]?.state.waiting.reason).toBe(expected);
    expect(statuses[0]?.restartCount).toBe(expected === 'CrashLoopBackOff' ? 3 : 0);
  });

  test('recover as soon as a rule is taken away', async () => {
    const remove = sandbox.behaviour.rule(() => ({ failure: 'Unschedulable' }));
    await apply(deployment('web'));
    clock.advance(1_000);
    expect(at(sandbox.store.list('/pods', 'default')[0], 'status', 'phase')).toBe('Pending');
    remove();
    clock.advance(1_000);
    expect(at(stored('apps/deployments', 'web'), 'status', 'availableReplicas')).toBe(1);
  });
});

describe('traffic', () => {
  test('follows the weights of an HTTPRoute', async () => {
    await twoCopies({ ERROR_PERCENT: '50' });
    clock.advance(1_000);
    await apply(route(80));
    const view = sandbox.traffic('default', 'web');
    expect(view.successShare).toBe(0.9);
    expect(
      view.workloads.map(({ workload, share, successPercent }) => [workload, share, successPercent]),
    ).toEqual([
      ['web-primary', 0.8, 100],
      ['web', 0.2, 50],
    ]);
  });

  test('follows the weights of an HTTPProxy', async () => {
    await twoCopies({ ERROR_PERCENT: '100' });
    clock.advance(1_000);
    const services = [
      { name: 'web-primary', port: 80, weight: 70 },
      { name: 'web-canary', port: 80, weight: 30 },
    ];
    await apply({
      apiVersion: 'projectcontour.io/v1',
      kind: 'HTTPProxy',
      metadata: { name: 'web' },
      spec: { routes: [{ services }] },
    });
    expect(sandbox.traffic('default', 'web').successShare).toBe(0.7);
  });

  test('fails where a Service finds no ready pod', async () => {
    await apply(deployment('web', { READY: 'false' }));
    await apply(service('web', 'web'));
    clock.advance(1_000);
    expect(sandbox.traffic('default', 'web').successShare).toBe(0);
  });

  test('counts failed requests over time', async () => {
    await apply(deployment('web', { ERROR_PERCENT: '100', ERROR_AFTER_MS: '10100' }));
    await apply(service('web', 'web'));
    clock.advance(100);
    const sampler = sandbox.sampleTraffic({
      namespace: 'default',
      service: 'web',
      requestsPerSecond: 10,
      intervalMs: 1000,
    });
    clock.advance(9_500);
    expect(sampler.totals()).toEqual({ requests: 90, failed: 0 });
    clock.advance(10_000);
    expect(sampler.totals().failed).toBe(100);
    expect(sampler.worst().successShare).toBe(0);
    sampler.stop();
  });

  test('loses no request during a rolling update of healthy pods', async () => {
    await apply(deployment('web', {}, { replicas: 3 }));
    await apply(service('web', 'web'));
    clock.advance(1_000);
    const sampler = sandbox.sampleTraffic({ namespace: 'default', service: 'web', intervalMs: 10 });
    await apply(deployment('web', {}, { replicas: 3 }, 'fake/app:v2'));
    clock.advance(10_000);
    sampler.stop();
    expect(sampler.totals().failed).toBe(0);
    expect(reason('web', 'Progressing')).toBe('NewReplicaSetAvailable');
  });
});

describe('metric queries', () => {
  test('answer for workloads that get requests, and are empty for others', async () => {
    await twoCopies({ ERROR_PERCENT: '10', DELAY_MS: '200' });
    clock.advance(1_000);
    await apply(route(50));
    const values = async (text: string) => (await query(text)).map((each) => each.value[1]);
    expect(await values('sandbox_success_rate{namespace="default",workload="web"}')).toEqual(['90']);
    expect(await values('sandbox_request_duration_ms{namespace="default", workload="web"}')).toEqual(['205']);
    await apply(route(100));
    expect(await values('sandbox_success_rate{namespace="default",workload="web"}')).toEqual([]);
    expect(await values('vector(1)')).toEqual(['1']);
  });

  test('are refused in Prometheus words when they are not understood', async () => {
    const answer = await fetch(`${sandbox.prometheusUrl}/api/v1/query?query=up`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ status: 'error', errorType: 'bad_data' });
  });
});

describe('faults', () => {
  test('answer, cut or hang the requests a rule picks, and no others', async () => {
    const removeRule = sandbox.fault((request) => {
      return request.path.endsWith('/secrets')
        ? { code: 403, reason: 'Forbidden', message: 'no' }
        : undefined;
    });
    const forbidden = await fetch(`${sandbox.url}/api/v1/namespaces/default/secrets`);
    expect([forbidden.status, ((await forbidden.json()) as { reason: string }).reason]).toEqual([
      403,
      'Forbidden',
    ]);
    expect((await fetch(`${sandbox.url}/api/v1/namespaces/default/configmaps`)).status).toBe(200);
    removeRule();
    sandbox.fault(() => 'drop');
    await expect(fetch(`${sandbox.url}/version`)).rejects.toThrow();
  });

  test('log requests, and tell writes from dry runs', async () => {
    await apply(service('web', 'web'));
    await fetch(`${sandbox.url}/api/v1/namespaces/default/services/web?dryRun=All`, { method: 'DELETE' });
    expect(sandbox.requests.all().map((each) => each.method)).toEqual(['PATCH', 'DELETE']);
    expect(sandbox.requests.writes().map((each) => [each.method, each.code])).toEqual([['PATCH', 201]]);
  });
});

describe('watches on virtual time', () => {
  test('get a bookmark each minute and end after their time', async () => {
    const answer = await fetch(
      `${sandbox.url}/api/v1/configmaps?watch=true&allowWatchBookmarks=true&resourceVersion=2&timeoutSeconds=100`,
    );
    clock.advance(100_000);
    const lines = (await answer.text()).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(['BOOKMARK', 'BOOKMARK']);
  });

  test('break when they are cut', async () => {
    const answer = await fetch(`${sandbox.url}/api/v1/configmaps?watch=true`);
    sandbox.cutWatches('reset');
    await expect(answer.text()).rejects.toThrow();
  });
});
