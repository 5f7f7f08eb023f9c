import { describe, expect, it } from 'vitest';
import { aContext, canaryFor, initialTraffic } from './fixtures.test-support.ts';
import { smiProviders } from './smi.ts';

describe.each(smiProviders.map((router) => [router.name, router] as const))(
  'the TrafficSplit of %s',
  (_, router) => {
    const contextOf = (service: object = {}) =>
      aContext(canaryFor(router, { service: { port: 9898, ...service } }));

    it('divides the requests of the apex, or of the first host', () => {
      const target = { ...initialTraffic, primaryWeight: 90, canaryWeight: 10 };
      const backends = [
        { service: 'podinfo-canary', weight: 10 },
        { service: 'podinfo-primary', weight: 90 },
      ];

      expect(router.objects(contextOf(), target, [])[0]?.spec).toEqual({ service: 'podinfo', backends });
      expect(router.objects(contextOf({ hosts: ['shop', 'more'] }), target, [])[0]?.spec).toEqual({
        service: 'shop',
        backends,
      });
    });

    it.each([
      [['1', '1'], { primaryWeight: 50, canaryWeight: 50, accepted: true }],
      [['900m', '100m'], { primaryWeight: 90, canaryWeight: 10, accepted: true }],
      [[0, 0], { accepted: false }],
      [['much', 'little'], { accepted: false }],
    ])('is read with the weights %j, also as quantities', ([primary, canary], reading) => {
      const [object] = router.objects(contextOf(), initialTraffic, []);
      const backends = [
        { service: 'podinfo-primary', weight: primary },
        { service: 'podinfo-canary', weight: canary },
      ];

      expect(
        router.read(contextOf(), [{ ...object!, spec: { service: 'podinfo', backends } }]),
      ).toMatchObject(reading);
    });

    it('is not accepted while a third backend gets requests', () => {
      const [object] = router.objects(contextOf(), initialTraffic, []);
      const { backends } = object!.spec as { backends: object[] };
      const spec = { service: 'podinfo', backends: [...backends, { service: 'old', weight: 5 }] };

      expect(router.read(contextOf(), [{ ...object!, spec }])?.problem).toContain('requests also go to old');
    });
  },
);
