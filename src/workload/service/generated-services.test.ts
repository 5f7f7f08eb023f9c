import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { aCanary } from '../shared/fixtures.test-support.ts';
import { generatedServices, type ServiceSource } from './generated-services.ts';

const port = { name: 'http', protocol: 'TCP', port: 9898, targetPort: 'http', appProtocol: 'http' };

function aSource(changes: Partial<ServiceSource> = {}): ServiceSource {
  return {
    canary: aCanary(),
    label: { key: 'app', canary: 'podinfo', primary: 'podinfo-primary' },
    ports: [port],
    canaryPorts: [{ ...port, port: 8080 }],
    apexSelects: 'primary',
    live: {},
    ...changes,
  };
}

function expected(name: string, selects: string, number: number): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: 'shop',
      labels: { app: name, 'holdfast.dev/canary': 'podinfo' },
      annotations: {
        'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
        'argocd.argoproj.io/sync-options': 'Prune=false',
        'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
        'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
      },
      ownerReferences: [
        {
          apiVersion: 'flagger.app/v1beta1',
          kind: 'Canary',
          name: 'podinfo',
          uid: 'canary-uid',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec: { type: 'ClusterIP', ports: [{ ...port, port: number }], selector: { app: selects } },
  };
}

describe('the generated Services', () => {
  it('are apex, primary and canary, each with the ports of what it selects', () => {
    expect(generatedServices(aSource())).toEqual({
      apex: expected('podinfo', 'podinfo-primary', 9898),
      primary: expected('podinfo-primary', 'podinfo-primary', 9898),
      canary: expected('podinfo-canary', 'podinfo', 8080),
    });
  });

  it('give the apex the ports of the release that it selects', () => {
    const { apex, primary } = generatedServices(aSource({ apexSelects: 'canary' }));

    expect(apex).toEqual(expected('podinfo', 'podinfo', 8080));
    expect(primary).toEqual(expected('podinfo-primary', 'podinfo-primary', 9898));
  });

  it('leave the canary Service alone without its ports, and let the apex follow the traffic', () => {
    const { apex, canary } = generatedServices(aSource({ canaryPorts: undefined, apexSelects: 'canary' }));

    expect(apex).toEqual(expected('podinfo', 'podinfo', 9898));
    expect(canary).toBeUndefined();
  });

  it('carry what the Canary asks for', () => {
    const canary = aCanary({
      service: {
        name: 'shop-front',
        port: 9898,
        headless: true,
        trafficDistribution: 'PreferClose',
        primary: { labels: { team: 'store' }, annotations: { note: 'x' } },
      },
    });

    const { apex, primary } = generatedServices(aSource({ canary }));

    expect(apex.metadata.name).toBe('shop-front');
    expect(primary.metadata).toMatchObject({
      name: 'shop-front-primary',
      labels: { team: 'store', app: 'shop-front-primary' },
      annotations: { note: 'x', 'kustomize.toolkit.fluxcd.io/reconcile': 'disabled' },
    });
    expect(primary.spec).toMatchObject({ clusterIP: 'None', trafficDistribution: 'PreferClose' });
  });

  it('are taken over with ports and selector if another tool created one', () => {
    const live: KubernetesObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'podinfo', namespace: 'shop', labels: { team: 'store' } },
      spec: { type: 'LoadBalancer' },
    };

    const { apex } = generatedServices(aSource({ live: { apex: live } }));

    expect(apex).toEqual({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'podinfo',
        namespace: 'shop',
        annotations: {
          'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
          'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
          'holdfast.dev/taken-over': '9898/TCP',
        },
      },
      spec: { ports: [port], selector: { app: 'podinfo-primary' } },
    });
  });

  it('become those of a new Canary of the same name when they were handed back before', () => {
    const { ownerReferences: _, ...metadata } = expected('podinfo', 'podinfo', 9898).metadata;
    const live = { ...expected('podinfo', 'podinfo', 9898), metadata };

    expect(generatedServices(aSource({ live: { apex: live } })).apex).toEqual(
      expected('podinfo', 'podinfo-primary', 9898),
    );
  });

  it('are refused where a Service of type ExternalName has the name', () => {
    const live = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'podinfo' },
      spec: { type: 'ExternalName' },
    };

    expect(() => generatedServices(aSource({ live: { apex: live } }))).toThrow(
      'spec.targetRef.name: Service podinfo exists',
    );
  });

  it('keep the present value of metadata that belongs to others, and do not turn headless later', () => {
    const canary = aCanary({
      service: {
        port: 9898,
        headless: true,
        apex: { annotations: { pool: 'green' } },
        unmanagedMetadata: { annotations: ['pool', 'foreign'], labels: ['absent'] },
      },
    });
    const first = generatedServices(aSource({ canary })).apex;
    const live = {
      ...first,
      metadata: { ...first.metadata, annotations: { pool: 'blue', foreign: 'x' } },
      spec: { clusterIP: '10.0.0.1' },
    };

    const { apex } = generatedServices(aSource({ canary, live: { apex: live } }));

    expect(apex.metadata.annotations).toMatchObject({ pool: 'blue' });
    expect(apex.metadata.annotations).not.toHaveProperty('foreign');
    expect(apex.spec).not.toHaveProperty('clusterIP');
  });

  it('are refused when their names would be too long', () => {
    const canary = aCanary({ service: { name: 'x'.repeat(56), port: 80 } });

    expect(() => generatedServices(aSource({ canary }))).toThrow('spec.service.name: is too long');
  });

  it('are refused without a port, and where another controller owns one', () => {
    const owned = expected('podinfo-canary', 'x', 1);
    owned.metadata.ownerReferences = [
      { apiVersion: 'flagger.app/v1beta1', kind: 'Canary', name: 'other', uid: 'other', controller: true },
    ];

    expect(() => generatedServices(aSource({ ports: [] }))).toThrow(
      'Canary shop/podinfo: spec.service.port: is required',
    );
    expect(() => generatedServices(aSource({ live: { canary: owned } }))).toThrow('belongs to Canary other');
  });
});
