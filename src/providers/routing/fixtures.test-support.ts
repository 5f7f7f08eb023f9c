/** What the tests of routing providers start from: for each line of the table one row here. */
import type { Canary, CanarySpec } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import type { RoutingProvider } from './router.ts';

/** What surrounds one provider: the objects of its users, and the controller of its data plane. */
interface RouteFixture {
  /** Fields of a Canary for this provider besides a target, a port and an analysis. */
  readonly spec?: Partial<CanarySpec>;
  /** Objects of users that exist before Holdfast writes anything: of the application and port of `aCanary`. */
  readonly found?: readonly KubernetesObject[];
  /** The status that the controller of the data plane gives an object of this generation. Without: it gives none that a router reads. */
  answer?(object: KubernetesObject, generation: number): object;
  /** Conditions in that answer without which nothing is accepted. */
  readonly needs?: readonly string[];
  /** A spec in which no weights can be read; default: an empty one with the usual lists. */
  readonly unreadable?: object;
}

/** The first traffic of a new Canary. */
export const initialTraffic: RouteTarget = {
  primaryWeight: 100,
  canaryWeight: 0,
  mirrored: false,
  matched: false,
};

const metadata = { name: 'podinfo', namespace: 'shop' };
const condition = { status: 'True', reason: 'Valid', message: '' };

const gateway: RouteFixture = {
  spec: { service: { port: 9898, gatewayRefs: [{ name: 'public', namespace: 'infra' }] } },
  answer({ spec }, observedGeneration) {
    const { parentRefs } = spec as { parentRefs: object[] };
    const conditions = ['Accepted', 'ResolvedRefs'].map((type) => ({
      ...condition,
      type,
      observedGeneration,
    }));
    return { parents: parentRefs.map((parentRef) => ({ parentRef, conditions })) };
  },
  needs: ['Accepted'],
};

/** An Ingress of users, with their annotations. */
const ingress: RouteFixture = {
  spec: { ingressRef: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'podinfo-ingress' } },
  found: [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: {
        ...metadata,
        name: 'podinfo-ingress',
        labels: { app: 'podinfo', 'kustomize.toolkit.fluxcd.io/name': 'apps' },
        annotations: { 'nginx.ingress.kubernetes.io/canary-weight': '30', 'example.com/owner': 'shop' },
      },
      spec: {
        ingressClassName: 'public',
        rules: [
          {
            host: 'shop.example.com',
            http: {
              paths: [
                {
                  path: '/',
                  pathType: 'Prefix',
                  backend: { service: { name: 'podinfo', port: { number: 9898 } } },
                },
                {
                  path: '/old',
                  pathType: 'Prefix',
                  backend: { service: { name: 'old', port: { number: 80 } } },
                },
              ],
            },
          },
        ],
      },
    },
  ],
};

/** By the name of the provider. */
const routeFixtures: Readonly<Record<string, RouteFixture>> = {
  kubernetes: {},
  'gatewayapi:v1': gateway,
  'gatewayapi:v1beta1': gateway,
  contour: {
    answer: (_, observedGeneration) => ({
      currentStatus: 'valid',
      conditions: [{ ...condition, type: 'Valid', observedGeneration }],
    }),
    needs: ['Valid'],
  },
  knative: {
    found: [
      {
        apiVersion: 'serving.knative.dev/v1',
        kind: 'Service',
        metadata: { ...metadata, annotations: { 'flagger.app/primary-revision': 'podinfo-00001' } },
        spec: { traffic: [{ latestRevision: false, revisionName: 'podinfo-00001', percent: 100 }] },
      },
    ],
    answer: ({ spec }, observedGeneration) => ({
      observedGeneration,
      latestCreatedRevisionName: 'podinfo-00002',
      traffic: (spec as { traffic: object[] }).traffic,
      conditions: [{ ...condition, type: 'RoutesReady' }],
    }),
    needs: ['RoutesReady'],
  },
  nginx: ingress,
  skipper: ingress,
  traefik: { unreadable: { weighted: { services: [{ name: 'old', port: 80 }] } } },
  istio: {},
  appmesh: { spec: { service: { port: 9898, meshName: 'shop' } } },
  'appmesh:v1beta2': {
    answer: (_, observedGeneration) => ({
      observedGeneration,
      conditions: [{ ...condition, type: 'VirtualRouterActive' }],
    }),
    needs: ['VirtualRouterActive'],
  },
  linkerd: {},
  'smi:v1alpha1': {},
  'smi:v1alpha2': {},
  'smi:v1alpha3': {},
  osm: {},
  gloo: {
    spec: {
      upstreamRef: {
        apiVersion: 'gloo.solo.io/v1',
        kind: 'Upstream',
        name: 'podinfo-tls',
        namespace: 'gloo',
      },
    },
    found: [
      {
        apiVersion: 'gloo.solo.io/v1',
        kind: 'Upstream',
        metadata: { name: 'podinfo-tls', namespace: 'gloo' },
        spec: { kube: { serviceName: 'podinfo' }, sslConfig: { sni: 'shop' }, useHttp2: true },
      },
    ],
  },
  kuma: { unreadable: { conf: {} } },
  apisix: {
    spec: { routeRef: { apiVersion: 'apisix.apache.org/v2', kind: 'ApisixRoute', name: 'podinfo-route' } },
    found: [
      {
        apiVersion: 'apisix.apache.org/v2',
        kind: 'ApisixRoute',
        metadata: { ...metadata, name: 'podinfo-route' },
        spec: {
          ingressClassName: 'apisix',
          http: [
            {
              name: 'front',
              match: { hosts: ['shop.example.com'], paths: ['/*'] },
              plugins: [{ name: 'prometheus', enable: true }],
              backends: [{ serviceName: 'podinfo', servicePort: 9898, resolveGranularity: 'endpoints' }],
            },
            {
              name: 'old',
              match: { paths: ['/old/*'] },
              backends: [{ serviceName: 'old', servicePort: 80 }],
            },
          ],
        },
      },
    ],
    unreadable: { http: [] },
  },
};

