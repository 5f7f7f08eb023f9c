import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { aContext, canaryFor, initialTraffic } from './fixtures.test-support.ts';
import { traefik } from './traefik.ts';

const context = aContext(canaryFor(traefik));
const servicesAt = (canaryWeight: number) => {
  const [written] = traefik.objects(
    context,
    { ...initialTraffic, primaryWeight: 100 - canaryWeight, canaryWeight },
    [],
  );
  return (written as unknown as { spec: { weighted: { services: object[] } } }).spec.weighted.services;
};

it('names the canary only while it has a share', () => {
  const backend = { namespace: 'shop', port: 9898 };

  expect(servicesAt(0)).toEqual([{ name: 'podinfo-primary', ...backend, weight: 100 }]);
  expect(servicesAt(20)).toEqual([
    { name: 'podinfo-primary', ...backend, weight: 80 },
    { name: 'podinfo-canary', ...backend, weight: 20 },
  ]);
});

it('does not take a TraefikService for its own that also leads elsewhere', () => {
  const [written] = traefik.objects(context, initialTraffic, []);
  const services = [...servicesAt(20), { name: 'old', port: 80 }];

  const reading = traefik.read(context, [
    { ...written, spec: { weighted: { services } } } as typeof written & object,
  ]);

  expect(reading).toMatchObject({
    canaryWeight: 20,
    accepted: false,
    problem: 'TraefikService podinfo: requests also go to old',
  });
});

it('does not write over a TraefikService of others that also leads elsewhere, and says what to do', () => {
  const metadata = { name: 'podinfo', namespace: 'shop' };
  const foreign = (services: object[]): KubernetesObject => ({
    apiVersion: 'traefik.io/v1alpha1',
    kind: 'TraefikService',
    metadata,
    spec: { weighted: { services } },
  });
  const old = { name: 'old', port: 80 };

  for (const live of [foreign([old]), foreign([...servicesAt(20), old])]) {
    expect(traefik.objects(context, initialTraffic, [live])).toEqual([]);
    expect(traefik.read(context, [live])).toMatchObject({
      accepted: false,
      problem:
        'TraefikService podinfo was not made for this Canary and leads to old; take that out, or choose another spec.service.name',
    });
  }
  const [taken] = traefik.objects(context, initialTraffic, [foreign(servicesAt(20))]);
  const spec = { weighted: { services: servicesAt(0) } };
  expect(taken?.spec).toEqual(spec);
  const added = { ...foreign([...servicesAt(20), old]), metadata: taken!.metadata };
  expect(traefik.objects(context, initialTraffic, [added])[0]?.spec).toEqual(spec);
});
