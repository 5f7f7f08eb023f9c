import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type KubernetesObject, recordsOf } from '../../src/api/kubernetes.ts';
import { at } from '../api-server/json.ts';
import { applyTo, deployment, route, service } from '../sandbox.test-support.ts';
import { type Sandbox, startSandbox } from '../sandbox.ts';
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts';

let clock: VirtualClock;
let sandbox: Sandbox;

const apply = (object: KubernetesObject) => applyTo(sandbox, object);

beforeEach(async () => {
  clock = createVirtualClock();
  sandbox = await startSandbox({ clock });
});

afterEach(() => sandbox.close());

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

  test('follows what the gateway took last while it is held back, and says so in the status', async () => {
    await twoCopies({ ERROR_PERCENT: '100' });
    clock.advance(1_000);
    await apply(route(80));
    const letGo = sandbox.holdRoutes(({ metadata }) => metadata.name === 'web');
    await apply(route(50));
    const read = () => sandbox.store.get('gateway.networking.k8s.io/httproutes', 'default', 'web');
    const answered = () => {
      const [parent] = recordsOf(at(read(), 'status', 'parents'));
      return recordsOf(parent?.conditions)[0]?.observedGeneration;
    };
    expect([read()?.metadata.generation, answered()]).toEqual([2, 1]);
    expect(sandbox.traffic('default', 'web').successShare).toBe(0.8);
    letGo();
    expect(answered()).toBe(2);
    expect(sandbox.traffic('default', 'web').successShare).toBe(0.5);
  });

  test('continues by a route that was deleted while the gateway is held back', async () => {
    await twoCopies({ ERROR_PERCENT: '100' });
    clock.advance(1_000);
    await apply(route(80));
    const letGo = sandbox.holdRoutes();
    const path = '/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes/web';
    await fetch(`${sandbox.url}${path}`, { method: 'DELETE' });
    expect(sandbox.traffic('default', 'web').successShare).toBe(0.8);
    letGo();
    expect(sandbox.traffic('default', 'web').workloads).toEqual([]);
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
    const conditions = recordsOf(
      at(sandbox.store.get('apps/deployments', 'default', 'web'), 'status', 'conditions'),
    );
    expect(conditions.find((each) => each.type === 'Progressing')?.reason).toBe('NewReplicaSetAvailable');
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
