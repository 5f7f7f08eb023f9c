import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { canaryObjects, primaryObjects, workloadKind } from '../kinds.ts';
import { aCanary, aPrimarySource, aRelease, aTarget } from '../shared/fixtures.test-support.ts';
import type { PrimarySource, ViewSource } from '../shared/workload-kind.ts';
import { nativeDaemonSet } from './daemonset.ts';

const zero = 'flagger.app/scale-to-zero';
const canary = aCanary({ targetRef: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'podinfo' } });
const kind = workloadKind(canary);

function aDaemonTarget(spec: Record<string, unknown> = {}, podSpec: Record<string, unknown> = {}) {
  const target = aTarget();
  const {
    replicas: _,
    template,
    ...rest
  } = target.spec as { template: { spec: object } } & Record<string, unknown>;
  const daemonSpec = { ...rest, template: { ...template, spec: { ...template.spec, ...podSpec } }, ...spec };
  return { ...target, kind: 'DaemonSet', spec: daemonSpec };
}

function source(target: KubernetesObject, changes: Partial<PrimarySource> = {}): PrimarySource {
  return aPrimarySource({ canary, release: aRelease(target), settings: {}, replicas: undefined, ...changes });
}

function specOf(object: KubernetesObject) {
  return object.spec as { template: { spec: { nodeSelector?: Record<string, string> } } } & Record<
    string,
    unknown
  >;
}

describe('a DaemonSet as target', () => {
  it('at rest has a node selector that matches no node, in addition to its own', () => {
    const target = aDaemonTarget({}, { nodeSelector: { disk: 'ssd' } });
    const { workload } = canaryObjects({ ...source(target), replicas: 0 });
    expect(specOf(workload).template.spec.nodeSelector).toEqual({ disk: 'ssd', [zero]: 'true' });
  });

  it('at work has its own node selector only, also when Git carries the one of a canary at rest', () => {
    const target = aDaemonTarget({}, { nodeSelector: { disk: 'ssd', [zero]: 'true' } });
    const { workload } = canaryObjects({ ...source(target), replicas: 1 });
    expect(specOf(workload).template.spec.nodeSelector).toEqual({ disk: 'ssd' });
    expect(specOf(primaryObjects(source(target)).workload).template.spec.nodeSelector).toEqual({
      disk: 'ssd',
    });
  });

  it('is written with an explicit empty selector, so that nothing of its rest stays', () => {
    const { workload } = canaryObjects({ ...source(aDaemonTarget()), replicas: 1 });
    expect(specOf(workload).template.spec.nodeSelector).toEqual({});
    expect(specOf(primaryObjects(source(aDaemonTarget())).workload).template.spec).not.toHaveProperty(
      'nodeSelector',
    );
  });

  it('has settings of its kind, with the defaults of Kubernetes where Git says nothing', () => {
    const { workload } = primaryObjects(source(aDaemonTarget()));
    expect(workload.kind).toBe('DaemonSet');
    expect(specOf(workload)).toMatchObject({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      minReadySeconds: 0,
      revisionHistoryLimit: 10,
    });
    expect(specOf(workload)).not.toHaveProperty('replicas');
    const surging = { strategy: { rollingUpdate: { maxSurge: '50%' } } };
    expect(
      specOf(primaryObjects(source(aDaemonTarget(), { settings: surging })).workload).updateStrategy,
    ).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: '50%', maxUnavailable: 0 },
    });
  });

  it('is scaled by the selector, and not at all when it is there already', () => {
    const { workload: working } = canaryObjects({ ...source(aDaemonTarget()), replicas: 1 });
    const { workload: resting } = canaryObjects({ ...source(aDaemonTarget()), replicas: 0 });
    const patch = (value: string | null) => ({
      spec: { template: { spec: { nodeSelector: { [zero]: value } } } },
    });
    expect(kind.scalePatch(working, 0)).toEqual(patch('true'));
    expect(kind.scalePatch(resting, 5)).toEqual(patch(null));
    expect(kind.scalePatch(working, 7)).toBeUndefined();
    expect(kind.scalePatch(resting, 0)).toBeUndefined();
  });

  const port = (fields: object) => ({
    containers: [{ name: 'app', ports: [{ containerPort: 80, ...fields }] }],
  });
  it.each([
    ['a host port', {}, port({ hostPort: 80 }), 'spec.template.spec.containers[0].ports[0]', 'hostPort'],
    [
      'the network of the host',
      {},
      { ...port({}), hostNetwork: true },
      'spec.template.spec.containers[0].ports[0]',
      'hostNetwork',
    ],
    ['OnDelete', { updateStrategy: { type: 'OnDelete' } }, {}, 'spec.updateStrategy.type', 'RollingUpdate'],
  ])('is refused with %s', (_, spec, podSpec, field, word) => {
    const target = aDaemonTarget(spec, podSpec);
    const refusal = expect.objectContaining({
      reason: 'TargetInvalid',
      field,
      message: expect.stringContaining(word),
    });
    expect(() => primaryObjects(source(target))).toThrow(expect.objectContaining({ refusal }));
    expect(() => canaryObjects({ ...source(target), replicas: 1 })).toThrow(
      expect.objectContaining({ refusal }),
    );
  });
});

