import { describe, expect, it } from 'vitest';
import { type KubernetesObject, partOfLabel } from '../../api/kubernetes.ts';
import { canaryObjects, primaryObjects } from '../kinds.ts';
import { aSlice } from '../pods/endpoints.test-support.ts';
import { aCanary, aPrimarySource, aRelease } from '../shared/fixtures.test-support.ts';
import { RefusedError } from '../shared/refusal.ts';
import { service } from './service.ts';

const canary = aCanary({ targetRef: { apiVersion: 'v1', kind: 'Service', name: 'podinfo' } });

function aService(): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'podinfo',
      namespace: 'shop',
      labels: { team: 'store' },
      annotations: {
        'projectcontour.io/upstream-protocol.h2c': '9898',
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
      },
    },
    spec: {
      type: 'LoadBalancer',
      clusterIP: '10.0.0.7',
      externalTrafficPolicy: 'Local',
      selector: { app: 'podinfo', version: 'two' },
      ports: [{ name: 'http', port: 9898, nodePort: 30_123 }],
    },
  };
}

const release = { ...aRelease(aService()), ports: [], configs: [], liveConfigs: [] };
const source = aPrimarySource({
  canary,
  release,
  settings: {},
  liveConfigs: [],
  includeLabelPrefixes: ['team'],
});

function pod(labels: Record<string, string>, ready = 'True'): KubernetesObject {
  const status = { conditions: [{ type: 'Ready', status: ready }] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'shop', uid: 'p', labels },
    status,
  };
}

const http = { name: 'http', protocol: 'TCP', port: 9898 };

function viewOf(
  workload: KubernetesObject,
  pods: readonly KubernetesObject[],
  endpointSlices = [aSlice('podinfo-canary', [http], [{ uid: 'p' }])],
) {
  const others = { replicaSets: [], controllerRevisions: [], service: undefined, endpointSlices };
  return service.view({ workload, pods, routePort: 9898, ...others });
}

describe('the copies of a Service', () => {
  it('have its ports and selector, and nothing that only one object can have', () => {
    const { workload: primary } = primaryObjects(source);
    const { workload: copy } = canaryObjects({ ...source, replicas: 1 });

    expect([primary.metadata.name, copy.metadata.name]).toEqual(['podinfo-primary', 'podinfo-canary']);
    for (const { spec } of [primary, copy])
      expect(spec).toEqual({
        type: 'ClusterIP',
        selector: { app: 'podinfo', version: 'two' },
        ports: [{ name: 'http', protocol: 'TCP', port: 9898, targetPort: 9898 }],
      });
  });

  it('are owned by the Canary, with labels by prefix and the annotations that routers read', () => {
    const { metadata } = primaryObjects(source).workload;

    expect(metadata.ownerReferences).toMatchObject([{ kind: 'Canary', controller: true }]);
    expect(metadata.labels).toEqual({ team: 'store', 'holdfast.dev/canary': 'podinfo' });
    expect(metadata.annotations).toMatchObject({
      'projectcontour.io/upstream-protocol.h2c': '9898',
      'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
      'holdfast.dev/digest': release.digest,
    });
    expect(metadata.annotations).not.toHaveProperty(['kubectl.kubernetes.io/last-applied-configuration']);
  });

  it('have on the side of the canary the labels of the original, by which a ServiceMonitor finds it', () => {
    const labels = { team: 'store', app: 'podinfo', 'kustomize.toolkit.fluxcd.io/name': 'shop' };
    const original = aService();
    const labelled = { ...original, metadata: { ...original.metadata, labels } };

    const { workload } = canaryObjects({ ...source, release: { ...release, target: labelled } });

    expect(workload.metadata.labels).toEqual({
      team: 'store',
      app: 'podinfo',
      'holdfast.dev/canary': 'podinfo',
    });
  });

  it('carry the metadata that the Canary asks for', () => {
    const custom = { primary: { labels: { side: 'p' } }, canary: { annotations: { side: 'c' } } };
    const asking = {
      ...source,
      canary: { ...canary, spec: { ...canary.spec, service: { port: 9898, ...custom } } },
    };

    expect(primaryObjects(asking).workload.metadata.labels).toMatchObject({ side: 'p' });
    expect(canaryObjects(asking).workload.metadata.annotations).toMatchObject({ side: 'c' });
  });

  it.each([
    ['a Source applies', { labels: { [partOfLabel]: 'applyset-1' } }, 'NameTaken'],
    [
      'another owner has',
      { ownerReferences: [{ apiVersion: 'v1', kind: 'Shop', name: 's', uid: 'u', controller: true }] },
      'OwnedByAnother',
    ],
  ])('do not take the place of a Service that %s', (_, metadata, reason) => {
    const { workload } = primaryObjects(source);
    const live = { ...workload, metadata: { name: 'podinfo-primary', namespace: 'shop', ...metadata } };
    const act = () => primaryObjects({ ...source, live });

    expect(act).toThrow(RefusedError);
    expect(act).toThrow(expect.objectContaining({ refusal: expect.objectContaining({ reason }) }));
  });

  it('are refused under a name that is too long for a Service', () => {
    const name = 'p'.repeat(60);
    const spec = { ...canary.spec, targetRef: { ...canary.spec.targetRef, name } };
    const target = { ...aService(), metadata: { name, namespace: 'shop' } };
    const long = { ...source, canary: { ...canary, spec }, release: { ...release, target } };

    expect(() => canaryObjects(long)).toThrow(/must fit in 63 characters/);
  });
});

