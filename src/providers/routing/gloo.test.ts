import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { abAnalysis, aContext, canaryFor, foundBy, initialTraffic } from './fixtures.test-support.ts';
import { gloo } from './gloo.ts';

const at = (canaryWeight: number) => ({ ...initialTraffic, primaryWeight: 100 - canaryWeight, canaryWeight });
const context = aContext(canaryFor(gloo));
const specsOf = (objects: readonly KubernetesObject[]) => objects.map(({ spec }) => spec);

describe('the Upstreams of both sides', () => {
  const written = gloo.objects(context, at(20), foundBy(gloo));

  it('come before the RouteTable that names them, with the settings of the Upstream that the Canary names', () => {
    expect(written.map(({ metadata }) => metadata.name)).toEqual([
      'shop-podinfo-primaryupstream-9898',
      'shop-podinfo-canaryupstream-9898',
      'podinfo',
    ]);
    const settings = { sslConfig: { sni: 'shop' }, useHttp2: true };
    const kube = { serviceNamespace: 'shop', servicePort: 9898 };
    expect(specsOf(written.slice(0, 2))).toEqual([
      { ...settings, kube: { ...kube, serviceName: 'podinfo-primary' } },
      { ...settings, kube: { ...kube, serviceName: 'podinfo-canary' } },
    ]);
  });

  it('have none of its labels, by which discovery, Argo CD or others would take them for their own', () => {
    const [source, ...others] = foundBy(gloo);
    const labels = { discovered_by: 'kubernetesplugin', 'app.kubernetes.io/instance': 'shop' };
    const labelled = { ...source, metadata: { ...source?.metadata, labels } } as KubernetesObject;

    for (const { metadata } of gloo.objects(context, at(20), [labelled, ...others]))
      expect(Object.keys(metadata.labels ?? {}).filter((key) => key in labels)).toEqual([]);
  });

  it('retain their settings after that Upstream was deleted, which is reported', () => {
    expect(specsOf(gloo.objects(context, at(20), written))).toEqual(specsOf(written));
    expect(gloo.read(context, written)).toMatchObject({
      canaryWeight: 20,
      accepted: false,
      problem: 'Upstream podinfo-tls of spec.upstreamRef does not exist',
    });
  });

  it('are missed when somebody deletes one of them', () => {
    const [primary, , table] = written as [KubernetesObject, KubernetesObject, KubernetesObject];

    expect(gloo.read(context, [...foundBy(gloo), primary, table])).toMatchObject({
      canaryWeight: 20,
      accepted: false,
      problem: 'Upstream shop-podinfo-canaryupstream-9898 does not exist yet',
    });
  });

  it('of the former port are still read after the port of the Service has changed, and give way to others', () => {
    const { spec } = canaryFor(gloo);
    const moved = aContext(canaryFor(gloo, { ...spec, service: { port: 8080 } }));
    const live = [...foundBy(gloo), ...written];

    expect(gloo.read(moved, live)).toMatchObject({
      canaryWeight: 20,
      accepted: false,
      problem: 'Upstream shop-podinfo-primaryupstream-8080 does not exist yet',
    });
    expect(gloo.objects(moved, at(20), live).map(({ metadata }) => metadata.name)).toContain(
      'shop-podinfo-canaryupstream-8080',
    );
  });

  it('are refused where Gloo rejects the RouteTable', () => {
    const status = { statuses: { 'gloo-system': { state: 'Rejected', reason: 'no such Service' } } };
    const live = [...foundBy(gloo), ...written.map((object) => ({ ...object, status }))];

    expect(gloo.read(context, live)?.problem).toBe('RouteTable podinfo: Gloo rejects it: no such Service');
  });
});

it('sends what does not match an A/B test to the primary', () => {
  const about = aContext(canaryFor(gloo, { analysis: abAnalysis }));

  const [, , table] = gloo.objects(about, { ...at(100), matched: true }, foundBy(gloo));

  const destinations = (table as unknown as { spec: { routes: object[] } }).spec.routes;
  expect(destinations).toMatchObject([
    {
      matchers: [{ headers: [{ name: 'x-user', value: 'insider' }] }],
      routeAction: { multi: { destinations: [{ weight: 0 }, { weight: 100 }] } },
    },
    { routeAction: { multi: { destinations: [{ weight: 100 }, { weight: 0 }] } } },
  ]);
});
