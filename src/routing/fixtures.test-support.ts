/** Objects that the tests of this folder start from. */
import type { Canary, CanarySpec } from '../api/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { RouteTarget } from '../api/observed.ts';
import type { RouteContext } from './router.ts';

/** The first traffic of a new Canary. */
export const initialTraffic: RouteTarget = {
  primaryWeight: 100,
  canaryWeight: 0,
  mirrored: false,
  matched: false,
};

/** A Canary that every provider can route. */
export function aCanary(spec: Partial<CanarySpec> = {}): Canary {
  return {
    apiVersion: 'flagger.app/v1beta1',
    kind: 'Canary',
    metadata: { name: 'podinfo', namespace: 'shop', uid: 'canary-uid' },
    spec: {
      targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
      service: { port: 9898, gatewayRefs: [{ name: 'public', namespace: 'infra' }] },
      analysis: { interval: '10s', threshold: 2, stepWeight: 20 },
      ...spec,
    },
  };
}

/** The same with an A/B test on one header. */
export function anAbCanary(): Canary {
  return aCanary({
    analysis: {
      interval: '10s',
      threshold: 2,
      iterations: 3,
      match: [{ headers: { 'x-user': { exact: 'insider' } } }],
    },
  });
}

/** The context of a Canary whose pods are labelled app=podinfo. */
export function aContext(canary: Canary = aCanary()): RouteContext {
  return {
    canary,
    names: { apex: 'podinfo', primary: 'podinfo-primary', canary: 'podinfo-canary' },
    label: { key: 'app', primary: 'podinfo-primary', canary: 'podinfo' },
    apex: {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'podinfo', namespace: 'shop' },
      spec: { type: 'ClusterIP', ports: [{ port: 9898 }], selector: { app: 'podinfo-primary' } },
    },
  };
}

/** What a route's own controller writes when it takes a configuration. */
export function acceptedBy(object: KubernetesObject, generation = 1): KubernetesObject {
  const metadata = { ...object.metadata, generation };
  const condition = { status: 'True', reason: 'Valid', message: '', observedGeneration: generation };
  if (object.kind === 'HTTPProxy')
    return {
      ...object,
      metadata,
      status: { currentStatus: 'valid', conditions: [{ ...condition, type: 'Valid' }] },
    };
  if (object.kind !== 'HTTPRoute') return { ...object, metadata };
  const { parentRefs } = object.spec as { parentRefs: object[] };
  const conditions = [
    { ...condition, type: 'Accepted' },
    { ...condition, type: 'ResolvedRefs' },
  ];
  return {
    ...object,
    metadata,
    status: { parents: parentRefs.map((parentRef) => ({ parentRef, conditions })) },
  };
}
