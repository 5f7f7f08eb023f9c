import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ServicePort } from '../../release/release.ts';
import { giveBackPatch, manifestForOwner, originalSpecPatch, takenOverService } from './existing-service.ts';

const marker = 'holdfast.dev/taken-over';
const selector = { app: 'web-primary' };
const http: ServicePort = { name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 };

function aService(ports: object[], taken?: string): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', ...(taken ? { annotations: { [marker]: taken } } : {}) },
    spec: { type: 'NodePort', selector: { app: 'web' }, ports },
  };
}

function portsOf({ spec }: KubernetesObject): unknown {
  return (spec as { ports?: unknown }).ports;
}

describe('a Service that is taken over', () => {
  it('gets the ports of the Canary and says which', () => {
    const { metadata, spec } = takenOverService(aService([{ name: 'http', port: 80 }]), [http], selector);

    expect(spec).toEqual({ ports: [http], selector });
    expect(metadata.annotations).toMatchObject({ [marker]: '80/TCP' });
  });

  it('keeps the ports that the Canary does not declare (flagger 1345)', () => {
    const live = aService([
      { name: 'metrics', port: 9090 },
      { name: 'dns', port: 80, protocol: 'UDP' },
    ]);

    expect(portsOf(takenOverService(live, [http], selector))).toEqual([http]);
  });

  it('gives its only port without a name one, since it is not alone any more', () => {
    const wanted = takenOverService(aService([{ port: 8443 }]), [http], selector);

    expect(portsOf(wanted)).toEqual([http, { port: 8443, protocol: 'TCP', name: 'tcp-8443' }]);
  });

  it('goes on doing so while that port is there', () => {
    const live = aService([http, { port: 8443, protocol: 'TCP', name: 'tcp-8443' }], '80/TCP');

    expect(portsOf(takenOverService(live, [http], selector))).toContainEqual({
      port: 8443,
      protocol: 'TCP',
      name: 'tcp-8443',
    });
  });

  it("gives the Canary's port another name where the name is taken", () => {
    const wanted = takenOverService(aService([{ name: 'http', port: 8080 }]), [http], selector);

    expect(portsOf(wanted)).toEqual([{ ...http, name: 'http-80' }]);
  });

  it('leaves a port that the Canary had and has no more to whoever keeps it, with its name', () => {
    const keptBy = (manager: string): KubernetesObject => {
      const live = aService([http], '80/TCP');
      const fields = { 'f:ports': { 'k:{"port":80,"protocol":"TCP"}': { 'f:name': {} } } };
      return {
        ...live,
        metadata: { ...live.metadata, managedFields: [{ manager, fieldsV1: { 'f:spec': fields } }] },
      };
    };
    const other = { ...http, port: 90 };

    expect(portsOf(takenOverService(keptBy('kubectl'), [other], selector))).toEqual([
      { ...other, name: 'http-90' },
    ]);
    expect(portsOf(takenOverService(keptBy('holdfast-rollout'), [other], selector))).toEqual([other]);
  });

  it('drops a port that the Canary had and has no more', () => {
    const live = aService([http], '80/TCP');

    expect(portsOf(takenOverService(live, [{ ...http, port: 81 }], selector))).toEqual([
      { ...http, port: 81 },
    ]);
  });

  it('is given back without the annotations that say so', () => {
    expect(giveBackPatch(aService([http]))).toBeUndefined();
    expect(giveBackPatch(aService([http], '80/TCP'))).toEqual({
      [marker]: null,
      'flagger.kubernetes.io/original-configuration': null,
      'holdfast.dev/applied': null,
      'helm.toolkit.fluxcd.io/driftDetection': null,
      'kustomize.toolkit.fluxcd.io/reconcile': null,
    });
  });
});

