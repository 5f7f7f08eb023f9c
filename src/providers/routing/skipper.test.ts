import { expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { aContext, canaryFor, foundBy, initialTraffic } from './fixtures.test-support.ts';
import { skipper } from './skipper.ts';

const [ingress] = foundBy(skipper);
const context = aContext(canaryFor(skipper));
const at = (canaryWeight: number) => ({ ...initialTraffic, primaryWeight: 100 - canaryWeight, canaryWeight });

function withPredicate(predicate: string): KubernetesObject {
  const metadata = { ...ingress?.metadata, annotations: { 'zalando.org/skipper-predicate': predicate } };
  return { ...ingress, metadata } as KubernetesObject;
}

it('divides each path to the apex between both sides, and leaves other paths as they are', () => {
  const [written] = skipper.objects(context, at(20), [ingress as KubernetesObject]);

  const paths = (written as unknown as { spec: { rules: Array<{ http: { paths: object[] } }> } }).spec
    .rules[0]?.http.paths;
  expect(paths).toMatchObject([
    { path: '/', backend: { service: { name: 'podinfo-primary', port: { number: 9898 } } } },
    { path: '/', backend: { service: { name: 'podinfo-canary', port: { number: 9898 } } } },
    { path: '/old', backend: { service: { name: 'old' } } },
  ]);
  expect(written?.metadata.annotations).toMatchObject({
    'zalando.org/backend-weights': '{"podinfo-primary":80,"podinfo-canary":20}',
    'zalando.org/skipper-predicate': 'Weight(100)',
  });
});

it('is preferred to the Ingress of the users while the canary has a share, and never taken without one', () => {
  const users = withPredicate('Weight(100) && QueryParam("a")');
  const predicates = [20, 0].map((weight) => {
    const [written] = skipper.objects(context, at(weight), [users]);
    return written?.metadata.annotations?.['zalando.org/skipper-predicate'];
  });

  expect(predicates).toEqual(['Weight(100) && QueryParam("a")', 'False() && QueryParam("a")']);
});

it('leaves the weights of other Services of the Ingress as they are, and divides that of the apex', () => {
  const weightsAt = (weights: object | undefined, canaryWeight: number, live?: KubernetesObject) => {
    const annotations = { 'zalando.org/backend-weights': JSON.stringify(weights) };
    const users = { ...ingress, metadata: { ...ingress?.metadata, annotations } } as KubernetesObject;
    const [written] = skipper.objects(context, at(canaryWeight), live ? [live] : [users]);
    const text = written?.metadata.annotations?.['zalando.org/backend-weights'] ?? '';
    return { written, weights: JSON.parse(text) as object };
  };

  expect(weightsAt({ old: 90, older: 10 }, 20).weights).toEqual({
    old: 90,
    older: 10,
    'podinfo-primary': 80,
    'podinfo-canary': 20,
  });
  const shared = weightsAt({ podinfo: 70, old: 30 }, 20);
  expect(shared.weights).toEqual({ old: 30, 'podinfo-primary': 56, 'podinfo-canary': 14 });
  expect(skipper.read(context, [shared.written!])).toMatchObject({ canaryWeight: 20 });
  // Also after the users' Ingress was deleted.
  expect(weightsAt(undefined, 50, shared.written).weights).toEqual({
    old: 30,
    'podinfo-primary': 35,
    'podinfo-canary': 35,
  });
});
