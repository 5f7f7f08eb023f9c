/** Routes of users, of every kind for which a provider writes only the weights (`spec.routeRef`). */
import { describe, expect, it } from 'vitest';
import type { Canary, CanarySpec } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import { aCanary, aContext, acceptedBy, initialTraffic, writtenOver } from './fixtures.test-support.ts';
import { routerFor } from './table.ts';

/** A route of users: one rule leads to the application, one elsewhere. */
interface Row {
  readonly apiVersion: string;
  readonly kind: 'HTTPRoute' | 'HTTPProxy' | 'VirtualService';
  readonly spec: object;
  /** A backend of the rule that leads to the application. */
  readonly backend: (name: string, weight?: number) => object;
  readonly rules: string;
  readonly backends: string;
}

const parentRefs = [{ name: 'public', namespace: 'infra' }];
const rows: Readonly<Record<string, Row>> = {
  'gatewayapi:v1': {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    rules: 'rules',
    backends: 'backendRefs',
    spec: { parentRefs, hostnames: ['shop.example.com'] },
    backend: (name, weight) => ({ name, port: 9898, ...(weight === undefined ? {} : { weight }) }),
  },
  'gatewayapi:v1beta1': {
    apiVersion: 'gateway.networking.k8s.io/v1beta1',
    kind: 'HTTPRoute',
    rules: 'rules',
    backends: 'backendRefs',
    spec: { parentRefs, hostnames: ['shop.example.com'] },
    backend: (name, weight) => ({ name, port: 9898, ...(weight === undefined ? {} : { weight }) }),
  },
  contour: {
    apiVersion: 'projectcontour.io/v1',
    kind: 'HTTPProxy',
    rules: 'routes',
    backends: 'services',
    spec: { virtualhost: { fqdn: 'shop.example.com' } },
    backend: (name, weight) => ({ name, port: 9898, ...(weight === undefined ? {} : { weight }) }),
  },
  istio: {
    apiVersion: 'networking.istio.io/v1beta1',
    kind: 'VirtualService',
    rules: 'http',
    backends: 'route',
    spec: { hosts: ['shop.example.com'], gateways: ['infra/public'] },
    backend: (name, weight) => ({
      destination: { host: `${name}.shop.svc.cluster.local`, port: { number: 9898 } },
      ...(weight === undefined ? {} : { weight }),
    }),
  },
};

const at = (canaryWeight: number, others?: RouteTarget['others']): RouteTarget => ({
  ...initialTraffic,
  primaryWeight: 100 - canaryWeight,
  canaryWeight,
  ...(others ? { others } : {}),
});

