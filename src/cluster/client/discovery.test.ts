import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../testing/manual-clock.ts';
import {
  accessTo,
  answer,
  failure,
  type ScriptedServer,
  startScriptedServer,
} from '../testing/scripted-server.ts';
import { createTransport, type Transport } from '../transport/transport.ts';
import { createDiscovery, type Discovery } from './discovery.ts';

const plurals: Readonly<Record<string, string>> = { Deployment: 'deployments', Widget: 'widgets' };

/** What a server of these kinds answers, in the new or the old form. */
function listing(path: string, kinds: readonly string[], aggregated: boolean): unknown {
  if (path === '/apis/apps/v1') {
    const main = kinds.map((kind) => ({ name: plurals[kind], kind, namespaced: true }));
    return { kind: 'APIResourceList', resources: [{ name: 'deployments/scale', kind: 'Scale' }, ...main] };
  }
  if (path === '/version') return { gitVersion: 'v1.31.4-vendor.7+k3s1' };
  if (path !== '/api' && path !== '/apis') return undefined;
  const groups = [{ versions: [{ groupVersion: 'apps/v1' }] }];
  if (!aggregated) return { kind: path === '/api' ? 'APIVersions' : 'APIGroupList', groups };
  const resources = kinds.map((kind) => ({
    resource: plurals[kind],
    responseKind: { kind },
    scope: 'Namespaced',
  }));
  const group = { metadata: { name: 'apps' }, versions: [{ version: 'v1', resources }] };
  return { kind: 'APIGroupDiscoveryList', items: path === '/apis' ? [group] : [] };
}

describe.each([true, false])('discovery, aggregated %s', (aggregated) => {
  let kinds: string[];
  let fail = false;
  let server: ScriptedServer;
  let transport: Transport;
  let clock: ManualClock;
  let discovery: Discovery;

  beforeEach(async () => {
    kinds = ['Deployment'];
    server = await startScriptedServer((request, response) => {
      if (fail) return answer(response, 403, failure(403, 'Forbidden', 'no'));
      const body = listing(request.path, kinds, aggregated);
      answer(
        response,
        body ? 200 : 404,
        body ?? failure(404, 'NotFound', 'the server could not find the requested resource'),
      );
    });
    transport = createTransport({ access: accessTo(server.url), userAgent: 'test' });
    clock = createManualClock();
    discovery = createDiscovery(transport, clock);
  });
  afterEach(async () => {
    await transport.close();
    await server.close();
  });

  it('reports the version, without the suffix of a vendor, and the served kinds to charts', async () => {
    expect(await discovery.capabilities()).toEqual({
      kubeVersion: 'v1.31.4',
      apiVersions: aggregated ? ['apps/v1', 'apps/v1/Deployment'] : ['apps/v1', 'v1'],
    });
    kinds = ['Deployment', 'Widget'];
    discovery.invalidate();
    if (aggregated) expect((await discovery.capabilities()).apiVersions).toContain('apps/v1/Widget');
  });

  it('asks for them again after a failure', async () => {
    fail = true;
    await expect(discovery.capabilities()).rejects.toMatchObject({ kind: 'forbidden' });
    fail = false;
    expect((await discovery.capabilities()).kubeVersion).toBe('v1.31.4');
  });

  it('knows plural and scope, and asks once', async () => {
    const [info] = await Promise.all([1, 2, 3].map(() => discovery.resolve('apps/v1', 'Deployment')));
    expect(info).toMatchObject({ plural: 'deployments', namespaced: true });
    expect(server.seen).toHaveLength(aggregated ? 2 : 3);
  });

  it('finds a kind that was installed later, but does not ask in a tight loop', async () => {
    await discovery.resolve('apps/v1', 'Deployment');
    kinds = ['Deployment', 'Widget'];
    const before = server.seen.length;
    await expect(discovery.resolve('apps/v1', 'Widget')).rejects.toMatchObject({
      kind: 'unknownKind',
      actor: 'administrator',
    });
    expect(server.seen.length).toBe(before);
    clock.advance(1_000);
    expect(await discovery.resolve('apps/v1', 'Widget')).toMatchObject({ plural: 'widgets' });
  });

  it('answers concurrent lookups of kinds that were installed later', async () => {
    await discovery.resolve('apps/v1', 'Deployment');
    kinds = ['Deployment', 'Widget'];
    clock.advance(1_500);
    const found = await Promise.all([1, 2, 3].map(() => discovery.resolve('apps/v1', 'Widget')));
    expect(found.map((info) => info.plural)).toEqual(['widgets', 'widgets', 'widgets']);
  });

  it('says that a group is not served', async () => {
    await expect(discovery.resolve('example.com/v1', 'Widget')).rejects.toThrow(
      /no kind Widget in example.com\/v1; is its CRD/,
    );
  });

  it('asks again after a failed look-up', async () => {
    fail = true;
    await expect(discovery.resolve('apps/v1', 'Deployment')).rejects.toMatchObject({ kind: 'forbidden' });
    fail = false;
    expect(await discovery.resolve('apps/v1', 'Deployment')).toMatchObject({ plural: 'deployments' });
  });
});