describe('the view of a DaemonSet', () => {
  const counts = {
    observedGeneration: 4,
    desiredNumberScheduled: 3,
    currentNumberScheduled: 3,
    updatedNumberScheduled: 3,
    numberReady: 3,
    numberAvailable: 3,
  };

  function live(
    status: Record<string, unknown> = {},
    nodeSelector?: Record<string, string>,
  ): KubernetesObject {
    const { workload } = primaryObjects(source(aDaemonTarget({}, nodeSelector ? { nodeSelector } : {})));
    const template = specOf(workload).template;
    if (nodeSelector) Object.assign(template.spec, { nodeSelector });
    return {
      ...workload,
      metadata: { ...workload.metadata, uid: 'daemon-uid', resourceVersion: '42', generation: 4 },
      status: { ...counts, ...status },
    };
  }

  function owned(kindName: string, name: string, hash: string, more: object = {}): KubernetesObject {
    return {
      apiVersion: 'v1',
      kind: kindName,
      metadata: {
        name,
        labels: { 'controller-revision-hash': hash },
        ownerReferences: [
          {
            apiVersion: 'apps/v1',
            kind: 'DaemonSet',
            name: 'podinfo-primary',
            uid: 'daemon-uid',
            controller: true,
          },
        ],
      },
      ...more,
    };
  }

  const ready = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  const revisions = [
    owned('ControllerRevision', 'a', 'hash-a', { revision: 3 }),
    owned('ControllerRevision', 'b', 'hash-b', { revision: 2 }),
  ];

  function view(workload: KubernetesObject, changes: Partial<ViewSource> = {}) {
    const pods = ['x', 'y', 'z'].map((name) => owned('Pod', name, 'hash-a', ready));
    return kind.view({
      workload,
      pods,
      replicaSets: [],
      controllerRevisions: revisions,
      service: undefined,
      ...changes,
    });
  }

  it('says everything the rollout core asks for', () => {
    expect(view(live())).toMatchObject({
      name: 'podinfo-primary',
      digest: 'v1:0123abcd',
      observed: true,
      desiredReplicas: 3,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      updatedReadyReplicas: 3,
      followsNodes: true,
      keepsReadyPod: false,
      imagesMatch: true,
      faults: [],
    });
  });

  it('counts pods of the newest revision, also when an older one became the newest again', () => {
    const pods = [owned('Pod', 'x', 'hash-a', ready), owned('Pod', 'y', 'hash-b', ready)];
    expect(view(live(), { pods }).updatedReadyReplicas).toBe(1);
    const renumbered = revisions.map((revision) =>
      revision.metadata.name === 'b' ? { ...revision, revision: 4 } : revision,
    );
    expect(view(live(), { pods, controllerRevisions: renumbered }).updatedReadyReplicas).toBe(1);
    expect(view(live(), { pods, controllerRevisions: [] }).updatedReadyReplicas).toBe(0);
  });

  it('never counts more ready pods of the new template than the controller does: its revision may be seen late', () => {
    expect(view(live({ updatedNumberScheduled: 1 })).updatedReadyReplicas).toBe(1);
    expect(view(live({ observedGeneration: 3 })).updatedReadyReplicas).toBe(0);
  });

  it.each([
    [3, true],
    [2, false],
  ])(
    'tried in place with the template of before has reached its step with %i of 3 pods ready: %s',
    (count, isReached) => {
      const workload = live();
      const annotations = {
        ...workload.metadata.annotations,
        ...{
          'holdfast.dev/promoted': 'v1:old',
          'holdfast.dev/share': '100',
          'holdfast.dev/tried-revision': 'all',
        },
      };
      const pods = ['x', 'y', 'z'].map((name, index) =>
        owned('Pod', name, 'hash-a', index < count ? ready : {}),
      );
      const { tried } = nativeDaemonSet.splitView({
        workload: { ...workload, metadata: { ...workload.metadata, annotations } },
        ...{ pods, replicaSets: [], controllerRevisions: revisions, service: undefined },
      });
      expect(tried?.isReached(100)).toBe(isReached);
    },
  );

  it('wants no pod at rest, and at least one else', () => {
    expect(view(live({}, { [zero]: 'true' })).desiredReplicas).toBe(0);
    expect(view(live({ desiredNumberScheduled: 0 })).desiredReplicas).toBe(1);
  });

  it('says that no node is to have a pod, unless it is at rest', () => {
    const faults = [
      {
        pod: 'podinfo-primary',
        container: undefined,
        reason: 'Unschedulable',
        message: 'no node matches its nodeSelector, affinity and tolerations',
      },
    ];
    expect(view(live({ desiredNumberScheduled: 0, updatedNumberScheduled: 0 })).faults).toEqual(faults);
    expect(view(live({ desiredNumberScheduled: 0 }, { [zero]: 'true' })).faults).toEqual([]);
  });

  it('names what keeps pods of the new template from being ready', () => {
    const waiting = { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } };
    const broken = { status: { containerStatuses: [{ name: 'app', state: waiting }] } };
    const pods = [owned('Pod', 'x', 'hash-a', broken)];
    expect(view(live(), { pods }).faults).toEqual([
      { pod: 'x', container: 'app', reason: 'ImagePullBackOff', message: 'no such image' },
    ]);
  });
});