describe.each(Object.entries(rows))('with provider %s', (provider, row) => {
  const router = routerFor(provider);
  if (!router) throw new Error(`no provider ${provider}`);
  const { apiVersion, kind, backend } = row;
  const canaryWith = (spec: Partial<CanarySpec> = {}): Canary =>
    aCanary({
      provider: provider as CanarySpec['provider'],
      service: { port: 9898 },
      routeRef: { apiVersion, kind, name: 'shop-front' },
      ...spec,
    });
  const context = aContext(canaryWith());
  const front = (backends: readonly object[], more: object = { match: 'as it was' }) => ({
    ...more,
    [row.backends]: backends,
  });
  const elsewhere = front([backend('blog')], { match: 'the blog' });
  const routeOf = (...rules: readonly object[]): KubernetesObject => ({
    apiVersion,
    kind,
    metadata: { name: 'shop-front', namespace: 'shop', labels: { team: 'front' }, generation: 1 },
    spec: { ...row.spec, [row.rules]: rules },
  });
  const found = [acceptedBy(routeOf(elsewhere, front([backend('podinfo')])))];
  const apply = (target: RouteTarget, live = found, about: RouteContext = context) =>
    writtenOver(live, router.objects(about, target, live), 2).map((object) => acceptedBy(object, 2));
  const rulesOf = (live: readonly KubernetesObject[]) =>
    (live[0]?.spec as Record<string, object[]> | undefined)?.[row.rules];

  it('writes the weights of the rule that leads to the application, and nothing else', () => {
    const live = apply(at(20));
    expect(rulesOf(live)).toEqual([
      elsewhere,
      front([backend('podinfo-primary', 80), backend('podinfo-canary', 20)]),
    ]);
    expect(live[0]?.spec).toMatchObject(row.spec);
    expect(live[0]?.metadata).toMatchObject({
      labels: { team: 'front' },
      annotations: { 'holdfast.dev/taken-over': 'spec' },
    });
    expect(live[0]?.metadata.ownerReferences).toBeUndefined();
  });

  it.each([0, 1, 50, 100])('reads back what it wrote: %i %% for the canary', (canaryWeight) => {
    const traffic = { ...at(canaryWeight), accepted: true };
    expect(router.read(context, apply(at(canaryWeight)))).toEqual(traffic);
    expect(router.read(context, apply(at(canaryWeight), apply(at(65))))).toEqual(traffic);
  });

  it('names both sides with weight 0 before they get the requests, and the apex after it had its last', () => {
    expect(router.read(context, found)).toMatchObject({ accepted: false, others: 'alone' });
    const named = apply(at(0, 'alone'));
    expect(router.read(context, named)).toMatchObject({ accepted: false, others: 'serving' });
    expect(JSON.stringify(rulesOf(named)?.[1])).toContain('"weight":100');
    const moved = apply(at(0, 'idle'), named);
    expect(router.read(context, moved)).toEqual({ ...at(0), accepted: true, others: 'idle' });
    expect(router.read(context, apply(at(0), moved))).toEqual({ ...at(0), accepted: true });
  });

  it('reports that the apex has requests while one of several rules leads to it alone', () => {
    const split = front([backend('podinfo-primary', 80), backend('podinfo-canary', 20)]);
    const mixed = [acceptedBy(routeOf(split, front([backend('podinfo')], { match: 'another path' })))];
    expect(router.read(context, mixed)).toMatchObject({ others: 'alone' });
  });

  it('takes rules from Git, and the weights that are decided', () => {
    const changed = routeOf(front([backend('podinfo')], { match: 'a new path' }), elsewhere);
    const live = apply(at(35), apply(at(20)), { ...context, inGit: changed });
    expect(rulesOf(live)).toEqual([
      front([backend('podinfo-primary', 65), backend('podinfo-canary', 35)], { match: 'a new path' }),
      elsewhere,
    ]);
  });

  it('leads to the port that the Service of each side has, and to others as in Git', () => {
    const named = (name: string, port: number, weight?: number) =>
      JSON.parse(JSON.stringify(backend(name, weight)).replace('9898', String(port))) as object;
    const inGit = routeOf(
      elsewhere,
      front([named('podinfo', 90)]),
      front([named('podinfo', 9090)]),
      front([named('cart', 90)]),
    );
    const cart = { apex: 'cart', primary: 'cart-primary', canary: 'cart-canary' };
    const about = {
      ...aContext(canaryWith({ service: { port: 90 } })),
      ports: { primary: 80, canary: 90 },
      inGit,
      neighbours: [cart],
    };
    const ofCart = front([named('cart-primary', 80, 70), named('cart-canary', 90, 30)]);

    const live = apply(at(20), [acceptedBy(routeOf(front([named('podinfo', 80)]), ofCart))], about);

    const wanted = [
      elsewhere,
      front([named('podinfo-primary', 80, 80), named('podinfo-canary', 90, 20)]),
      front([named('podinfo-primary', 9090, 80), named('podinfo-canary', 9090, 20)]),
      ofCart,
    ];
    expect(rulesOf(live)).toEqual(wanted);
    expect(rulesOf(apply(at(20), live, { ...about, inGit: undefined }))).toEqual(wanted);
  });

  it('restores the weights after a user applied the original route, and preserves other changes', () => {
    const reset = [acceptedBy(routeOf(front([backend('podinfo')], { match: 'by hand' })), 3)];
    const live = apply(at(20), reset);
    expect(rulesOf(live)).toEqual([
      front([backend('podinfo-primary', 80), backend('podinfo-canary', 20)], { match: 'by hand' }),
    ]);
  });

  it('does not decide on rules that differ, and makes them equal', () => {
    const split = (weight: number) =>
      front([backend('podinfo-primary', 100 - weight), backend('podinfo-canary', weight)]);
    const live = [acceptedBy(routeOf(split(20), split(50)))];
    expect(router.read(context, live)).toMatchObject({
      accepted: false,
      problem: expect.stringContaining('differently'),
    });
    expect(router.read(context, apply(at(50), live))).toEqual({ ...at(50), accepted: true });
  });

  it.each([
    ['that is not there', [], 'shop-front does not exist'],
    ['that leads elsewhere', [routeOf(elsewhere)], 'leads to none of the Services podinfo,'],
    [
      'with backends besides the application',
      [routeOf(front([backend('podinfo', 90), backend('blog', 10)]))],
      'rule 1 leads to podinfo and to others',
    ],
  ])('leaves a route alone %s, and says why', (_, live, words) => {
    expect(router.objects(context, at(20), live)).toEqual([]);
    expect(router.read(context, live)).toMatchObject({
      accepted: false,
      problem: expect.stringContaining(words),
    });
  });

  it('moves the weights of the live rules while those in Git cannot be divided, and says why', () => {
    const shared = routeOf(front([backend('podinfo', 90), backend('blog', 10)]));
    const about = { ...context, inGit: shared };
    const before = apply(at(50));

    const live = apply(at(0), before, about);

    expect(rulesOf(live)).toEqual(rulesOf(apply(at(0), before)));
    expect(router.read(about, live)).toMatchObject({
      canaryWeight: 0,
      accepted: false,
      problem: expect.stringContaining(`in Git, ${kind} shop-front: rule 1 leads to podinfo and to others`),
    });
  });

  it('refuses fields that need generated rules', () => {
    const analysis = {
      interval: '10s',
      threshold: 2,
      iterations: 3,
      mirror: true,
      match: [{ headers: { 'x-user': { exact: 'insider' } } }],
      sessionAffinity: { cookieName: 'side' },
    };
    expect(router.check(canaryWith())).toEqual([]);
    const refused = router.check(canaryWith({ analysis }));
    expect(refused.map(({ severity, path }) => `${severity} ${path}`)).toEqual([
      'error spec.analysis.match',
      'error spec.analysis.mirror',
      'error spec.analysis.sessionAffinity',
    ]);
  });

  it('refuses weights that do not add up', () => {
    expect(() => router.objects(context, { ...at(20), primaryWeight: 70 }, found)).toThrow(RangeError);
  });
});

it('leaves a VirtualService alone that leads to a subset, which the Services of both sides do not have', () => {
  const canary = aCanary({
    provider: 'istio',
    routeRef: { apiVersion: 'networking.istio.io/v1beta1', kind: 'VirtualService', name: 'shop-front' },
  });
  const context = aContext(canary);
  const live: KubernetesObject[] = [
    {
      apiVersion: 'networking.istio.io/v1beta1',
      kind: 'VirtualService',
      metadata: { name: 'shop-front', namespace: 'shop' },
      spec: { http: [{ route: [{ destination: { host: 'podinfo', subset: 'v1' } }] }] },
    },
  ];
  const router = routerFor('istio');

  expect(router?.objects(context, at(20), live)).toEqual([]);
  expect(router?.read(context, live)).toMatchObject({
    accepted: false,
    problem:
      'VirtualService shop-front: rule 1 leads to subset v1 of podinfo, and a subset is of one Service alone; let it lead to podinfo without a subset',
  });
});
