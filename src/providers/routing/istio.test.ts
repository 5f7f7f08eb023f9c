import { describe, expect, it } from 'vitest';
import type { CanarySpec } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import { abAnalysis, aCanary, aContext, initialTraffic } from './fixtures.test-support.ts';
import { istio } from './istio.ts';

const contextOf = (service: object, analysis?: CanarySpec['analysis']) =>
  aContext(
    aCanary({ provider: 'istio', service: { port: 9898, ...service }, ...(analysis ? { analysis } : {}) }),
  );

const specOf = (objects: readonly KubernetesObject[]) =>
  objects.find(({ kind }) => kind === 'VirtualService')?.spec as Record<string, unknown>;

function specAt(
  target: Partial<RouteTarget>,
  service: object = {},
  analysis?: CanarySpec['analysis'],
): Record<string, unknown> {
  return specOf(istio.objects(contextOf(service, analysis), { ...initialTraffic, ...target }, []));
}

const to = (primary: number, canary: number) => [
  { destination: { host: 'podinfo-primary' }, weight: primary },
  { destination: { host: 'podinfo-canary' }, weight: canary },
];
const at10 = { primaryWeight: 90, canaryWeight: 10 };

describe('the objects of Istio', () => {
  it('are a VirtualService with everything that the Canary says, and a DestinationRule for each side', () => {
    const service = {
      hosts: ['shop.example.com'],
      gateways: ['istio-system/public', 'mesh'],
      trafficPolicy: { tls: { mode: 'ISTIO_MUTUAL' } },
      match: [{ uri: { prefix: '/api' } }],
      rewrite: { uri: '/', authority: 'shop', type: 'ReplacePrefixMatch' },
      timeout: '15s',
      retries: { attempts: 3, perTryTimeout: '1s', retryOn: '5xx' },
      corsPolicy: { allowOrigin: ['example.com'], maxAge: '24h' },
      headers: { request: { add: { 'x-from': 'canary' } } },
    };

    const objects = istio.objects(contextOf(service), { ...initialTraffic, ...at10 }, []);

    expect(objects.map(({ apiVersion, kind, metadata }) => [apiVersion, kind, metadata.name])).toEqual([
      ['networking.istio.io/v1beta1', 'DestinationRule', 'podinfo-primary'],
      ['networking.istio.io/v1beta1', 'DestinationRule', 'podinfo-canary'],
      ['networking.istio.io/v1beta1', 'VirtualService', 'podinfo'],
    ]);
    expect(objects[0]?.spec).toEqual({
      host: 'podinfo-primary',
      trafficPolicy: { tls: { mode: 'ISTIO_MUTUAL' } },
    });
    expect(specOf(objects)).toEqual({
      hosts: ['shop.example.com', 'podinfo'],
      gateways: ['istio-system/public', 'mesh'],
      http: [
        {
          match: [{ uri: { prefix: '/api' } }],
          rewrite: { uri: '/', authority: 'shop' },
          timeout: '15s',
          retries: { attempts: 3, perTryTimeout: '1s', retryOn: '5xx' },
          corsPolicy: { allowOrigin: ['example.com'], maxAge: '24h' },
          headers: { request: { add: { 'x-from': 'canary' } } },
          route: to(90, 10),
        },
      ],
    });
  });

  it('have no empty texts, which Istio refuses as durations and Flagger leaves out', () => {
    const service = {
      timeout: '',
      retries: { attempts: 3, perTryTimeout: '' },
      corsPolicy: { allowOrigin: ['example.com'], maxAge: '' },
      headers: { request: { set: { 'x-debug': '' } } },
      trafficPolicy: { connectionPool: { http: { idleTimeout: '', maxRetries: 1 } } },
    };

    const objects = istio.objects(contextOf(service), initialTraffic, []);

    expect(specOf(objects).http).toEqual([
      {
        retries: { attempts: 3 },
        corsPolicy: { allowOrigin: ['example.com'] },
        headers: { request: { set: { 'x-debug': '' } } },
        route: to(100, 0),
      },
    ]);
    expect(objects[0]?.spec).toMatchObject({
      trafficPolicy: { connectionPool: { http: { maxRetries: 1 } } },
    });
    expect(JSON.stringify(objects[0])).not.toContain('idleTimeout');
  });

  it.each([
    [{}, ['podinfo'], ['mesh']],
    [{ hosts: ['podinfo'] }, ['podinfo'], ['mesh']],
    [{ hosts: ['*'], gateways: ['public'] }, ['*'], ['public']],
    [{ delegation: true }, [], []],
  ])('of %j have these hosts and gateways', (service, hosts, gateways) => {
    expect(specAt({}, service)).toMatchObject({ hosts, gateways });
  });

  it.each([
    [{ portDiscovery: true }, undefined],
    [{ portDiscovery: true, gateways: ['mesh', 'public'] }, undefined],
    [{ portDiscovery: true, gateways: ['public'] }, { number: 9898 }],
    [{ portDiscovery: true, delegation: true }, { number: 9898 }],
    [{ gateways: ['public'] }, undefined],
  ])('of %j name the port of a destination as Flagger does', (service, port) => {
    const { http } = specAt({}, service) as { http: Array<{ route: Array<{ destination: object }> }> };
    expect(http[0]?.route.map(({ destination }) => (destination as { port?: object }).port)).toEqual([
      port,
      port,
    ]);
  });

  it('route connections by weight with appProtocol tcp', () => {
    const service = { appProtocol: 'TCP', match: [{ port: 9898 }] };
    const context = contextOf(service);
    const objects = istio.objects(context, { ...initialTraffic, ...at10 }, []);

    expect(specOf(objects)).toEqual({
      hosts: ['podinfo'],
      gateways: ['mesh'],
      tcp: [{ match: [{ port: 9898 }], route: to(90, 10) }],
    });
    expect(istio.read(context, objects)).toMatchObject({ ...at10, accepted: true });
  });

  it('take connections of every port where one of the matches names none', () => {
    const context = contextOf({ appProtocol: 'tcp', match: [{ gateways: ['mesh'] }, { port: 9898 }] });

    const objects = istio.objects(context, { ...initialTraffic, ...at10 }, []);

    expect(specOf(objects)).toHaveProperty('tcp', [{ route: to(90, 10) }]);
  });

  it('copy a share of the requests', () => {
    const analysis = { interval: '10s', threshold: 2, stepWeight: 10, mirror: true, mirrorWeight: 30 };
    expect(specAt({ mirrored: true }, {}, analysis)).toMatchObject({
      http: [{ mirror: { host: 'podinfo-canary' }, mirrorPercentage: { value: 30 }, route: to(100, 0) }],
    });
  });

  it('send requests that match to the canary and all others to the primary, in each match of the service', () => {
    const match = [
      {
        headers: { cookie: { regex: 'insider' }, agent: { suffix: '(beta)' } },
        sourceLabels: { app: 'web' },
      },
      { queryParams: { try: { exact: 'yes' } } },
    ];
    const service = { match: [{ uri: { prefix: '/a' }, headers: { host: { exact: 'a' } } }, { port: 80 }] };

    const { http } = specAt({ primaryWeight: 0, canaryWeight: 100, matched: true }, service, {
      ...abAnalysis,
      match,
    });

    const headers = { cookie: { regex: 'insider' }, agent: { regex: '.*\\(beta\\)' } };
    const sourceLabels = { app: 'web' };
    const queryParams = { try: { exact: 'yes' } };
    expect(http).toEqual([
      {
        match: [
          { uri: { prefix: '/a' }, headers: { host: { exact: 'a' }, ...headers }, sourceLabels },
          { port: 80, headers, sourceLabels },
          { uri: { prefix: '/a' }, headers: { host: { exact: 'a' } }, queryParams },
          { port: 80, queryParams },
        ],
        route: to(0, 100),
      },
      { match: service.match, route: to(100, 0).slice(0, 1) },
    ]);
  });

  it('pin users to their side by a cookie, which is compared as a whole', () => {
    const sessionAffinity = { cookieName: 'side', primaryCookieName: 'stay', path: '/', secure: true };
    const analysis = { interval: '30s', threshold: 2, stepWeight: 10, sessionAffinity };
    const sessions = { kind: 'keep', canary: 'side=abc', primary: 'stay=def' } as const;

    const { http } = specAt({ ...at10, sessions }, {}, analysis);

    const cookie = (value: string) => [{ headers: { Cookie: { regex: `^(.*; ?)?${value}(;.*)?$` } } }];
    const sets = (value: string) => ({ headers: { response: { add: { 'Set-Cookie': value } } } });
    const [primary, canary] = to(90, 10);
    expect(http).toEqual([
      { match: cookie('side=abc'), route: to(0, 100) },
      { match: cookie('stay=def'), route: to(100, 0) },
      {
        route: [
          { ...primary, ...sets('stay=def; Max-Age=30; Path=/; Secure') },
          { ...canary, ...sets('side=abc; Max-Age=86400; Path=/; Secure') },
        ],
      },
    ]);
  });
});

