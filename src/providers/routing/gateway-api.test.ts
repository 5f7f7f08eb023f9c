import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { aCanary, aContext, acceptedBy, anAbCanary, initialTraffic } from './fixtures.test-support.ts';
import { gatewayApi, gatewayApiBeta } from './gateway-api.ts';

const parentRefs = [
  { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'public', namespace: 'infra' },
];

describe('the HTTPRoute', () => {
  it('is complete at 80/20 with everything a Canary can ask for', () => {
    const context = aContext(
      aCanary({
        service: {
          port: 9898,
          gatewayRefs: [{ name: 'public', namespace: 'infra', sectionName: 'https' }],
          hosts: ['shop.example.com'],
          match: [
            { uri: { prefix: '/api' }, method: { exact: 'GET' }, queryParams: { v: { regex: '[0-9]+' } } },
          ],
          rewrite: { uri: '/', authority: 'inner', type: 'ReplacePrefixMatch' },
          headers: {
            request: { add: { 'x-b': '2', 'x-a': '1' }, remove: ['x-c'] },
            response: { set: { server: 'shop' } },
          },
          mirror: [{ backendRef: { name: 'audit', port: 80 } }],
          corsPolicy: {
            allowOrigin: ['https://example.com'],
            allowMethods: ['GET'],
            maxAge: '24h',
            allowCredentials: true,
          },
          timeout: '10s',
          backendTimeout: '4s',
          apex: { labels: { team: 'store' }, annotations: { note: 'x' } },
        },
      }),
    );

    const objects = gatewayApi.objects(
      context,
      { ...initialTraffic, primaryWeight: 80, canaryWeight: 20 },
      [],
    );

    expect(objects).toEqual([
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'HTTPRoute',
        metadata: {
          name: 'podinfo',
          namespace: 'shop',
          labels: { team: 'store', 'holdfast.dev/canary': 'podinfo' },
          annotations: {
            note: 'x',
            'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
            'argocd.argoproj.io/sync-options': 'Prune=false',
            'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
            'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
          },
          ownerReferences: [
            {
              apiVersion: 'flagger.app/v1beta1',
              kind: 'Canary',
              name: 'podinfo',
              uid: 'canary-uid',
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
        },
        spec: {
          parentRefs: [{ ...parentRefs[0], sectionName: 'https' }],
          hostnames: ['shop.example.com'],
          rules: [
            {
              matches: [
                {
                  path: { type: 'PathPrefix', value: '/api' },
                  method: 'GET',
                  queryParams: [{ type: 'RegularExpression', name: 'v', value: '[0-9]+' }],
                },
              ],
              filters: [
                {
                  type: 'RequestHeaderModifier',
                  requestHeaderModifier: {
                    add: [
                      { name: 'x-a', value: '1' },
                      { name: 'x-b', value: '2' },
                    ],
                    remove: ['x-c'],
                  },
                },
                {
                  type: 'ResponseHeaderModifier',
                  responseHeaderModifier: { set: [{ name: 'server', value: 'shop' }] },
                },
                {
                  type: 'URLRewrite',
                  urlRewrite: {
                    hostname: 'inner',
                    path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' },
                  },
                },
                { type: 'RequestMirror', requestMirror: { backendRef: { name: 'audit', port: 80 } } },
                {
                  type: 'CORS',
                  cors: {
                    allowOrigins: ['https://example.com'],
                    allowMethods: ['GET'],
                    allowCredentials: true,
                    maxAge: 86400,
                  },
                },
              ],
              backendRefs: [
                { group: '', kind: 'Service', name: 'podinfo-primary', port: 9898, weight: 80 },
                { group: '', kind: 'Service', name: 'podinfo-canary', port: 9898, weight: 20 },
              ],
              timeouts: { request: '10s', backendRequest: '4s' },
            },
          ],
        },
      },
    ]);
  });

  it('leaves out a maxAge of CORS below a second, which the API server would refuse', () => {
    const service = {
      port: 9898,
      gatewayRefs: [{ name: 'public' }],
      corsPolicy: { allowOrigin: ['*'], maxAge: '0s' },
    };

    const [route] = gatewayApi.objects(aContext(aCanary({ service })), initialTraffic, []);

    const cors = { allowOrigins: ['*'] };
    expect(route?.spec).toMatchObject({ rules: [{ filters: [{ type: 'CORS', cors }] }] });
    expect(JSON.stringify(route)).not.toContain('maxAge');
  });

  it("splits in an A/B test only requests that are the application's own by its headers and parameters, too", () => {
    const analysis = { interval: '10s', threshold: 2, iterations: 3 };
    const headers = { 'x-user': { exact: 'insider' }, 'X-Tenant': { exact: 'a' } };
    const context = aContext(
      aCanary({
        service: {
          port: 9898,
          match: [
            {
              headers: { 'x-tenant': { exact: 'shop' }, 'x-app': { exact: 'web' } },
              queryParams: { v: { exact: '1' } },
            },
          ],
        },
        analysis: { ...analysis, match: [{ headers, queryParams: { test: { exact: 'yes' } } }] },
      }),
    );

    const [route] = gatewayApi.objects(context, { ...initialTraffic, matched: true }, []);

    const [{ matches }] = (route!.spec as { rules: [{ matches: unknown }] }).rules;
    const exact = (name: string, value: string) => ({ type: 'Exact', name, value });
    expect(matches).toEqual([
      {
        headers: [exact('x-app', 'web'), exact('X-Tenant', 'a'), exact('x-user', 'insider')],
        queryParams: [exact('v', '1'), exact('test', 'yes')],
      },
    ]);
  });

  it('splits matched requests only in an A/B test, each service match with each condition', () => {
    const canary = anAbCanary();
    Object.assign(canary.spec.service!, { match: [{ uri: { prefix: '/a' } }, { uri: { exact: '/b' } }] });
    const context = aContext(canary);

    const [route] = gatewayApi.objects(
      context,
      { primaryWeight: 0, canaryWeight: 100, mirrored: false, matched: true },
      [],
    );

    const headers = [{ type: 'Exact', name: 'x-user', value: 'insider' }];
    expect((route!.spec as { rules: unknown }).rules).toEqual([
      {
        matches: [{ path: { type: 'PathPrefix', value: '/a' } }, { path: { type: 'Exact', value: '/b' } }],
        backendRefs: [{ group: '', kind: 'Service', name: 'podinfo-primary', port: 9898, weight: 100 }],
      },
      {
        matches: [
          { path: { type: 'PathPrefix', value: '/a' }, headers },
          { path: { type: 'Exact', value: '/b' }, headers },
        ],
        backendRefs: [
          { group: '', kind: 'Service', name: 'podinfo-primary', port: 9898, weight: 0 },
          { group: '', kind: 'Service', name: 'podinfo-canary', port: 9898, weight: 100 },
        ],
      },
    ]);
  });

  it('has the rule of an A/B test first where another one may have as many conditions: the first one decides', () => {
    const canary = anAbCanary();
    const match = [{ headers: { 'x-user': { regex: '.+' } } }];
    Object.assign(canary.spec.service!, { match });

    const [route] = gatewayApi.objects(aContext(canary), { ...initialTraffic, matched: true }, []);

    const { rules } = route!.spec as { rules: Array<{ backendRefs: unknown[] }> };
    expect(rules.map(({ backendRefs }) => backendRefs.length)).toEqual([2, 1]);
  });

  it('takes no requests for a match of which it can compare nothing', () => {
    const match = [{ uri: { prefix: '/a' } }, { gateways: ['mesh'] }];
    const gatewayRefs = [{ name: 'g' }];
    const matchesOf = (service: object) => {
      const canary = aCanary({ service: { port: 9898, gatewayRefs, ...service } });
      const weights = { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false };
      const [route] = gatewayApi.objects(aContext(canary), weights, []);
      return (route?.spec as { rules: Array<{ matches: unknown }> } | undefined)?.rules[0]?.matches;
    };

    expect(matchesOf({ match })).toEqual([{ path: { type: 'PathPrefix', value: '/a' } }]);
    expect(matchesOf({ match: [{ gateways: ['mesh'] }] })).toEqual([
      { path: { type: 'PathPrefix', value: '/' } },
    ]);
  });

  it.each([true, false])(
    'does not take a mirror of the Canary itself for one of the analysis: %s',
    (mirrored) => {
      const mirror = [{ backendRef: { name: 'podinfo-canary', port: 9898 } }];
      const context = aContext(
        aCanary({ service: { port: 9898, gatewayRefs: [{ name: 'public', namespace: 'infra' }], mirror } }),
      );

      const live = gatewayApi
        .objects(context, { ...initialTraffic, mirrored }, [])
        .map((one) => acceptedBy(one));

      expect(gatewayApi.read(context, live)).toEqual({ ...initialTraffic, mirrored, accepted: true });
    },
  );

  it('mirrors to the canary and reads it back', () => {
    const live = gatewayApi
      .objects(aContext(), { ...initialTraffic, mirrored: true }, [])
      .map((one) => acceptedBy(one));

    expect(gatewayApi.read(aContext(), live)).toMatchObject({
      primaryWeight: 100,
      canaryWeight: 0,
      mirrored: true,
    });
  });
});

describe('acceptance', () => {
  function routeWith(conditions: object[] | undefined): KubernetesObject {
    const [route] = gatewayApi.objects(aContext(), initialTraffic, []);
    const parents = conditions ? [{ parentRef: parentRefs[0], conditions }] : [];
    return { ...route!, metadata: { ...route!.metadata, generation: 3 }, status: { parents } };
  }
  const accepted = { type: 'Accepted', status: 'True', observedGeneration: 3 };

  it.each([
    ['no parent answered', undefined, 'Gateway infra/public has not reported a status'],
    [
      'refused',
      [{ ...accepted, status: 'False', reason: 'NotAllowedByListeners' }],
      'Accepted is False, NotAllowedByListeners',
    ],
    ['old generation', [{ ...accepted, observedGeneration: 2 }], 'has not observed generation 3'],
    ['condition missing', [], 'condition Accepted is missing'],
    [
      'a Service is missing',
      [accepted, { type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound', observedGeneration: 3 }],
      'ResolvedRefs is False, BackendNotFound',
    ],
    [
      'references looked up for an older generation',
      [accepted, { type: 'ResolvedRefs', status: 'True', observedGeneration: 2 }],
      'has not observed generation 3',
    ],
    [
      'refused for an older generation',
      [{ ...accepted, status: 'False', reason: 'NoMatchingParent', observedGeneration: 2 }],
      'has not observed generation 3',
    ],
    [
      'taken in part',
      [accepted, { ...accepted, type: 'PartiallyInvalid', reason: 'UnsupportedValue' }],
      'PartiallyInvalid is True, UnsupportedValue',
    ],
  ])('is not there: %s', (_, conditions, problem) => {
    const reading = gatewayApi.read(aContext(), [routeWith(conditions)]);

    expect(reading).toMatchObject({ accepted: false, primaryWeight: 100, canaryWeight: 0 });
    expect(reading?.problem).toContain(problem);
  });

  it.each([
    ['taken', { status: 'True', reason: 'Accepted' }, undefined],
    ['refused', { status: 'False', reason: 'NoMatchingParent' }, 'Accepted is False, NoMatchingParent'],
  ])(
    'is %s as a controller says that names no generation, as Linkerd for a Service as parent',
    (_, answer, problem) => {
      const parent = { group: '', kind: 'Service', name: 'podinfo', port: 9898 };
      const canary = aCanary({ service: { port: 9898, gatewayRefs: [parent] } });
      const [route] = gatewayApiBeta.objects(aContext(canary), initialTraffic, []);
      const parentRef = { ...parent, group: 'core', namespace: 'shop' };
      const conditions = [
        { type: 'Accepted', ...answer },
        { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs' },
      ];
      const metadata = { ...route!.metadata, generation: 4 };
      const live = { ...route!, metadata, status: { parents: [{ parentRef, conditions }] } };

      const reading = gatewayApiBeta.read(aContext(canary), [live]);

      expect(reading?.accepted).toBe(problem === undefined);
      expect(reading?.problem ?? '').toContain(problem ?? '');
    },
  );

  it('needs every parent, also when the first one agrees', () => {
    const canary = aCanary({
      service: { port: 9898, gatewayRefs: [{ name: 'public', namespace: 'infra' }, { name: 'inner' }] },
    });
    const [route] = gatewayApi.objects(aContext(canary), initialTraffic, []);
    const status = { parents: [{ parentRef: parentRefs[0], conditions: [accepted] }] };

    const reading = gatewayApi.read(aContext(canary), [{ ...route!, status }]);

    expect(reading?.problem).toContain('Gateway shop/inner has not reported a status');
  });
});

describe('several answers', () => {
  const parent = { name: 'public', namespace: 'infra' };
  const taken = (controllerName: string, observedGeneration: number) => ({
    parentRef: parentRefs[0],
    controllerName,
    conditions: [{ type: 'Accepted', status: 'True', observedGeneration }],
  });
  const read = (gatewayRefs: object[], parents: object[]) => {
    const written = aContext(aCanary({ service: { port: 9898, gatewayRefs: [parent] } }));
    const [route] = gatewayApi.objects(written, initialTraffic, []);
    const live = { ...route!, metadata: { ...route!.metadata, generation: 2 }, status: { parents } };
    const service = { port: 9898, gatewayRefs: gatewayRefs as [{ name: string }] };
    return gatewayApi.read(aContext(aCanary({ service })), [live]);
  };

  it('needs every controller that answers for a parent', () => {
    const reading = read([parent], [taken('example.com/one', 2), taken('example.com/two', 1)]);

    expect(reading?.accepted).toBe(false);
    expect(reading?.problem).toContain('(example.com/two) has not observed generation 2');
    expect(read([parent], [taken('example.com/one', 2), taken('example.com/two', 2)])?.accepted).toBe(true);
  });

  it('does not need one that does not know the parent, as Traefik 3.6 says of the Gateways of others', () => {
    const accepted = { type: 'Accepted', status: 'False', reason: 'NoMatchingParent', observedGeneration: 2 };
    const unknown = { parentRef: parentRefs[0], controllerName: 'traefik.io/x', conditions: [accepted] };

    expect(read([parent], [unknown, taken('example.com/one', 2)])?.accepted).toBe(true);
    expect(read([parent], [unknown, taken('example.com/one', 1)])?.problem).toMatch(
      /^Gateway infra\/public has not observed generation 2 /,
    );
    expect(read([parent], [unknown])?.problem).toMatch(/: Accepted is False, NoMatchingParent$/);
  });

  it('tells what to do about the answer of a controller that is gone', () => {
    const reading = read([parent], [taken('example.com/gone', 1), taken('example.com/new', 2)]);

    expect(reading?.problem).toMatch(
      /\(example.com\/gone\) .*; if that controller is gone, remove its entry from status\.parents$/,
    );
  });

  it('needs an answer of each, whatever another one has said', () => {
    const silent = { parentRef: parentRefs[0], controllerName: 'example.com/two', conditions: [] };

    expect(read([parent], [taken('example.com/one', 2), silent])?.problem).toContain('(example.com/two)');
  });

  it('requires each parent that the Canary names, although it was removed from the route', () => {
    const reading = read([parent, { name: 'inner' }], [taken('example.com/one', 2)]);

    expect(reading?.accepted).toBe(false);
    expect(reading?.problem).toContain('does not name Gateway shop/inner');
  });

  it('does not need ResolvedRefs, which Flagger does not ask for', () => {
    expect(read([parent], [taken('example.com/one', 2)])).toMatchObject({ accepted: true });
  });
});

describe('what the provider cannot do', () => {
  it.each([
    [
      { service: { port: 80, gatewayRefs: [{ name: 'g' }], match: [{ method: { regex: 'G.*' } }] } },
      'spec.service.match[0].method',
    ],
    [
      { service: { port: 80, gatewayRefs: [{ name: 'g' }], match: [{ uri: {} }] } },
      'spec.service.match[0].uri',
    ],
    [
      { analysis: { iterations: 1, match: [{ headers: { a: { prefix: 'x' } } }] } },
      'spec.analysis.match[0].headers[a]',
    ],
    [{ analysis: { iterations: 1, match: [{ sourceLabels: { a: 'x' } }] } }, 'spec.analysis.match[0]'],
    [
      { analysis: { iterations: 1, match: new Array(65).fill({ headers: { a: { exact: 'x' } } }) } },
      'spec.analysis.match',
    ],
    [
      {
        service: {
          port: 80,
          gatewayRefs: [{ name: 'g' }],
          match: [{ headers: { cookie: { exact: 'a=b' } } }],
        },
        analysis: { stepWeight: 10, sessionAffinity: { cookieName: 'side' } },
      },
      'spec.service.match[0].headers[cookie]',
    ],
    [
      { service: { port: 80, gatewayRefs: [{ name: 'g' }], corsPolicy: { maxAge: 'long' } } },
      'spec.service.corsPolicy.maxAge',
    ],
  ])('is an error that names the field: %j', (spec, field) => {
    const errors = gatewayApi.check(aCanary(spec)).filter(({ severity }) => severity === 'error');

    expect(errors.map((error) => error.path)).toEqual([field]);
  });
});
