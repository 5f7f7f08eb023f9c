import { expect, test } from 'vitest';
import type { Canary } from '../../src/api/canary/canary.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { RouteContext } from '../../src/contracts/routing.ts';
import { contour } from '../../src/providers/routing/contour.ts';
import { gatewayApi } from '../../src/providers/routing/gateway-api.ts';
import type { RouteReading, RoutingProvider } from '../../src/providers/routing/router.ts';
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

  test.each([
    ['HTTPRoute', gatewayApi],
    ['HTTPProxy', contour],
  ] as const)(
    'an %s is accepted only when its status is of the generation that was written',
    async (_, router) => {
      const context = routeContext(await withServices(target()), await gateway());
      const path = pathOf(router, context);
      await target().request('POST', rootPathOf(context), { body: rootProxy(context) });
      const readings: Seen[] = [];
      for (const canaryWeight of [0, 20, 50, 100, 0]) {
        const written = await target().request('PATCH', path, {
          body: routeFor(router, context, canaryWeight),
          contentType: APPLY,
        });
        readings.push(seen(router, context, written));
        const read = async () => {
          const answer = await target().request('GET', path);
          readings.push(seen(router, context, answer));
          return answer;
        };
        const settled = await eventually(read, () => readings.at(-1)?.reading?.accepted === true);
        expect(seen(router, context, settled).reading).toMatchObject({ canaryWeight, accepted: true });
      }
      for (const { generation, observed, reading } of readings) {
        expect([generation, reading?.accepted]).toEqual([generation, observed === generation]);
        expect(reading?.problem === undefined).toBe(reading?.accepted);
      }
    },
  );
}

/** One look at a route: its generation, the oldest one that its status is of, and what was read. */
interface Seen {
  readonly generation: number;
  readonly observed: number;
  readonly reading: RouteReading | undefined;
}

function seen(router: RoutingProvider, context: RouteContext, { body }: Answer): Seen {
  const { status = {} } = body;
  const answers: Json[] = status.parents?.length ? status.parents : [status];
  const observed = answers.flatMap(({ conditions }: Json) =>
    conditions?.length ? conditions.map((each: Json) => each.observedGeneration ?? 0) : [0],
  );
  const reading = router.read(context, [body as KubernetesObject]);
  return { generation: body.metadata.generation, observed: Math.min(...observed), reading };
}

function routeContext(namespace: string, parent: { name: string; namespace: string }): RouteContext {
  const service = { port: 80, hosts: [`${namespace}.example.com`], gatewayRefs: [parent] };
  const canary: Canary = {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'web', namespace, uid: 'b7c63b4e-7a65-4b3a-a2f8-1c0b2f5b7a10' },
    spec: {
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
      service,
      analysis: { interval: '10s', threshold: 2, stepWeight: 20 },
    },
  };
  return {
    canary,
    names: { apex: 'web', primary: 'web-primary', canary: 'web-canary' },
    label: { key: 'app', primary: 'web-primary', canary: 'web' },
  };
}

/** As the program writes it; without an owner, whom the garbage collector would look for in vain. */
function routeFor(
  router: RoutingProvider,
  context: RouteContext,
  canaryWeight: number,
): KubernetesObject | undefined {
  const traffic = { primaryWeight: 100 - canaryWeight, canaryWeight, mirrored: false, matched: false };
  const [object] = router.objects(context, traffic, []);
  if (!object) return undefined;
  const { ownerReferences: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function pathOf({ kinds }: RoutingProvider, { canary }: RouteContext): string {
  const [kind] = kinds;
  const plural = kind?.kind === 'HTTPProxy' ? 'httpproxies' : 'httproutes';
  const { namespace } = canary.metadata;
  return `/apis/${kind?.apiVersion}/namespaces/${namespace}/${plural}/web?fieldManager=one&force=true`;
}

function rootPathOf({ canary }: RouteContext): string {
  return `/apis/projectcontour.io/v1/namespaces/${canary.metadata.namespace}/httpproxies`;
}

/** The program's HTTPProxy is to be included by one of the owner's. */
function rootProxy({ canary }: RouteContext): object {
  const { namespace } = canary.metadata;
  return {
    apiVersion: 'projectcontour.io/v1',
    kind: 'HTTPProxy',
    metadata: { name: 'root', namespace },
    spec: { virtualhost: { fqdn: `proxy.${namespace}.example.com` }, includes: [{ name: 'web', namespace }] },
  };
}