describe('what Istio says', () => {
  const live = (status: object) =>
    istio
      .objects(aContext(), { ...initialTraffic, ...at10 }, [])
      .map((object) => ({ ...object, metadata: { ...object.metadata, generation: 4 }, status }));
  const refused = [{ level: 'ERROR', type: { code: 'IST0101', name: 'ReferencedResourceNotFound' } }];

  it.each([
    [{}, undefined],
    [{ observedGeneration: 3, validationMessages: refused }, undefined],
    [
      { observedGeneration: 4, validationMessages: [{ level: 'WARNING', type: { code: 'IST0108' } }] },
      undefined,
    ],
    [
      { observedGeneration: '4', validationMessages: refused },
      'VirtualService podinfo: Istio reports IST0101 ReferencedResourceNotFound',
    ],
  ])('about the current generation counts: %j', (status, problem) => {
    const reading = istio.read(aContext(), live(status));
    expect(reading).toMatchObject({ ...at10, accepted: problem === undefined });
    expect(reading?.problem).toBe(problem);
  });

  it.each(['podinfo-canary', 'podinfo-canary.shop', 'podinfo-canary.shop.svc.cluster.local'])(
    'is read by the host %s, and not by that of another namespace',
    (host) => {
      const named = (to: string) =>
        JSON.parse(JSON.stringify(live({})).replaceAll('"podinfo-canary"', `"${to}"`));
      const rename = (to: string) =>
        (named(to) as KubernetesObject[]).map((object) =>
          object.kind === 'VirtualService'
            ? object
            : (live({}).find((one) => one.metadata.name === object.metadata.name) ?? object),
        );
      const rules = live({}).filter(({ kind }) => kind === 'DestinationRule');
      const service = (to: string) => rename(to).filter(({ kind }) => kind === 'VirtualService');

      expect(istio.read(aContext(), [...rules, ...service(host)])).toMatchObject({ ...at10, accepted: true });
      expect(istio.read(aContext(), [...rules, ...service('podinfo-canary.other')])?.accepted).toBe(false);
    },
  );
});