/** The row of a provider. Throws where it has none. */
export function fixtureOf({ name }: Pick<RoutingProvider, 'name'>): RouteFixture {
  const fixture = routeFixtures[name];
  if (!fixture) throw new Error(`fixtures.test-support.ts has no row for the provider ${name}`);
  return fixture;
}

/** A Canary that gatewayapi:v1, kubernetes and contour can route. */
export function aCanary(spec: Partial<CanarySpec> = {}): Canary {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'podinfo', namespace: 'shop', uid: 'canary-uid' },
    spec: {
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
      service: { port: 9898, gatewayRefs: [{ name: 'public', namespace: 'infra' }] },
      analysis: { interval: '10s', threshold: 2, stepWeight: 20 },
      ...spec,
    },
  };
}

/** A Canary that this provider can route. */
export function canaryFor(router: RoutingProvider, spec: Partial<CanarySpec> = {}): Canary {
  return aCanary({ provider: router.name as CanarySpec['provider'], ...fixtureOf(router).spec, ...spec });
}

/** The analysis of an A/B test on one header. */
export const abAnalysis: Canary['spec']['analysis'] = {
  interval: '10s',
  threshold: 2,
  iterations: 3,
  match: [{ headers: { 'x-user': { exact: 'insider' } } }],
};

/** `aCanary` with an A/B test on one header. */
export function anAbCanary(): Canary {
  return aCanary({ analysis: structuredClone(abAnalysis) });
}

/** The context of a Canary whose pods are labelled app=podinfo. */
export function aContext(canary: Canary = aCanary()): RouteContext {
  return {
    canary,
    names: { apex: 'podinfo', primary: 'podinfo-primary', canary: 'podinfo-canary' },
    label: { key: 'app', primary: 'podinfo-primary', canary: 'podinfo' },
    apex: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { type: 'ClusterIP', ports: [{ port: 9898 }], selector: { app: 'podinfo-primary' } },
    },
  };
}

const answersByKind: Readonly<Record<string, RouteFixture['answer']>> = {
  HTTPProxy: routeFixtures.contour?.answer,
  HTTPRoute: gateway.answer,
};

/** What a route's own controller writes when it takes a configuration; for routes of Contour and the Gateway API. */
export function acceptedBy(object: KubernetesObject, generation = 1): KubernetesObject {
  return answered(object, answersByKind[object.kind], generation);
}

/** The same for the objects of any provider. */
export function acceptedAll(
  router: RoutingProvider,
  objects: readonly KubernetesObject[],
  generation?: number,
): KubernetesObject[] {
  const { answer } = fixtureOf(router);
  return objects.map((object) => answered(object, answer, generation ?? object.metadata.generation));
}

function answered(
  object: KubernetesObject,
  answer: RouteFixture['answer'],
  generation = 1,
): KubernetesObject {
  const status = answer?.(object, generation);
  const after = { ...object, metadata: { ...object.metadata, generation }, ...(status ? { status } : {}) };
  const former = appliedAs.get(object);
  if (former) appliedAs.set(after, former);
  return after;
}

/** What a router finds before it has written anything. */
export function foundBy(router: RoutingProvider): KubernetesObject[] {
  return acceptedAll(router, fixtureOf(router).found ?? []);
}

/** What was applied to an object last: its annotations that are no longer applied go. */
const appliedAs = new WeakMap<KubernetesObject, KubernetesObject>();

/**
 * The cluster after these objects were applied, without an answer to them: fields of others stay, lists are those that were written, and what
 * really changed has a new generation. As of a server-side apply, as far as routers can see.
 */
export function writtenOver(
  live: readonly KubernetesObject[],
  written: readonly KubernetesObject[],
  generation: number,
): KubernetesObject[] {
  const merged = written.map((object) => {
    const before = live.find((one) => isSame(one, object));
    const metadata = { ...object.metadata, generation };
    const after = before ? mergedOver(before, { ...object, metadata }) : { ...object, metadata };
    appliedAs.set(after, object);
    return after;
  });
  const untouched = live.filter((one) => !written.some((object) => isSame(one, object)));
  return [...untouched, ...merged];
}

function mergedOver(before: KubernetesObject, object: KubernetesObject): KubernetesObject {
  const { labels, annotations = {} } = before.metadata;
  const former = appliedAs.get(before)?.metadata.annotations ?? {};
  const kept = Object.entries(annotations).filter(([key]) => former[key] === undefined);
  const metadata = {
    ...before.metadata,
    ...object.metadata,
    labels: { ...labels, ...object.metadata.labels },
    annotations: { ...Object.fromEntries(kept), ...object.metadata.annotations },
  };
  return { ...before, ...object, metadata, spec: over(before.spec, object.spec) };
}

/** Whether they are the same object, in whatever version. */
export function isSame(left: KubernetesObject, right: KubernetesObject): boolean {
  return (
    left.apiVersion === right.apiVersion &&
    left.kind === right.kind &&
    left.metadata.name === right.metadata.name &&
    left.metadata.namespace === right.metadata.namespace
  );
}

function over(before: unknown, wanted: unknown): Record<string, unknown> {
  const [left, right] = [before, wanted] as Array<Record<string, unknown>>;
  const isMap = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const entries = Object.entries(right ?? {}).map(([key, value]) => [
    key,
    isMap(value) && isMap(left?.[key]) ? over(left?.[key], value) : value,
  ]);
  return { ...left, ...(Object.fromEntries(entries) as object) };
}
