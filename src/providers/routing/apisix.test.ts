import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { apisix } from './apisix.ts';
import { aContext, canaryFor, foundBy, initialTraffic } from './fixtures.test-support.ts';

const context = aContext(canaryFor(apisix));
const at = (canaryWeight: number) => ({ ...initialTraffic, primaryWeight: 100 - canaryWeight, canaryWeight });

it('moves the weights of its own route while that of the user leads to the apex twice, and says so', () => {
  const [source] = foundBy(apisix) as [KubernetesObject];
  const own = apisix.objects(context, at(50), [source]);
  const { http, ...spec } = source.spec as { http: object[] };
  const twice = { ...source, spec: { ...spec, http: [...http, { ...http[0], name: 'again' }] } };

  const back = apisix.objects(context, at(0), [twice, ...own]);

  expect(back).toEqual(apisix.objects(context, at(0), [source, ...own]));
  expect(apisix.read(context, [twice, ...back])).toMatchObject({
    canaryWeight: 0,
    accepted: false,
    problem: 'ApisixRoute podinfo-route needs exactly one HTTP rule with Service podinfo as its only backend',
  });
});