describe('a route that is handed back', () => {
  const route = (annotations: Record<string, string>, spec: object = { http: [2], hosts: ['web'] }) => ({
    apiVersion: 'networking.istio.io/v1beta1',
    kind: 'VirtualService',
    metadata: { name: 'web', annotations },
    spec,
  });
  const taken = { 'holdfast.dev/taken-over': 'spec' };
  const original = (text: string) => ({ 'flagger.kubernetes.io/original-configuration': text });

  it('gets its original spec, without what was added to it', () => {
    const live = route({ ...taken, ...original('{"http":[1],"exportTo":["."]}') });
    expect(originalSpecPatch(live)).toEqual({ http: [1], exportTo: ['.'], hosts: null });
  });

  it.each([
    ['it was not saved', route(taken)],
    ['it is not JSON', route({ ...taken, ...original('{') })],
    ['it is no object', route({ ...taken, ...original('[1]') })],
    ['it was not taken over', route(original('{"http":[1]}'))],
  ])('stays as it is where %s', (_, live) => {
    expect(originalSpecPatch(live)).toBeUndefined();
  });
});

describe('what is left to who applies an object', () => {
  const manifest = aService([
    { name: 'http', port: 80 },
    { name: 'metrics', port: 9090 },
  ]);

  it('is all of it while no other tool writes it', () => {
    expect(manifestForOwner(manifest, undefined)).toBe(manifest);
    expect(manifestForOwner(manifest, aService([http]))).toBe(manifest);
  });

  it("is all but the selector and the Canary's ports of a Service that was taken over", () => {
    expect(manifestForOwner(manifest, aService([http], '80/TCP')).spec).toEqual({
      type: 'NodePort',
      ports: [{ name: 'metrics', port: 9090 }],
    });
    expect(manifestForOwner(aService([{ port: 80 }]), aService([http], '80/TCP')).spec).toEqual({
      type: 'NodePort',
    });
  });

  it('is all but the selector while Argo Rollouts writes its hash into that', () => {
    const held = (annotation: boolean, hash: boolean) => {
      const live = aService([http]);
      const annotations = annotation ? { 'argo-rollouts.argoproj.io/managed-by-rollouts': 'web' } : {};
      const selector = { app: 'web', ...(hash ? { 'rollouts-pod-template-hash': 'abc' } : {}) };
      return { ...live, metadata: { ...live.metadata, annotations }, spec: { selector } };
    };
    const { selector: _, ...others } = manifest.spec as { selector: unknown };

    expect(manifestForOwner(manifest, held(true, true)).spec).toEqual(others);
    expect(manifestForOwner(manifest, held(true, false))).toBe(manifest);
    expect(manifestForOwner(manifest, held(false, true))).toBe(manifest);
  });

  it("is not the Canary's port under another number, until the rollout has written that: its name is taken", () => {
    const changed = (name?: string) => aService([{ ...(name ? { name } : {}), port: 90 }]);
    const before = aService([http, { name: 'metrics', port: 9090 }], '80/TCP');
    const promoted = aService([{ ...http, port: 90 }], '90/TCP');

    for (const manifest of [changed('http'), changed()])
      for (const live of [before, promoted])
        expect(manifestForOwner(manifest, live).spec).toEqual({ type: 'NodePort' });
  });

  it("is a port of its own beside the Canary's, under a name that is free", () => {
    const live = aService(
      [
        { ...http, name: 'http-80' },
        { name: 'http', port: 8080 },
      ],
      '80/TCP',
    );

    expect(portsOf(manifestForOwner(aService([{ port: 8080 }]), live))).toEqual([{ port: 8080 }]);
    expect(portsOf(manifestForOwner(aService([{ name: 'http', port: 8081 }]), live))).toEqual([
      { name: 'http', port: 8081 },
    ]);
  });

  it('is the metadata of a route, and of a Service all but selector and ports while it counts as generated', () => {
    const route = { apiVersion: 'x/v1', kind: 'HTTPRoute', metadata: { name: 'web' }, spec: { rules: [] } };
    const live = { ...route, metadata: { name: 'web', labels: { 'holdfast.dev/canary': 'web' } } };
    const generated = { ...aService([http]), metadata: live.metadata };

    expect(manifestForOwner(route, live)).toEqual({
      apiVersion: 'x/v1',
      kind: 'HTTPRoute',
      metadata: { name: 'web' },
    });
    expect(manifestForOwner(aService([http]), generated).spec).toEqual({ type: 'NodePort' });
  });
});
