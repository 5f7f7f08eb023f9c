/** What routing providers write is taken by the published CRDs of their data planes, and nothing of it is pruned. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { Canary } from '../../src/api/canary/canary.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { RouteTarget } from '../../src/api/observed.ts';
import type { RoutingProvider } from '../../src/providers/routing/router.ts';
import { routerFor, routers } from '../../src/providers/routing/table.ts';
import { renderPlain } from '../../src/render/render.ts';
import { type ApiClient, createApiClient } from './bed/api-client.ts';
import { definitionsIn } from './bed/ingress.ts';
import { createObjects } from './bed/objects.ts';
import { toolsFromEnvironment } from './bed/tools.ts';

interface Definition extends KubernetesObject {
  spec: {
    group: string;
    names: { kind: string; plural: string };
    scope: string;
    versions: Array<{ name: string; served: boolean; storage: boolean; schema?: object }>;
    validation?: { openAPIV3Schema: object };
  };
}

const namespace = 'default';
const tools = toolsFromEnvironment();
const definitions = definitionsIn(tools.routeCrds).map((one) => inForce(one as Definition));
/** What the API server serves anyway, or because the bed runs its data plane. */
const served: readonly Definition[] = [
  ...definitionsIn(tools.crds).map((one) => one as Definition),
  {
    ...{
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'ingresses' },
    },
    spec: {
      group: 'networking.k8s.io',
      names: { kind: 'Ingress', plural: 'ingresses' },
      scope: 'Namespaced',
      versions: [{ name: 'v1', served: true, storage: true }],
    },
  },
];
const definitionOf = ({ apiVersion, kind }: { apiVersion: string; kind: string }) =>
  [...definitions, ...served].find(
    ({ spec }) =>
      spec.names.kind === kind && spec.versions.some(({ name }) => apiVersion === `${spec.group}/${name}`),
  );
/** Providers all of whose kinds are among the CRDs. */
const known = routers.filter(({ kinds }) => kinds.every((kind) => definitionOf(kind)));

let client: ApiClient;

beforeAll(async () => {
  const bed = inject('bed');
  const access = { server: bed.apiServer, ca: bed.ca, token: bed.adminToken, userAgent: 'route-crds' };
  client = createApiClient(access);
  const used = new Set(known.flatMap(({ kinds }) => kinds.map(definitionOf)));
  await createObjects(client).define(definitions.filter((one) => used.has(one)));
});

/** Service Mesh Interface ended before `v1` of CRDs: one schema for all versions, of which the last release serves only the newest. */
function inForce({ spec, ...rest }: Definition): Definition {
  const { validation, ...others } = spec;
  if (!validation) return { ...rest, spec };
  const schema = { openAPIV3Schema: { type: 'object', ...validation.openAPIV3Schema } };
  const { group, names, scope } = others;
  const versions = spec.versions.map((version) => ({ ...version, served: true, schema }));
  return { ...rest, apiVersion: 'apiextensions.k8s.io/v1', spec: { group, names, scope, versions } };
}

const page = readFileSync('docs/guides/routing.md', 'utf8');
/** A Canary of the guide, and what its users keep beside it. */
interface Example {
  readonly canary: Canary;
  readonly live: readonly KubernetesObject[];
}

const examples = [...page.matchAll(/```yaml\n([\s\S]*?)\n```/g)].map(([, text = '']): Example => {
  const here = text.replaceAll('namespace: shop', `namespace: ${namespace}`);
  const objects = renderPlain([{ path: 'example.yaml', bytes: Buffer.from(here) }]).objects.map(
    ({ object }) => object as KubernetesObject,
  );
  const canary = objects.find(({ kind }) => kind === 'Canary') as unknown as Canary;
  return { canary, live: objects.filter(({ kind }) => kind !== 'Canary') };
});

/** The guide's example of this provider, or of one with the same objects. */
function examplesOf({ name, kinds }: RoutingProvider): Example[] {
  const alike = examples.filter(({ canary: { spec } }) => {
    const router = routerFor(String(spec.provider));
    const isAlike = router?.kinds.every(({ kind }) => kinds.some((one) => one.kind === kind));
    const needsMore = spec.ingressRef !== undefined || spec.routeRef !== undefined;
    return router?.name === name || (isAlike && !needsMore);
  });
  return alike.map(({ canary, live }) => ({
    canary: { ...canary, metadata: { ...canary.metadata, uid: 'uid' } },
    live,
  }));
}

const at = (canaryWeight: number, more: Partial<RouteTarget> = {}): RouteTarget => ({
  ...{ primaryWeight: 100 - canaryWeight, canaryWeight, mirrored: false, matched: false },
  ...more,
});
const targets: ReadonlyArray<readonly [string, RouteTarget]> = [
  ['at rest', at(0)],
  ['with a share', at(10)],
  ['with a mirror', at(0, { mirrored: true })],
  ['with requests that match', at(100, { matched: true })],
  ['with users who stay', at(10, { sessions: { kind: 'keep', canary: 'a=b', primary: 'c=d' } })],
  ['with users who stayed', at(0, { sessions: { kind: 'end', previous: 'a=b' } })],
];

describe.each(known.map((router) => [router.name, router] as const))('the objects of %s', (_, router) => {
  test.each(targets)('are taken as they are %s', async (_title, target) => {
    const given = examplesOf(router);
    expect(given).not.toEqual([]);
    for (const { canary, live } of given) {
      const names = { apex: 'web', primary: 'web-primary', canary: 'web-canary' };
      const label = { key: 'app', primary: 'web-primary', canary: 'web' };
      const written = router.objects({ canary, names, label }, target, live);
      expect(written).not.toEqual([]);
      for (const object of written) {
        const { spec } = definitionOf(object) as Definition;
        const scope = spec.scope === 'Namespaced' ? `/namespaces/${namespace}` : '';
        const path = `/apis/${object.apiVersion}${scope}/${spec.names.plural}/${object.metadata.name}`;
        const query = 'fieldManager=holdfast-rollout&force=true&dryRun=All&fieldValidation=Strict';
        const stored = await client.request('PATCH', `${path}?${query}`, object, {
          'content-type': 'application/apply-patch+yaml',
        });
        expect(stored.spec).toMatchObject(object.spec as object);
      }
    }
  });
});

test('the providers whose CRDs are published as modules are among them', () => {
  expect(known.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      ...['gatewayapi:v1', 'gatewayapi:v1beta1', 'contour', 'nginx', 'skipper', 'traefik'],
      ...['istio', 'linkerd', 'smi:v1alpha3', 'osm'],
    ]),
  );
});
