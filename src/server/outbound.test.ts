import { expect, test } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { createManualClock } from '../cluster/testing/manual-clock.ts';
import type { WatchedSet } from '../contracts/cluster.ts';
import { hostProblem } from '../http/address-guard.ts';
import { addressPolicy, findApiServer } from './outbound.ts';

const service: KubernetesObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'default', name: 'kubernetes' },
  spec: { clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'fd00:96::1'] },
};

function slice(address: string): KubernetesObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'default', name: 'kubernetes' },
    ports: [{ name: 'https', port: 6443 }],
    endpoints: [{ addresses: [address] }],
  };
}

/** The watches of a cluster whose control plane may move. */
function cluster() {
  const world = { objects: [service, slice('172.18.0.2')], opened: [] as string[] };
  const openWatch = ({ kind }: { kind: string }) => {
    world.opened.push(kind);
    const list = () => world.objects.filter((object) => object.kind === kind);
    const onChange = (listener: (object: undefined) => void) => listener(undefined);
    return { list, onChange, close: () => undefined } as unknown as WatchedSet;
  };
  return { world, openWatch };
}

const clock = createManualClock();
const resolve = async (name: string) => (name === 'api.example.com' ? ['203.0.113.7', '2001:db8::7'] : []);

test('the API server is not reached by any of its addresses, wherever it moves', async () => {
  const { world, openWatch } = cluster();
  const server = 'https://api.example.com:8443';
  const found = await findApiServer({ openWatch, server, namespaces: [], clock, resolve });
  const policy = { ...addressPolicy(server, ['10.96.0.1']), deniedAddresses: found.addresses };
  const refused = (url: string) => hostProblem(new URL(url), policy)?.includes('API server') === true;
  for (const url of [
    'https://api.example.com:8443/',
    'https://api.example.com/',
    'https://203.0.113.7:8443/',
    'https://[2001:db8::7]:8443/',
    'https://10.96.0.1/',
    'https://[::ffff:10.96.0.1]/',
    'https://[fd00:96::1]/',
    'https://172.18.0.2:6443/',
  ])
    expect([url, refused(url)]).toEqual([url, true]);
  expect(refused('http://172.18.0.2:3000/')).toBe(false);
  world.objects = [service, slice('172.18.0.9')];
  expect(refused('https://172.18.0.9:6443/')).toBe(true);
  found.close();
});

test('where Holdfast may not read them, the addresses that it was given remain', async () => {
  const { world, openWatch } = cluster();
  const server = 'https://10.96.0.1:443';
  const found = await findApiServer({ openWatch, server, namespaces: ['shop'], clock, resolve });
  expect(world.opened).toEqual([]);
  expect(found.addresses()).toEqual([]);
  expect(hostProblem(new URL('https://10.96.0.1/'), addressPolicy(server, []))).toContain('API server');
  found.close();
});

test('a name of the API server that ends with a dot is the same name', () => {
  const policy = addressPolicy('https://api.example.com.:6443', []);
  for (const url of ['https://api.example.com/', 'https://api.example.com.:6443/'])
    expect([url, hostProblem(new URL(url), policy)]).toEqual([url, expect.stringContaining('API server')]);
});

test('on one machine loopback is allowed', () => {
  const policy = addressPolicy('https://127.0.0.1:6443', []);
  expect(hostProblem(new URL('http://127.0.0.1:9090/'), policy)).toBeUndefined();
});
