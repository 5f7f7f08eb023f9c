import { describe, expect, it } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import { aSlice } from '../pods/endpoints.test-support.ts';
import { podFacts } from '../pods/pod-facts.ts';
import type { Pod } from '../pods/pods.ts';
import { aDeployment, aPod, containerStatus, viewOf } from './deployment.test-support.ts';

describe('the facts about the pods of a Deployment', () => {
  const pulled = (imageID: string) => containerStatus({ running: {} }, { ready: true, imageID });

  it('show when one image name is two images', () => {
    const pods = [
      aPod({ name: 'podinfo-primary-new-1', status: { ...pulled('example.com/podinfo@sha256:1') } }),
      aPod({ name: 'podinfo-primary-new-2', status: { ...pulled('example.com/podinfo@sha256:2') } }),
    ];

    expect(viewOf({ workload: aDeployment(), pods }).images).toEqual([
      {
        container: 'podinfod',
        image: 'example.com/podinfo:6.0.0',
        found: ['example.com/podinfo:6.0.0'],
        ids: ['example.com/podinfo@sha256:1', 'example.com/podinfo@sha256:2'],
      },
    ]);
  });

  it('count as endpoints the ready pods that a slice of their Service has', () => {
    const pods = [1, 2, 3].map((n) => {
      const pod = aPod({ name: `podinfo-primary-new-${n}`, ready: n < 3 });
      return { ...pod, metadata: { ...pod.metadata, uid: `pod-${n}` } };
    });
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'podinfo-primary' },
      spec: { selector: { app: 'podinfo-primary' }, ports: [{ name: 'http', port: 80, targetPort: 9898 }] },
    };
    const behind = [{ uid: 'pod-1' }, { uid: 'pod-2', ready: false }, { uid: 'pod-3' }];
    const slice = aSlice('podinfo-primary', [{ name: 'http', protocol: 'TCP', port: 9898 }], behind);

    const view = viewOf({ workload: aDeployment(), pods, service, endpointSlices: [slice] });

    expect(view).toMatchObject({ updatedReadyReplicas: 2, endpoints: 1 });
    expect(viewOf({ workload: aDeployment(), pods, service }).endpoints).toBe(0);
    expect(viewOf({ workload: aDeployment(), pods }).endpoints).toBeUndefined();
  });
});

