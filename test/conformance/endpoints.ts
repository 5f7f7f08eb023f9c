import { expect, test } from 'vitest';
import type { Suite } from './suite.ts';
import { type Answer, eventually, freshNamespace, type Json, type Target } from './target.ts';

const MERGE = 'application/merge-patch+json';

interface Place {
  readonly services: string;
  readonly pods: string;
  pod(name: string, container?: Json, more?: Json): Promise<void>;
  service(spec: Json, metadata?: Json): Promise<void>;
  /** Waits until the slices of Service `web` are so, and returns them in the order of their ports. */
  slices(are: (slices: Json[]) => boolean): Promise<Json[]>;
}

async function open(target: Target): Promise<Place> {
  const namespace = await freshNamespace(target);
  const core = `/api/v1/namespaces/${namespace}`;
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dweb`;
  const create = (kind: string, body: Json) =>
    // A namespace has no service account in its first moments, and takes no pod before.
    eventually(
      () => target.request('POST', `${core}/${kind}`, { body: { apiVersion: 'v1', ...body } }),
      ({ code }) => code === 201,
    );
  return {
    services: `${core}/services`,
    pods: `${core}/pods`,
    async pod(name, container = {}, more = {}) {
      const { metadata, ...spec } = more;
      const app = { name: 'app', image: 'fake/app:v1', ...container };
      await create('pods', {
        kind: 'Pod',
        metadata: { name, namespace, labels: { app: 'web' }, ...metadata },
        spec: { containers: [app], ...spec },
      });
    },
    async service(spec, metadata = {}) {
      await create('services', { kind: 'Service', metadata: { name: 'web', namespace, ...metadata }, spec });
    },
    async slices(are) {
      const sorted = ({ body }: Answer): Json[] =>
        body.items.toSorted((one: Json, other: Json) => keyOf(one).localeCompare(keyOf(other)));
      return sorted(
        await eventually(
          () => target.request('GET', path),
          (answer) => are(sorted(answer)),
        ),
      );
    },
  };
}

function keyOf(slice: Json): string {
  return JSON.stringify(portsOf(slice));
}

/** Names of the pods in a slice, those that are ready. */
function readyIn(slice: Json): string[] {
  return (slice.endpoints ?? [])
    .filter(({ conditions }: Json) => conditions.ready)
    .map(({ targetRef }: Json) => targetRef.name)
    .sort();
}

function readyPods(slices: readonly Json[]): string[] {
  return slices.flatMap(readyIn).sort();
}

/** Ports by name and number, in order. */
function portsOf(slice: Json): string[] {
  return (slice.ports ?? []).map(({ name, port }: Json) => `${name} ${port}`).sort();
}

function conditionsOf(slices: readonly Json[], pod: string): Json {
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []);
  return endpoints.find(({ targetRef }: Json) => targetRef.name === pod)?.conditions;
}

const selector = { app: 'web' };
const named = (name: string, containerPort: number) => ({ name, containerPort });
const http = { name: 'http', port: 80, targetPort: 'http' };
const metrics = { name: 'metrics', port: 9100, targetPort: 'metrics' };

/** EndpointSlices as the controller manager makes them. */
export function endpointTests({ target }: Suite): void {
  test('puts pods whose port of one name has several numbers into slices of their own', async () => {
    const place = await open(target());
    await place.service({ selector, ports: [http] });
    await place.pod('one', { ports: [named('http', 8080)] });
    await place.pod('two', { ports: [named('http', 9090)] });
    const slices = await place.slices((all) => readyPods(all).length === 2);
    expect(slices.map((slice) => [portsOf(slice), readyIn(slice)])).toEqual([
      [['http 8080'], ['one']],
      [['http 9090'], ['two']],
    ]);
  });

  test('leaves a port out of the slices of pods that have none of its name', async () => {
    const place = await open(target());
    await place.service({ selector, ports: [http, metrics] });
    await place.pod('both', { ports: [named('http', 8080), named('metrics', 9102)] });
    await place.pod('one', { ports: [named('http', 8080)] });
    await place.pod('none', { ports: [named('web', 8080)] });
    const slices = await place.slices((all) => readyPods(all).length === 3);
    expect(slices.map((slice) => [portsOf(slice), readyIn(slice)])).toEqual([
      [['http 8080', 'metrics 9102'], ['both']],
      [['http 8080'], ['one']],
      [[], ['none']],
    ]);
  });

  test('finds a name only under the protocol of the port', async () => {
    const place = await open(target());
    await place.service({ selector, ports: [http] });
    await place.pod('udp', { ports: [{ ...named('http', 53), protocol: 'UDP' }] });
    const slices = await place.slices((all) => readyPods(all).length === 1);
    expect(slices.map(portsOf)).toEqual([[]]);
  });

  test('takes a number as it is, whether somebody listens there or not', async () => {
    const place = await open(target());
    await place.service({ selector, ports: [{ ...http, targetPort: 9999 }] });
    await place.pod('one', { ports: [named('http', 8080)] });
    const slices = await place.slices((all) => readyPods(all).length === 1);
    expect(slices.map(portsOf)).toEqual([['http 9999']]);
  });

  test('follows a change of the Service’s port', async () => {
    const place = await open(target());
    await place.service({ selector, ports: [{ ...http, targetPort: 8080 }] });
    await place.pod('one');
    await place.slices((all) => readyPods(all).length === 1);
    await target().request('PATCH', `${place.services}/web`, {
      body: { spec: { ports: [{ ...http, protocol: 'TCP', targetPort: 9090 }] } },
      contentType: MERGE,
    });
    const slices = await place.slices((all) => all.flatMap(portsOf).join() === 'http 9090');
    expect(readyPods(slices)).toEqual(['one']);
  });

  test('says of a pod that is not ready that it is neither ready nor serving, unless the Service publishes it', async () => {
    const place = await open(target());
    await place.service({ selector, ports: [{ ...http, targetPort: 8080 }] });
    await place.pod('broken', { image: 'missing/app:v1' });
    const told = await place.slices((all) => conditionsOf(all, 'broken') !== undefined);
    expect(conditionsOf(told, 'broken')).toEqual({ ready: false, serving: false, terminating: false });
    await target().request('PATCH', `${place.services}/web`, {
      body: { spec: { publishNotReadyAddresses: true } },
      contentType: MERGE,
    });
    const published = await place.slices((all) => conditionsOf(all, 'broken')?.ready === true);
    expect(conditionsOf(published, 'broken')).toEqual({ ready: true, serving: false, terminating: false });
  });

  test('says of a ready pod that is being deleted that it still serves and is not ready', async () => {
    const place = await open(target());
    await place.service({ selector, ports: [{ ...http, targetPort: 8080 }] });
    const lifecycle = { preStop: { sleep: { seconds: 5 } } };
    await place.pod('going', { lifecycle }, { metadata: { finalizers: ['example.com/stay'] } });
    await place.slices((all) => readyPods(all).length === 1);
    await target().request('DELETE', `${place.pods}/going`);
    const slices = await place.slices((all) => conditionsOf(all, 'going')?.terminating === true);
    expect(conditionsOf(slices, 'going')).toEqual({ ready: false, serving: true, terminating: true });
    await target().request('PATCH', `${place.pods}/going`, {
      body: { metadata: { finalizers: null } },
      contentType: MERGE,
    });
    await place.slices((all) => conditionsOf(all, 'going') === undefined);
  });

  test('lets a pod go whose labels are changed', async () => {
    const place = await open(target());
    await place.service({ selector, ports: [{ ...http, targetPort: 8080 }] });
    await place.pod('one');
    await place.pod('two');
    await place.slices((all) => readyPods(all).length === 2);
    await target().request('PATCH', `${place.pods}/one`, {
      body: { metadata: { labels: { app: 'debug' } } },
      contentType: MERGE,
    });
    const slices = await place.slices((all) => readyPods(all).length === 1);
    expect(readyPods(slices)).toEqual(['two']);
  });

  test('gives slices the labels of their Service and a name after it, and keeps one without pods', async () => {
    const place = await open(target());
    await place.service({ selector, ports: [http] }, { labels: { team: 'store' } });
    const [slice, ...more] = await place.slices((all) => all.length > 0);
    expect(more).toEqual([]);
    expect([slice.endpoints ?? [], slice.ports ?? []]).toEqual([[], []]);
    expect(slice.metadata.labels).toEqual({
      team: 'store',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    });
    expect(slice.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
    expect(slice.metadata.ownerReferences).toMatchObject([
      { kind: 'Service', name: 'web', controller: true },
    ]);
    expect(slice.addressType).toBe('IPv4');
  });

  test('makes none for Services that select nobody, and takes them away with the Service', async () => {
    const place = await open(target());
    await place.service({ type: 'ExternalName', externalName: 'example.com' }, { name: 'outside' });
    await place.service({ ports: [http] }, { name: 'alone' });
    await place.service({ selector, ports: [http] });
    await place.slices((all) => all.length === 1);
    const all = place.services.replace(
      /^\/api\/v1(.*)\/services$/,
      '/apis/discovery.k8s.io/v1$1/endpointslices',
    );
    const { body } = await target().request('GET', all);
    expect(body.items.map(({ metadata }: Json) => metadata.labels['kubernetes.io/service-name'])).toEqual([
      'web',
    ]);
    await target().request('DELETE', `${place.services}/web`);
    await place.slices((left) => left.length === 0);
  });
}
