import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { buildRelease } from '../../release/build.ts';
import { canaryObjects, readSides } from '../kinds.ts';
import { aCanary, aPrimarySource, aRelease } from '../shared/fixtures.test-support.ts';
import {
  knative,
  primaryAnnotations,
  primarySide,
  recordedRevision,
  withoutPrimaryAnnotations,
} from './knative.ts';

const targetRef = { apiVersion: 'serving.knative.dev/v1', kind: 'Service' as const, name: 'podinfo' };
const canary = aCanary({ provider: 'knative', targetRef });

/** Service podinfo, whose newest revision is the second one. */
function aService(annotations: Record<string, string> = {}, generation = 1): KubernetesObject {
  return {
    apiVersion: 'serving.knative.dev/v1',
    kind: 'Service',
    metadata: { name: 'podinfo', namespace: 'shop', uid: 'u', resourceVersion: '7', generation, annotations },
    spec: {
      template: {
        spec: { containers: [{ image: 'podinfo:2' }], volumes: [{ configMap: { name: 'settings' } }] },
      },
      traffic: [{ latestRevision: true, percent: 100 }],
    },
    status: { observedGeneration: 1, latestCreatedRevisionName: 'podinfo-00002' },
  };
}

function revision(name: string, ready: Record<string, string> = { status: 'True' }): KubernetesObject {
  const status = { conditions: [{ type: 'Ready', ...ready }] };
  return { apiVersion: 'serving.knative.dev/v1', kind: 'Revision', metadata: { name }, status };
}

function viewOf(
  workload: KubernetesObject,
  side: 'canary' | 'primary',
  revisions: readonly KubernetesObject[],
) {
  const none = { pods: [], replicaSets: [], controllerRevisions: [], service: undefined };
  return knative.view({ workload, side, revisions, ...none });
}

describe('a release of a Knative Service', () => {
  const input = { canary, commit: aRelease().commit, secretKey: new Uint8Array(32), origins: [] };
  const built = buildRelease({ ...input, target: aService(), configs: [] });

  it('is its template: neither ports nor config nor traffic', () => {
    const other = aService();
    const spec = { ...(other.spec as object), traffic: [{ revisionName: 'podinfo-00001', percent: 100 }] };

    expect(built.ok).toMatchObject({ ports: [], configs: [], liveConfigs: [] });
    expect(buildRelease({ ...input, target: { ...other, spec }, configs: [] }).ok?.digest).toBe(
      built.ok?.digest,
    );
  });

  it('is written without the traffic, which is the route', () => {
    const release = { ...aRelease(aService()), ports: [], configs: [], liveConfigs: [] };
    const source = aPrimarySource({ canary, release, settings: {}, liveConfigs: [], replicas: 0 });
    const { workload } = canaryObjects(source);

    expect(workload.spec).not.toHaveProperty('traffic');
    expect(workload.metadata.annotations).toMatchObject({ 'holdfast.dev/at-rest': 'true' });
  });
});

describe('the two sides of a Knative Service', () => {
  const marks = primaryAnnotations(aService(), { digest: 'v1:a', revision: 'podinfo-00001' });
  const live = aService({ ...marks, 'holdfast.dev/digest': 'v1:b' });

  it('are one object, whose annotations say which revision is the primary and what it was made from', () => {
    const sides = readSides(canary, () => live);

    expect(sides.target?.metadata.annotations?.['holdfast.dev/digest']).toBe('v1:b');
    expect(sides.primary?.metadata.annotations?.['holdfast.dev/digest']).toBe('v1:a');
    expect(primarySide(aService({ 'holdfast.dev/digest': 'v1:b' }))).toBeUndefined();
  });

  it('are ready when their revisions are', () => {
    const revisions = [revision('podinfo-00001'), revision('podinfo-00002', { status: 'Unknown' })];

    expect(viewOf(live, 'primary', revisions)).toMatchObject({
      name: 'podinfo-00001',
      updatedReadyReplicas: 1,
    });
    expect(viewOf(live, 'canary', revisions)).toMatchObject({
      name: 'podinfo-00002',
      updatedReadyReplicas: 0,
    });
  });

  it('say why a revision fails, in words of Knative', () => {
    const failed = { status: 'False', reason: 'ContainerMissing', message: 'image not found' };
    const seen = viewOf(live, 'canary', [revision('podinfo-00002', failed)]);

    expect(seen.faults).toEqual([
      { pod: 'podinfo-00002', container: undefined, reason: 'ContainerMissing', message: 'image not found' },
    ]);
  });

  it('wait for Knative to see a change, while what is there serves on', () => {
    const changed = { ...live, metadata: { ...live.metadata, generation: 2 } };
    const seen = viewOf(changed, 'canary', [revision('podinfo-00002')]);

    expect(seen).toMatchObject({ observed: false, readyReplicas: 1 });
  });

  it('remember the revisions of a few releases, and nothing once the Canary is gone', () => {
    const digests = ['v1:b', 'v1:c', 'v1:d', 'v1:e', 'v1:f'];
    const last = digests.reduce(
      (service, digest, index) =>
        aService(primaryAnnotations(service, { digest, revision: `podinfo-0000${index + 2}` })),
      aService(marks),
    );

    expect(recordedRevision(last, 'v1:f')).toBe('podinfo-00006');
    expect(recordedRevision(last, 'v1:b')).toBe('podinfo-00002');
    expect(recordedRevision(last, 'v1:a')).toBeUndefined();
    expect(recordedRevision(aService({ 'holdfast.dev/revisions': 'no JSON' }), 'v1:a')).toBeUndefined();
    expect(withoutPrimaryAnnotations(live)).toMatchObject({
      'flagger.app/primary-revision': null,
      'holdfast.dev/digest': null,
    });
    expect(withoutPrimaryAnnotations(aService())).toBeUndefined();
  });
});
