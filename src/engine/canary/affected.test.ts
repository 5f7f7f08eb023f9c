import { describe, expect, it, test } from 'vitest';
import { type KubernetesObject, ownLabels } from '../../api/kubernetes.ts';
import { keyIn, keysOfCanary, keysOfObject, mayName } from './affected.ts';

function canaryNamed(name: string): KubernetesObject {
  const spec = { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } };
  return { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', metadata: { name, namespace: 'shop' }, spec };
}

function copyFor(kind: string, canary: KubernetesObject): KubernetesObject {
  const metadata = { name: 'settings-primary', namespace: 'shop', labels: ownLabels(canary) };
  return { apiVersion: 'v1', kind, metadata };
}

const start = `${'a'.repeat(62)}-`;
const [one, other] = [canaryNamed(`${start}one`), canaryNamed(`${start}other`)];

function affects(object: KubernetesObject, canary: KubernetesObject): boolean {
  return keysOfObject(object).some((key) => keysOfCanary(canary).includes(keyIn('shop', key)));
}

describe('a changed object', () => {
  it.each(['ConfigMap', 'Secret'])('that is a copy of a %s matters to the Canary it was made for', (kind) => {
    expect(affects(copyFor(kind, canaryNamed('web')), canaryNamed('web'))).toBe(true);
    expect(affects(copyFor(kind, canaryNamed('web')), canaryNamed('shop'))).toBe(false);
  });

  it.each(['ConfigMap', 'Secret'])(
    'that is a copy of a %s matters to a Canary whose name is longer than a label, and to no other of that start',
    (kind) => {
      expect(affects(copyFor(kind, one), one)).toBe(true);
      expect(affects(copyFor(kind, one), other)).toBe(false);
    },
  );

  it.each([
    ['web-6d5b2448f9', 'Deployment', true],
    ['api-6d5b2448f9', 'Deployment', false],
    ['api-6d5b2448f9', 'Service', true],
  ])('that is a Pod of ReplicaSet %s matters to a Canary with target %s web: %s', (owner, kind, matters) => {
    const canary = { ...canaryNamed('web'), spec: { targetRef: { kind, name: 'web' } } };
    const ownerReferences = [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: owner, controller: true },
    ];
    const metadata = { name: `${owner}-x2x4z`, namespace: 'shop', ownerReferences };
    expect(affects({ apiVersion: 'v1', kind: 'Pod', metadata }, canary)).toBe(matters);
  });

  it.each([
    ['Ingress', 'ingressRef'],
    ['ApisixRoute', 'routeRef'],
    ['Upstream', 'upstreamRef'],
  ])('that is the %s of spec.%s matters', (kind, field) => {
    const canary = canaryNamed('web');
    const named = { ...canary, spec: { ...(canary.spec as object), [field]: { kind, name: 'front' } } };
    const object = { apiVersion: 'v1', kind, metadata: { name: 'front', namespace: 'shop' } };

    expect(affects(object, named)).toBe(true);
    expect(affects(object, canary)).toBe(false);
  });

  it.each([
    ['web-primary', true],
    ['web-canary', true],
    ['web', false],
    ['other-primary', false],
  ])('that is an EndpointSlice of Service %s matters by its Service: %s', (service, matters) => {
    const labels = { 'kubernetes.io/service-name': service };
    const metadata = { name: `${service}-x2x4z`, namespace: 'shop', labels };
    const slice = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata };
    expect(affects(slice, canaryNamed('web'))).toBe(matters);
  });
});

describe('a changed MetricTemplate', () => {
  const templateIn = (namespace: string, name: string): KubernetesObject => {
    return { apiVersion: 'flagger.app/v1beta1', kind: 'MetricTemplate', metadata: { name, namespace } };
  };
  const canary = (templateRef: object): KubernetesObject => {
    const analysis = { interval: '1m', metrics: [{ name: 'errors', templateRef }] };
    return { ...canaryNamed('web'), spec: { analysis } };
  };

  it.each([
    ['of its namespace that it names', true, templateIn('shop', 'errors'), { name: 'errors' }],
    ['of its namespace that it does not name', false, templateIn('shop', 'other'), { name: 'errors' }],
    ['that it names with its namespace', true, templateIn('all', '1m'), { name: '1m', namespace: 'all' }],
    ['of another namespace', false, templateIn('bank', '1m'), { name: 'errors' }],
  ])('%s matters to a Canary: %s', (_, matters, template, templateRef) => {
    expect(mayName(canary(templateRef), template)).toBe(matters);
  });
});

test('a template that changes again and again has the spec of each Canary put into words once', () => {
  let texts = 0;
  const canaries = Array.from({ length: 20 }, (_, index) => {
    const { spec, ...canary } = canaryNamed(`web-${index}`);
    const toJSON = () => {
      texts += 1;
      return spec;
    };
    return { ...canary, spec: { ...(spec as object), toJSON } };
  });
  const metadata = { name: 'errors', namespace: 'shop' };
  const template = { apiVersion: 'flagger.app/v1beta1', kind: 'MetricTemplate', metadata };

  for (let change = 0; change < 100; change += 1)
    expect(canaries.some((canary) => mayName(canary, template))).toBe(false);

  expect(texts).toBe(canaries.length);
});
