import { beforeAll, describe, expect, test } from 'vitest';
import { type BedClient, useBed, waitFor } from './bed/client.ts';
import { faultAnnotation } from './bed/kubelet/pod.ts';
import { deployment, httpProxy, httpRoute, service } from './bed/manifests.ts';

const bed: BedClient = useBed();

interface PodStatus {
  readonly phase: string;
  readonly podIP: string;
  readonly containerStatuses: ReadonlyArray<{
    readonly imageID: string;
    readonly ready: boolean;
    readonly restartCount: number;
    readonly state: { readonly waiting?: { readonly reason: string }; readonly running?: unknown };
  }>;
}

async function pods(namespace: string, app: string): Promise<readonly PodStatus[]> {
  const found = await bed.listObjects('Pod', namespace, `app=${app}`);
  return found.map((pod) => pod.status as PodStatus);
}

function readyReplicas(
  namespace: string,
  name: string,
  count: number,
  timeoutMs = 120_000,
): Promise<unknown> {
  const look = async () => {
    const found = await bed.readObject('Deployment', namespace, name);
    return (found?.status as { readyReplicas?: number } | undefined)?.readyReplicas === count;
  };
  return waitFor(look, {
    timeoutMs,
    what: `${count} ready pods of ${name}`,
    describe: () => pods(namespace, name),
  });
}

function waitingReason(namespace: string, app: string, reason: string): Promise<unknown> {
  const look = async () =>
    (await pods(namespace, app)).some((pod) => pod.containerStatuses?.[0]?.state.waiting?.reason === reason);
  return waitFor(look, {
    timeoutMs: 120_000,
    what: `${app} waiting with ${reason}`,
    describe: () => pods(namespace, app),
  });
}

