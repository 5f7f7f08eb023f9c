import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { aCanary, aContext, anAbCanary, initialTraffic } from './fixtures.test-support.ts';
import { knative } from './knative.ts';

const canary = aCanary({
  provider: 'knative',
  targetRef: { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name: 'podinfo' },
});
const context = { ...aContext(canary), label: undefined };

/** Service podinfo, whose primary is the first of two revisions, as its controller has it. */
function aService(more: Record<string, unknown> = {}, generation = 1): KubernetesObject {
  return {
    apiVersion: 'serving.knative.dev/v1',
    kind: 'Service',
    metadata: {
      name: 'podinfo',
      namespace: 'shop',
      generation,
      annotations: { 'flagger.app/primary-revision': 'podinfo-00001' },
    },
    status: {
      observedGeneration: 1,
      latestCreatedRevisionName: 'podinfo-00002',
      traffic: [
        { latestRevision: true, revisionName: 'podinfo-00002', percent: 0 },
        { revisionName: 'podinfo-00001', percent: 100 },
      ],
      conditions: [{ type: 'RoutesReady', status: 'True' }],
      ...more,
    },
  };
}

/** The same with the traffic that was asked for. */
function taken(objects: readonly KubernetesObject[]): KubernetesObject {
  const { traffic } = (objects[0]?.spec ?? {}) as { traffic?: object[] };
  return aService({ traffic });
}

function at(canaryWeight: number) {
  return { ...initialTraffic, primaryWeight: 100 - canaryWeight, canaryWeight };
}

describe('the traffic of a Knative Service', () => {
  it.each([0, 1, 50, 99, 100])('reads back %i %% for the canary as it was written', (canaryWeight) => {
    const objects = knative.objects(context, at(canaryWeight), [aService()]);

    expect(knative.read(context, [taken(objects)])).toEqual({
      primaryWeight: 100 - canaryWeight,
      canaryWeight,
      mirrored: false,
      matched: false,
      accepted: true,
    });
  });

  it('names the revision that is tried, and nothing but the traffic of its Service', () => {
    expect(knative.objects(context, at(30), [aService()])).toEqual([
      {
        apiVersion: 'serving.knative.dev/v1',
        kind: 'Service',
        metadata: { name: 'podinfo', namespace: 'shop' },
        spec: {
          traffic: [
            { latestRevision: false, revisionName: 'podinfo-00002', percent: 30 },
            { latestRevision: false, revisionName: 'podinfo-00001', percent: 70 },
          ],
        },
      },
    ]);
  });

  it('goes to the newest revision when its Canary is deleted', () => {
    const metadata = { ...canary.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
    const [object] = knative.objects({ ...context, canary: { ...canary, metadata } }, at(100), [aService()]);

    expect(object?.spec).toMatchObject({ traffic: [{ latestRevision: true, percent: 100 }, { percent: 0 }] });
  });

  it('is not known before there is a primary, and not guessed without a status', () => {
    const without = { ...aService(), metadata: { name: 'podinfo', namespace: 'shop' } };

    expect(knative.read(context, [])).toBeUndefined();
    expect(knative.read(context, [without])).toBeUndefined();
    expect(knative.objects(context, at(0), [without])).toEqual([]);
    expect(knative.read(context, [aService({ traffic: undefined })])).toMatchObject({
      accepted: false,
      problem: expect.stringContaining('podinfo'),
    });
  });

  it('waits for Knative to take the current generation, and for its routes', () => {
    const conditions = [{ type: 'RoutesReady', status: 'Unknown', message: 'waiting for load balancer' }];

    expect(knative.read(context, [aService({}, 2)])).toMatchObject({
      accepted: false,
      problem: expect.stringContaining('generation 2'),
    });
    expect(knative.read(context, [aService({ conditions })])).toMatchObject({
      accepted: false,
      problem: expect.stringContaining('load balancer'),
    });
    expect(knative.read(context, [aService({ conditions: [] })])).toMatchObject({
      accepted: false,
      problem: expect.stringContaining('RoutesReady'),
    });
  });

  it.each([
    [50.5, 49.5],
    [50, 40],
  ])('refuses the weights %d and %d', (primaryWeight, canaryWeight) => {
    const target = { ...initialTraffic, primaryWeight, canaryWeight };
    expect(() => knative.objects(context, target, [aService()])).toThrow(RangeError);
  });

  it('cannot be that of an A/B test', () => {
    expect(knative.check(anAbCanary())).toMatchObject([{ severity: 'error', path: 'spec.analysis.match' }]);
    expect(knative.check(canary)).toEqual([]);
  });
});