describe('what a rollout sees of a Service', () => {
  const copy = canaryObjects({ ...source, replicas: 1 }).workload;
  const selected = { app: 'podinfo', version: 'two', more: 'labels' };

  it('is ready as long as it selects a pod that is', () => {
    expect(viewOf(copy, [pod(selected)])).toMatchObject({
      desiredReplicas: 1,
      updatedReadyReplicas: 1,
      faults: [],
    });
    expect(viewOf(copy, [pod(selected, 'False'), pod({ app: 'podinfo' })])).toMatchObject({
      desiredReplicas: 1,
      readyReplicas: 0,
      faults: [{ reason: 'NoPodSelected', message: expect.stringContaining('version=two') }],
    });
  });

  it('is not ready while no pod that it selects has the port of the route; other ports do not count', () => {
    const other = aSlice('podinfo-canary', [{ ...http, name: 'other' }], [{ uid: 'p' }]);
    const more = { name: 'metrics', protocol: 'TCP', port: 9102, targetPort: 'metrics' };
    const ports = [...(copy.spec as { ports: object[] }).ports, more];

    expect(viewOf(copy, [pod(selected)], [other])).toMatchObject({
      readyReplicas: 0,
      faults: [
        { reason: 'NoPodSelected', message: expect.stringContaining('none is an endpoint of the port') },
      ],
    });
    expect(
      viewOf({ ...copy, spec: { ...(copy.spec as object), ports } }, [pod(selected)]).readyReplicas,
    ).toBe(1);
  });

  it('is ready without ready pods where it says so, and without pods where it is a name outside', () => {
    const spec = { ...(copy.spec as object), publishNotReadyAddresses: true };
    const outside = { ...copy, spec: { type: 'ExternalName', externalName: 'pay.example.com' } };

    expect(viewOf({ ...copy, spec }, [pod(selected, 'False')]).readyReplicas).toBe(1);
    expect(viewOf(outside, []).readyReplicas).toBe(1);
  });

  it('rests by an annotation, since there is nothing to scale', () => {
    const atRest = canaryObjects({ ...source, replicas: 0 }).workload;

    expect(viewOf(atRest, [pod(selected)])).toMatchObject({
      desiredReplicas: 0,
      readyReplicas: 0,
      faults: [],
    });
    expect(service.scalePatch(atRest, 0)).toBeUndefined();
    expect(service.scalePatch(atRest, 1)).toEqual({
      metadata: { annotations: { 'holdfast.dev/at-rest': 'false' } },
    });
    expect(service.scalePatch(copy, 1)).toBeUndefined();
  });
});
