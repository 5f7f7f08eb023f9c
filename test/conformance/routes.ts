import { expect, test } from 'vitest';
import type { Suite } from './suite.ts';
import { type Answer, eventually, freshNamespace, type Json, type Target } from './target.ts';

const APPLY = 'application/apply-patch+yaml';

async function withServices(target: Target): Promise<string> {
  const namespace = await freshNamespace(target);
  for (const name of ['web-primary', 'web-canary']) {
    const spec = { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] };
    const body = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec };
    await target.request('POST', `/api/v1/namespaces/${namespace}/services`, { body });
  }
  return namespace;
}

function accepted({ body }: Answer, type: string): boolean {
  const parents = body.status?.parents ?? [];
  const conditions = parents.flatMap((parent: Json) => parent.conditions ?? []);
  return conditions.some((each: Json) => {
    return (
      each.type === type && each.status === 'True' && each.observedGeneration === body.metadata.generation
    );
  });
}

/** What a gateway writes back about routes. */
export function routeTests({ target, gateway }: Suite): void {
  test('fills the defaults of an HTTPRoute and accepts each generation of it', async () => {
    const namespace = await withServices(target());
    const parent = await gateway();
    const path = `/apis/gateway.networking.k8s.io/v1/namespaces/${namespace}/httproutes/web?fieldManager=one&force=true`;
    const route = (primaryWeight: number): Json => ({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'web', namespace },
      spec: {
        hostnames: [`${namespace}.example.com`],
        parentRefs: [parent],
        rules: [
          {
            backendRefs: [
              { name: 'web-primary', port: 80, weight: primaryWeight },
              { name: 'web-canary', port: 80, weight: 100 - primaryWeight },
            ],
          },
        ],
      },
    });
    const apply = (weight: number) =>
      target().request('PATCH', path, { body: route(weight), contentType: APPLY });
    const created = await apply(100);
    expect(created.body.spec.parentRefs[0]).toMatchObject({
      group: 'gateway.networking.k8s.io',
      kind: 'Gateway',
    });
    expect(created.body.spec.rules[0]).toEqual({
      matches: [{ path: { type: 'PathPrefix', value: '/' } }],
      backendRefs: [
        { group: '', kind: 'Service', name: 'web-primary', port: 80, weight: 100 },
        { group: '', kind: 'Service', name: 'web-canary', port: 80, weight: 0 },
      ],
    });
    const read = () => target().request('GET', path);
    await eventually(read, (answer) => accepted(answer, 'Accepted') && accepted(answer, 'ResolvedRefs'));
    const moved = await apply(80);
    expect(moved.body.metadata.generation).toBe(2);
    const settled = await eventually(read, (answer) => accepted(answer, 'Accepted'));
    const again = await apply(80);
    expect([again.body.metadata.generation, settled.body.spec]).toEqual([2, again.body.spec]);
  });

  test('reports an HTTPProxy as valid for its generation', async () => {
    const namespace = await withServices(target());
    const path = `/apis/projectcontour.io/v1/namespaces/${namespace}/httpproxies`;
    const services = [
      { name: 'web-primary', port: 80, weight: 60 },
      { name: 'web-canary', port: 80, weight: 40 },
    ];
    const spec = {
      virtualhost: { fqdn: `${namespace}.example.com` },
      routes: [{ conditions: [{ prefix: '/' }], services }],
    };
    const body = {
      apiVersion: 'projectcontour.io/v1',
      kind: 'HTTPProxy',
      metadata: { name: 'web', namespace },
      spec,
    };
    expect((await target().request('POST', path, { body })).code).toBe(201);
    const read = () => target().request('GET', `${path}/web`);
    const valid = await eventually(read, (answer) => answer.body.status?.currentStatus === 'valid');
    const condition = valid.body.status.conditions.find((each: Json) => each.type === 'Valid');
    expect(condition).toMatchObject({ status: 'True', reason: 'Valid', observedGeneration: 1 });
    expect(valid.body.spec.routes[0].services.map((each: Json) => each.weight)).toEqual([60, 40]);
  });
}