describe('the view of a Deployment', () => {
  it('says everything the rollout core asks for', () => {
    const pods = [1, 2, 3].map((number) => aPod({ name: `podinfo-primary-new-${number}` }));

    expect(viewOf({ workload: aDeployment(), pods })).toEqual({
      name: 'podinfo-primary',
      uid: 'primary-uid',
      resourceVersion: '42',
      digest: 'v1:0123abcd',
      settingsKey: 'settings-1',
      observed: true,
      desiredReplicas: 3,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      updatedReadyReplicas: 3,
      followsNodes: false,
      progressDeadlineExceeded: false,
      keepsReadyPod: true,
      faults: [],
      restarts: 0,
      imagesMatch: true,
      images: [
        {
          container: 'podinfod',
          image: 'example.com/podinfo:6.0.0',
          found: ['example.com/podinfo:6.0.0'],
          ids: [],
        },
      ],
      podContainers: ['podinfod', 'proxy'],
      endpoints: undefined,
    });
  });

  it('counts no pod as current before the controller has seen the change', () => {
    const view = viewOf({
      workload: aDeployment({
        generation: 5,
        status: {
          conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'of the generation before' }],
        },
      }),
      pods: [aPod()],
    });

    expect(view).toMatchObject({ observed: false, updatedReadyReplicas: 0, readyReplicas: 3, faults: [] });
  });

  it('distinguishes pods of the current template from older ones', () => {
    const old = aPod({ name: 'old', hash: 'old', image: 'example.com/podinfo:5.0.0' });
    const broken = aPod({
      ready: false,
      status: containerStatus({ waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } }),
    });

    const view = viewOf({
      workload: aDeployment({ status: { updatedReplicas: 1 } }),
      pods: [old, broken],
    });

    expect(view).toMatchObject({ updatedReadyReplicas: 0, imagesMatch: true });
    expect(view.faults).toEqual([
      {
        pod: 'podinfo-primary-new-1',
        container: 'podinfod',
        reason: 'ImagePullBackOff',
        message: 'Back-off pulling image',
      },
    ]);
  });

  it('counts no older pod as current while the new ReplicaSet has not been seen', () => {
    const workload = aDeployment();
    workload.metadata.annotations = { 'deployment.kubernetes.io/revision': '3' };

    expect(viewOf({ workload, pods: [aPod()] }).updatedReadyReplicas).toBe(0);
  });

  it('takes the newest ReplicaSet when the revision was removed', () => {
    const workload = aDeployment();
    delete workload.metadata.annotations;

    const view = viewOf({ workload, pods: [aPod(), aPod({ hash: 'old' })] });

    expect(view.updatedReadyReplicas).toBe(1);
  });

  it('counts no pod as current while a quota prevents the first new pod, and reports that', () => {
    const conditions = [
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: compute' },
    ];

    const view = viewOf({
      workload: aDeployment({ status: { updatedReplicas: 0, conditions } }),
      pods: [aPod({ hash: 'old' })],
    });

    expect(view.updatedReadyReplicas).toBe(0);
    expect(view.faults).toEqual([
      {
        pod: 'podinfo-primary',
        container: undefined,
        reason: 'FailedCreate',
        message: 'exceeded quota: compute',
      },
    ]);
  });

  it.each<[string, boolean, readonly string[]]>([
    ['those of the template', true, ['example.com/podinfo:6.0.0', 'example.com/podinfo:6.0.0']],
    ['a registry mirror', true, ['mirror.test/example/podinfo:6.0.0', 'example.com/podinfo:6.0.0']],
    [
      'a mirror that adds the digest',
      true,
      ['mirror.test/podinfo:6.0.0@sha256:ab', 'example.com/podinfo:6.0.0'],
    ],
    ['a rule that pins digests', true, ['example.com/podinfo@sha256:ab', 'example.com/podinfo@sha256:ab']],
    ['a pod that was changed by hand', false, ['example.com/podinfo:5.0.0', 'example.com/podinfo:6.0.0']],
  ])('knows pods of the current template whatever rewrote their images: %s', (_, imagesMatch, images) => {
    const pods = images.map((image, index) => aPod({ name: `podinfo-primary-new-${index}`, image }));

    const view = viewOf({ workload: aDeployment(), pods });

    expect(view).toMatchObject({ imagesMatch, updatedReadyReplicas: 2 });
  });

  it('looks at thousands of containers at once', () => {
    const containers = Array.from({ length: 6_000 }, (_, index) => ({ name: `c${index}`, image: 'app' }));
    const status = { containerStatuses: containers.map(({ name }) => ({ name, ready: false })) };
    const pods = ['a', 'b', 'c'].map((name) => {
      const pod = aPod({ name });
      return { ...pod, spec: { ...(pod.spec as object), containers }, status };
    });
    const template = { spec: { containers } };
    const effort = measureEffort();
    const facts = podFacts(pods as unknown as Pod[], template, { service: undefined });
    expect(facts.images).toHaveLength(6_000);
    expect(effort()).toBeLessThan(100);
  });

  it('compares an image of very many colons at once', () => {
    const images = [':'.repeat(60_000), 'example.com/podinfo:6.0.0'];
    const pods = images.map((image, index) => aPod({ name: `podinfo-primary-new-${index}`, image }));
    const effort = measureEffort();

    const view = viewOf({ workload: aDeployment(), pods });

    expect(view.imagesMatch).toBe(false);
    expect(effort()).toBeLessThan(100);
  });

  it('leaves out pods of others, and pods that are going away', () => {
    const debug = aPod({ name: 'debug' });
    debug.metadata.ownerReferences![0]!.uid = 'of-another-owner';
    const alone = aPod();
    delete alone.metadata.ownerReferences;

    const view = viewOf({
      workload: aDeployment(),
      pods: [debug, alone, aPod({ deleted: true })],
    });

    expect(view.updatedReadyReplicas).toBe(0);
  });

  it('reports the deadline only for the generation that was seen', () => {
    const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }];

    const seen = viewOf({ workload: aDeployment({ status: { conditions } }), pods: [] });
    const unseen = viewOf({
      workload: aDeployment({ generation: 5, status: { conditions } }),
      pods: [],
    });

    expect([seen.progressDeadlineExceeded, unseen.progressDeadlineExceeded]).toEqual([true, false]);
  });
});

describe('a rolling update keeps a ready pod', () => {
  it.each<[number, object | undefined, boolean]>([
    [1, undefined, true],
    [1, { rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } }, false],
    [1, { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }, true],
    [1, { rollingUpdate: { maxUnavailable: '0%', maxSurge: 0 } }, false],
    [3, { rollingUpdate: { maxUnavailable: '99%', maxSurge: 0 } }, true],
    [3, { rollingUpdate: { maxUnavailable: '100%' } }, false],
    [3, { rollingUpdate: { maxUnavailable: 3 } }, false],
    [3, { type: 'Recreate' }, false],
    [0, undefined, false],
  ])('%i replicas, %j: %s', (replicas, strategy, keeps) => {
    const workload = aDeployment({ spec: { replicas, strategy } });

    expect(viewOf({ workload, pods: [] }).keepsReadyPod).toBe(keeps);
  });
});
