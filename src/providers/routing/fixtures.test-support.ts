/** Objects that the tests of this folder start from. */
import type { Canary, CanarySpec } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { RouteTarget } from '../../api/observed.ts';
import type { RouteContext } from '../../contracts/routing.ts';
import type { RoutingProvider } from './router.ts';

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
  return { ...object, metadata, ...acceptance(object, generation) };
}

function acceptance(object: KubernetesObject, observedGeneration: number): { status?: object } {
  const condition = { status: 'True', reason: 'Valid', message: '', observedGeneration };
  switch (object.kind) {
    case 'HTTPProxy':
      return { status: { currentStatus: 'valid', conditions: [{ ...condition, type: 'Valid' }] } };
    case 'HTTPRoute': {
      const { parentRefs } = object.spec as { parentRefs: object[] };
      const conditions = ['Accepted', 'ResolvedRefs'].map((type) => ({ ...condition, type }));
      return { status: { parents: parentRefs.map((parentRef) => ({ parentRef, conditions })) } };
    }
    default:
      return isKnative(object) ? { status: knativeStatus(object, observedGeneration) } : {};
  }
}

function isKnative({ apiVersion }: KubernetesObject): boolean {
  return apiVersion === 'serving.knative.dev/v1';
}

function knativeStatus({ spec }: KubernetesObject, observedGeneration: number): object {
  const { traffic } = spec as { traffic: object[] };
  const latestCreatedRevisionName = 'podinfo-00002';
  return {
    ...{ observedGeneration, latestCreatedRevisionName, traffic },
    conditions: [{ type: 'RoutesReady', status: 'True' }],
  };
}

/** What a router finds before it has written anything: nothing, or the target that divides the requests itself, between two revisions. */
export function foundBy({ isTarget }: RoutingProvider): KubernetesObject[] {
  const annotations = { 'flagger.app/primary-revision': 'podinfo-00001' };
  const target = {
    apiVersion: 'serving.knative.dev/v1',
    kind: 'Service',
    metadata: { name: 'podinfo', namespace: 'shop', annotations },
    spec: { traffic: [{ latestRevision: false, revisionName: 'podinfo-00001', percent: 100 }] },
  };
  return isTarget ? [acceptedBy(target)] : [];
}

/** The same objects after this traffic was written: their generation is a new one, which nobody has answered to. */
export function writtenOver(
  live: readonly KubernetesObject[],
  written: readonly KubernetesObject[],
  generation: number,
): KubernetesObject[] {
  return written.map((object) => {
    const before = live.find(({ kind }) => kind === object.kind);
    const metadata = { ...before?.metadata, ...object.metadata, generation };
    return { ...object, metadata, ...(before?.status ? { status: before.status } : {}) };
  });
}