describe('a VirtualService that was there before', () => {
  const key = 'flagger.kubernetes.io/original-configuration';
  const spec = { hosts: ['podinfo'], http: [{ route: [{ destination: { host: 'podinfo' } }] }] };
  const applied = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ spec }) };
  const existing = (annotations: Record<string, string>, routes: object): KubernetesObject => ({
    apiVersion: 'networking.istio.io/v1beta1',
    kind: 'VirtualService',
    metadata: { name: 'podinfo', namespace: 'shop', annotations },
    spec: routes,
  });
  const written = (live: KubernetesObject) =>
    istio.objects(aContext(), initialTraffic, [live]).at(-1)?.metadata;

  it('is marked as taken over, with its original spec, while it is', () => {
    const first = written(existing({}, spec));
    expect(first?.ownerReferences).toBeUndefined();
    expect(JSON.parse(first?.annotations?.[key] ?? '')).toEqual(spec);
    const later = written(existing(first?.annotations ?? {}, { http: [{ route: to(80, 20) }] }));
    expect(later?.annotations).toEqual(first?.annotations);
  });

  it('was taken over by Flagger: the last-applied spec is stored, and nothing without one', () => {
    const routes = { http: [{ route: to(100, 0) }] };
    expect(JSON.parse(written(existing(applied, routes))?.annotations?.[key] ?? '')).toEqual(spec);
    expect(written(existing({}, routes))?.annotations?.[key]).toBeUndefined();
  });
});

describe('a Canary that Istio cannot serve', () => {
  const errorsOf = (service: object, analysis?: CanarySpec['analysis']) =>
    istio.check(contextOf(service, analysis).canary).map(({ severity, path }) => `${severity} ${path}`);

  it('is refused, with the field', () => {
    expect(errorsOf({ delegation: true, hosts: ['a'] })).toEqual(['error spec.service.delegation']);
    expect(errorsOf({ appProtocol: 'tcp' }, { ...abAnalysis, mirror: true })).toEqual([
      'error spec.analysis.match',
      'warning spec.analysis.mirror',
    ]);
    expect(errorsOf({}, { ...abAnalysis, match: [{}] })).toEqual(['error spec.analysis.match[0]']);
  });
});
