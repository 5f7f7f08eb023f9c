import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { aContext, canaryFor, initialTraffic } from './fixtures.test-support.ts';
import { kuma } from './kuma.ts';

const context = aContext(canaryFor(kuma));
const target = { ...initialTraffic, primaryWeight: 80, canaryWeight: 20 };
const [route] = kuma.objects(context, target, []) as [KubernetesObject];

it('names Services as Kuma does, in the mesh of the Canary, without namespace and owner', () => {
  expect(route).toMatchObject({
    mesh: 'default',
    spec: {
      destinations: [{ match: { 'kuma.io/service': 'podinfo_shop_svc_9898' } }],
      conf: {
        split: [
          { weight: 80, destination: { 'kuma.io/service': 'podinfo-primary_shop_svc_9898' } },
          { weight: 20, destination: { 'kuma.io/service': 'podinfo-canary_shop_svc_9898' } },
        ],
      },
    },
  });
  expect(Object.keys(route.metadata)).toEqual(['name', 'labels', 'annotations']);
  const canary = canaryFor(kuma);
  const annotations = { 'kuma.io/mesh': 'blue' };
  const inBlue = aContext({ ...canary, metadata: { ...canary.metadata, annotations } });
  expect(kuma.objects(inBlue, target, [])).toMatchObject([{ mesh: 'blue' }]);
});

it('leaves the TrafficRoute of a Service of the same name in another namespace alone, and says so', () => {
  const canary = canaryFor(kuma);
  const other = aContext({ ...canary, metadata: { ...canary.metadata, namespace: 'other' } });

  expect(kuma.objects(other, target, [route])).toEqual([]);
  expect(kuma.read(other, [route])).toMatchObject({
    accepted: false,
    problem: expect.stringContaining('TrafficRoute podinfo divides the requests of another Service'),
  });
});

it('knows its TrafficRoute again after the port of the Service has changed, and moves it to the new one', () => {
  const moved = aContext(canaryFor(kuma, { service: { port: 8080 } }));

  expect(kuma.read(moved, [route])).toEqual({ ...target, accepted: true });
  expect(kuma.objects(moved, target, [route])).toMatchObject([
    {
      spec: {
        destinations: [{ match: { 'kuma.io/service': 'podinfo_shop_svc_8080' } }],
        conf: {
          split: [
            { weight: 80, destination: { 'kuma.io/service': 'podinfo-primary_shop_svc_8080' } },
            { weight: 20 },
          ],
        },
      },
    },
  ]);
});
