import { describe, expect, it } from 'vitest';
import { contour } from './contour.ts';
import { aCanary, aContext, acceptedBy, anAbCanary, initialTraffic } from './fixtures.test-support.ts';

function backend(name: string, weight: number): object {
  return {
    name,
    port: 9898,
    weight,
    requestHeadersPolicy: {
      set: [{ name: 'l5d-dst-override', value: `${name}.shop.svc.cluster.local:9898` }],
    },
  };
}

const refused = { type: 'Valid', status: 'False', observedGeneration: 1 };

describe('the HTTPProxy', () => {
  it('is complete at 90/10', () => {
    const canary = aCanary({
      service: {
        port: 9898,
        timeout: '15s',
        retries: { attempts: 3, perTryTimeout: '1s', retryOn: 'gateway-error, 5xx' },
        match: [{ uri: { prefix: '/api' } }],
      },
    });

    const [proxy] = contour.objects(
      aContext(canary),
      { ...initialTraffic, primaryWeight: 90, canaryWeight: 10 },
      [],
    );

    expect(proxy).toMatchObject({
      apiVersion: 'projectcontour.io/v1',
      kind: 'HTTPProxy',
      metadata: { name: 'podinfo', namespace: 'shop' },
    });
    expect(proxy!.spec).toEqual({
      routes: [
        {
          conditions: [{ prefix: '/api' }],
          timeoutPolicy: { response: '15s', idle: '5m' },
          retryPolicy: { count: 3, perTryTimeout: '1s', retryOn: ['gateway-error', '5xx'] },
          services: [backend('podinfo-primary', 90), backend('podinfo-canary', 10)],
        },
      ],
    });
  });

  it('carries the ingress class that the operator set, and none without', () => {
    const classOf = (ingressClass?: string) => {
      const [proxy] = contour.objects({ ...aContext(), settings: { ingressClass } }, initialTraffic, []);
      const { ingressClassName } = proxy!.spec as { ingressClassName?: string };
      return [ingressClassName, proxy!.metadata.annotations?.['projectcontour.io/ingress.class']];
    };

    expect(classOf('internal')).toEqual(['internal', 'internal']);
    expect(classOf()).toEqual([undefined, undefined]);
  });

  it('makes a route for each A/B match, and leaves all other requests on the primary', () => {
    const canary = anAbCanary();
    canary.spec.analysis.match = [
      { headers: { 'x-user': { exact: 'insider' }, agent: { prefix: 'Fire' } } },
      { queryParams: { beta: { regex: '1|true' } } },
    ];

    const [proxy] = contour.objects(
      aContext(canary),
      { primaryWeight: 0, canaryWeight: 100, mirrored: false, matched: true },
      [],
    );

    const matched = [backend('podinfo-primary', 0), backend('podinfo-canary', 100)];
    expect(proxy!.spec).toEqual({
      routes: [
        {
          conditions: [
            { prefix: '/' },
            { header: { name: 'agent', contains: 'Fire' } },
            { header: { name: 'x-user', exact: 'insider' } },
          ],
          services: matched,
        },
        {
          conditions: [{ prefix: '/' }, { queryParameter: { name: 'beta', regex: '1|true' } }],
          services: matched,
        },
        {
          conditions: [{ prefix: '/' }],
          services: [backend('podinfo-primary', 100), backend('podinfo-canary', 0)],
        },
      ],
    });
  });

  it.each([
    [{}, 'Contour has not reported a status yet'],
    [{ currentStatus: 'valid' }, 'Contour has not reported a status yet'],
    [{ currentStatus: 'orphaned', conditions: [refused] }, 'is not included by a root HTTPProxy'],
    [
      { currentStatus: 'invalid', description: 'one service is missing', conditions: [refused] },
      'is invalid: one service is missing',
    ],
    [
      { currentStatus: 'orphaned', conditions: [{ ...refused, observedGeneration: 0 }] },
      'Contour has not observed generation 1 yet',
    ],
    [
      {
        currentStatus: 'invalid',
        conditions: [{ ...refused, errors: [{ message: 'no such port' }] }],
      },
      'is invalid: no such port',
    ],
  ])('is not accepted with status %j', (status, problem) => {
    const [proxy] = contour.objects(aContext(), initialTraffic, []).map((one) => acceptedBy(one));

    const reading = contour.read(aContext(), [{ ...proxy!, status }]);

    expect(reading?.accepted).toBe(false);
    expect(reading?.problem).toContain(problem);
  });

  it('refuses an A/B match that would match all requests', () => {
    const canary = anAbCanary();
    canary.spec.analysis.match = [{ sourceLabels: { app: 'x' } }];

    expect(contour.check(canary)).toContainEqual({
      severity: 'error',
      path: 'spec.analysis.match[0]',
      message: 'needs headers or queryParams: Contour has no other A/B condition',
    });
  });
});