/** Waits until the host answers, so that a measurement does not begin before the route is in Envoy. */
function routeServes(host: string): Promise<unknown> {
  const look = async () => {
    const load = bed.startLoad({ hostHeader: host, requestsPerSecond: 20 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const { requests, failed } = await load.stop();
    return requests > 0 && failed === 0;
  };
  return waitFor(look, { timeoutMs: 120_000, what: `${host} served by Envoy` });
}

/** A load until so many were answered. */
async function loadOf(host: string, requestsPerSecond: number, requests: number) {
  const load = bed.startLoad({ hostHeader: host, requestsPerSecond });
  await waitFor(async () => (await load.current()).requests >= requests, {
    timeoutMs: 120_000,
    what: `${requests} answers of ${host}`,
  });
  return load.stop();
}

describe('pods as processes', () => {
  const namespace = 'bed-pods';
  beforeAll(() => bed.createNamespace(namespace));

  test('a Deployment gets ready pods with addresses and image digests', async () => {
    await bed.apply([deployment({ name: 'good', image: 'app:v1', replicas: 2 })], namespace);
    await readyReplicas(namespace, 'good', 2);
    const found = await pods(namespace, 'good');
    expect(new Set(found.map(({ podIP }) => podIP)).size).toBe(2);
    for (const { podIP, containerStatuses } of found) {
      expect(podIP).toMatch(/^10\.244\./);
      expect(containerStatuses[0]?.imageID).toMatch(/^app@sha256:[0-9a-f]{64}$/);
    }
  });

  test('a pod that crashes shows CrashLoopBackOff and counts its restarts', async () => {
    await bed.apply(
      [deployment({ name: 'crash', image: 'app:v1', env: { CRASH_AFTER_MS: '100' } })],
      namespace,
    );
    await waitingReason(namespace, 'crash', 'CrashLoopBackOff');
    expect((await pods(namespace, 'crash'))[0]?.containerStatuses[0]?.restartCount).toBeGreaterThan(0);
  });

  test('a missing image, a missing ConfigMap and a pod that is never ready each show why', async () => {
    const container = { envFrom: [{ configMapRef: { name: 'absent' } }] };
    const objects = [
      deployment({ name: 'unpullable', image: 'missing/app:v1' }),
      deployment({ name: 'unconfigured', image: 'app:v1', container }),
      deployment({ name: 'unready', image: 'app:v1', env: { READY: 'false' } }),
    ];
    await bed.apply(objects, namespace);
    await waitingReason(namespace, 'unpullable', 'ImagePullBackOff');
    await waitingReason(namespace, 'unconfigured', 'CreateContainerConfigError');
    const look = async () =>
      Boolean((await pods(namespace, 'unready'))[0]?.containerStatuses?.[0]?.state.running);
    await waitFor(look, { timeoutMs: 120_000, what: 'unready runs' });
    expect((await pods(namespace, 'unready'))[0]?.containerStatuses[0]?.ready).toBe(false);
  });

  test('a container gets a ConfigMap it waited for, and a pod that is deleted goes', async () => {
    const container = { envFrom: [{ configMapRef: { name: 'settings' } }] };
    await bed.apply([deployment({ name: 'configured', image: 'app:v1', container })], namespace);
    await waitingReason(namespace, 'configured', 'CreateContainerConfigError');
    const settings = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings' },
      data: { VERSION: 'v9' },
    };
    await bed.apply([settings], namespace);
    await readyReplicas(namespace, 'configured', 1);
    const [pod] = await pods(namespace, 'configured');
    const answer = (await (await fetch(`http://${pod?.podIP}:8080/`)).json()) as { version: string };
    expect(answer.version).toBe('v9');
    await bed.kubectl(['-n', namespace, 'delete', 'deployment', 'configured']);
    const look = async () => (await pods(namespace, 'configured')).length === 0;
    await waitFor(look, { timeoutMs: 120_000, what: 'the pods of the deleted Deployment are gone' });
    await expect(fetch(`http://${pod?.podIP}:8080/`)).rejects.toThrow();
  });

  test('settings that begin with PRIMARY_ count only in the pods of a primary', async () => {
    const env = { PRIMARY_ERROR_PERCENT: '100' };
    const names = ['web', 'web-primary'];
    await bed.apply(
      names.map((name) => deployment({ name, image: 'app:v1', env })),
      namespace,
    );
    for (const name of names) await readyReplicas(namespace, name, 1);
    const answers = names.map(async (name) => {
      const response = await fetch(`http://${(await pods(namespace, name))[0]?.podIP}:8080/`);
      return [response.status, ((await response.json()) as { role: string }).role];
    });
    expect(await Promise.all(answers)).toEqual([
      [200, 'canary'],
      [500, 'primary'],
    ]);
  });

  test('one pod of two is broken by its annotation, and recovers without it', async () => {
    await bed.apply([deployment({ name: 'pair', image: 'app:v1', replicas: 2 })], namespace);
    await readyReplicas(namespace, 'pair', 2);
    const [pod] = await bed.listObjects('Pod', namespace, 'app=pair');
    const annotate = (fault: string) =>
      bed.kubectl(['-n', namespace, 'annotate', '--overwrite', 'pod', pod?.metadata.name ?? '', fault]);
    await annotate(`${faultAnnotation}=unready`);
    await readyReplicas(namespace, 'pair', 1);
    await annotate(`${faultAnnotation}=crash`);
    await waitingReason(namespace, 'pair', 'CrashLoopBackOff');
    await annotate(`${faultAnnotation}-`);
    await readyReplicas(namespace, 'pair', 2);
  });

  test('a hundred pods without a process are ready together', async () => {
    await bed.apply([deployment({ name: 'many', image: 'fake/app:v1', replicas: 100 })], namespace);
    await readyReplicas(namespace, 'many', 100);
    await bed.kubectl(['-n', namespace, 'delete', 'deployment', 'many']);
  });
});

describe('traffic through Envoy', () => {
  const namespace = 'bed-traffic';
  const host = 'route.bed.test';
  beforeAll(async () => {
    await bed.createNamespace(namespace);
    const objects = [
      deployment({ name: 'one', image: 'app:v1', replicas: 2 }),
      deployment({ name: 'two', image: 'app:v2', env: { ERROR_PERCENT: '0' } }),
      service('one'),
      service('two'),
      httpRoute('route', host, { one: 80, two: 20 }),
      httpProxy('proxy', 'proxy.bed.test', { one: 50, two: 50 }),
    ];
    await bed.apply(objects, namespace);
    await readyReplicas(namespace, 'one', 2);
    await readyReplicas(namespace, 'two', 1);
    await routeServes(host);
    await routeServes('proxy.bed.test');
  });

  test('an HTTPRoute shares requests by its weights, none fails', async () => {
    const { requests, failures, byVersion } = await loadOf(host, 100, 500);
    expect(failures).toEqual([]);
    expect((byVersion.v1 ?? 0) / requests).toBeGreaterThan(0.7);
    expect((byVersion.v1 ?? 0) / requests).toBeLessThan(0.9);
  });

  test('an HTTPProxy shares requests by its weights', async () => {
    const { requests, failures, byVersion } = await loadOf('proxy.bed.test', 100, 300);
    expect(failures).toEqual([]);
    expect((byVersion.v2 ?? 0) / requests).toBeGreaterThan(0.35);
    expect((byVersion.v2 ?? 0) / requests).toBeLessThan(0.65);
  });

  test('a rolling update under load fails no request', async () => {
    const load = bed.startLoad({ hostHeader: host, requestsPerSecond: 50 });
    await bed.apply([deployment({ name: 'one', image: 'app:v3', replicas: 2 })], namespace);
    const look = async () => ((await load.current()).byVersion.v3 ?? 0) > 50;
    await waitFor(look, { timeoutMs: 120_000, what: 'v3 answers' });
    const left = async () => (await pods(namespace, 'one')).length === 2;
    await waitFor(left, { timeoutMs: 120_000, what: 'the old pods are gone' });
    expect((await load.stop()).failures).toEqual([]);
  });

  test('Prometheus has the counts of Envoy and of the pods', async () => {
    const load = bed.startLoad({ hostHeader: host, requestsPerSecond: 20 });
    const rate = (query: string) => async () =>
      (await bed.queryPrometheus(query)).some(({ value }) => value > 0);
    const cluster = `envoy_cluster_name="${namespace}_one_80"`;
    const envoy = rate(`sum(rate(envoy_cluster_upstream_rq{${cluster},envoy_response_code="200"}[10s]))`);
    await waitFor(envoy, { timeoutMs: 120_000, what: 'Envoy’s counts in Prometheus' });
    const pod = `kubernetes_namespace="${namespace}",kubernetes_pod_name=~"one-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"`;
    await waitFor(rate(`sum(rate(http_requests_total{${pod},status!~"5.*"}[10s]))`), {
      timeoutMs: 120_000,
      what: 'the pods’ counts in Prometheus',
    });
    const buckets = `http_request_duration_seconds_bucket{${pod}}`;
    const quantile = `histogram_quantile(0.99, sum(rate(${buckets}[10s])) by (le))`;
    await waitFor(rate(quantile), { timeoutMs: 120_000, what: 'the pods’ durations in Prometheus' });
    await load.stop();
  });
});

test('the audit log tells who asked what', async () => {
  await bed.kubectl(['get', 'namespaces']);
  const look = async () =>
    bed
      .auditedRequests({ userAgent: 'kubectl' })
      .some(({ requestURI }) => /\/api\/v1\/namespaces/.test(requestURI));
  await waitFor(look, { timeoutMs: 60_000, what: 'the request of kubectl in the audit log' });
});
