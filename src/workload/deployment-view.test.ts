import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { DriftView } from '../rollout/drift-view.ts';
import type { WorkloadView } from '../rollout/world.ts';
import { viewDeployment } from './deployment-view.ts';
import { aPrimarySource } from './fixtures.test-support.ts';
import type { ViewSource } from './kind.ts';
import { primaryObjects } from './objects.ts';
import type { ContainerStatus, Pod } from './pods.ts';

interface Live {
  generation?: number;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  managedFields?: object[];
}

const wanted = primaryObjects(aPrimarySource()).workload;

/** The primary as the API server and its controller hold it: three pods, all well, unless said otherwise. */
function aDeployment({ generation = 4, spec = {}, status = {}, managedFields }: Live = {}): KubernetesObject {
  return {
    ...wanted,
    metadata: {
      ...wanted.metadata,
      annotations: { ...wanted.metadata.annotations, 'deployment.kubernetes.io/revision': '2' },
      uid: 'primary-uid',
      resourceVersion: '42',
      generation,
      managedFields,
    },
    spec: { ...(wanted.spec as object), ...spec },
    status: {
      observedGeneration: 4,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      ...status,
    },
  };
}

/** A ReplicaSet of that primary, as a watch of metadata shows it. */
function aReplicaSet(hash: string, revision: string): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `podinfo-primary-${hash}`,
      namespace: 'shop',
      uid: hash,
      annotations: { 'deployment.kubernetes.io/revision': revision },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          name: 'podinfo-primary',
          uid: 'primary-uid',
          controller: true,
        },
      ],
    },
  };
}

const replicaSets = [aReplicaSet('new', '2'), aReplicaSet('old', '1')];

function viewOf(
  source: Pick<ViewSource, 'workload' | 'pods'> & Partial<ViewSource>,
): Omit<WorkloadView, keyof DriftView> {
  return viewDeployment({ replicaSets, controllerRevisions: [], service: undefined, ...source });
}

interface PodChanges {
  name?: string;
  hash?: string;
  image?: string;
  spec?: object;
  status?: Pod['status'];
  ready?: boolean;
  deleted?: boolean;
}

/** A pod of that primary as a kubelet reports it, with what admission adds. */
function aPod(changes: PodChanges = {}): KubernetesObject {
  const {
    name = 'podinfo-primary-new-1',
    hash = 'new',
    image = 'example.com/podinfo:6.0.0',
    ready = true,
  } = changes;
  const { template } = wanted.spec as {
    template: { metadata: { labels: object; annotations: object }; spec: object };
  };
  const [container] = (template.spec as { containers: object[] }).containers;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'shop',
      ...(changes.deleted ? { deletionTimestamp: '2026-01-01T00:01:00Z' } : {}),
      labels: { ...template.metadata.labels, 'pod-template-hash': hash },
      annotations: { ...template.metadata.annotations, injected: 'yes' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `podinfo-primary-${hash}`,
          uid: hash,
          controller: true,
        },
      ],
    },
    spec: {
      ...template.spec,
      containers: [
        { ...container, image, volumeMounts: [{ name: 'token', mountPath: '/var/run/secrets' }] },
        { name: 'proxy', image: 'example.com/proxy:1' },
      ],
      nodeName: 'node-1',
      tolerations: [{ key: 'node.kubernetes.io/not-ready' }],
      ...changes.spec,
    },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      ...changes.status,
    },
  };
}

function containerStatus(
  state: ContainerStatus['state'],
  more: Partial<ContainerStatus> = {},
): Pod['status'] {
  return { containerStatuses: [{ name: 'podinfod', ready: false, state: state ?? {}, ...more }] };
}

describe('the facts about the pods of a Deployment', () => {
  const pulled = (imageID: string) => containerStatus({ running: {} }, { ready: true, imageID });

  it('tell when one image name was two images', () => {
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

  it.each([
    ['all ready pods', { app: 'podinfo-primary' }, 2],
    ['none', { app: 'somebody-else' }, 0],
    ['nothing, where the Service leaves it to others', undefined, undefined],
  ])('count as endpoints what the Service selects: %s', (_what, selector, endpoints) => {
    const pods = [1, 2, 3].map((n) => aPod({ name: `podinfo-primary-new-${n}`, ready: n < 3 }));
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' }, spec: { selector } };

    expect(viewOf({ workload: aDeployment(), pods, service }).endpoints).toBe(endpoints);
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

  it('tells pods of the current template from older ones', () => {
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

  it('takes the newest ReplicaSet when somebody took the revision away', () => {
    const workload = aDeployment();
    delete workload.metadata.annotations;

    const view = viewOf({ workload, pods: [aPod(), aPod({ hash: 'old' })] });

    expect(view.updatedReadyReplicas).toBe(1);
  });

  it('counts nobody as current while a quota keeps the first new pod away, and says so', () => {
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
    ['a pod that somebody changed', false, ['example.com/podinfo:5.0.0', 'example.com/podinfo:6.0.0']],
  ])('knows pods of the current template whatever rewrote their images: %s', (_, imagesMatch, images) => {
    const pods = images.map((image, index) => aPod({ name: `podinfo-primary-new-${index}`, image }));

    const view = viewOf({ workload: aDeployment(), pods });

    expect(view).toMatchObject({ imagesMatch, updatedReadyReplicas: 2 });
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

describe('faults of pods', () => {
  it.each<[string, Pod['status'], string, string]>([
    [
      'a crash loop with its last exit',
      containerStatus(
        { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
        { lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } },
      ),
      'CrashLoopBackOff',
      'back-off 10s (last exit: code 137, OOMKilled)',
    ],
    [
      'a missing Secret',
      containerStatus({ waiting: { reason: 'CreateContainerConfigError', message: 'secret "x" not found' } }),
      'CreateContainerConfigError',
      'secret "x" not found',
    ],
    ['an exit', containerStatus({ terminated: { exitCode: 1, reason: 'Error' } }), 'Error', 'exit code 1.'],
    [
      'a probe that passed before',
      {
        ...containerStatus({ running: { startedAt: '2026-01-01T00:00:00Z' } }),
        conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:01:00Z' }],
      },
      'ProbeFailing',
      'was ready, but its readiness probe does not pass any more',
    ],
    [
      'a probe that has never passed',
      {
        ...containerStatus({ running: { startedAt: '2026-01-01T00:00:05Z' } }),
        conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }],
      },
      'NotReadyYet',
      'runs, but its readiness probe has not passed',
    ],
    [
      'a slow start',
      containerStatus({ running: {} }, { started: false }),
      'NotReadyYet',
      'runs, but its startup probe has not passed',
    ],
    [
      'no room',
      {
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' },
        ],
      },
      'Unschedulable',
      '0/3 nodes',
    ],
    [
      'an eviction',
      { phase: 'Failed', reason: 'Evicted', message: 'low on memory' },
      'Evicted',
      'low on memory',
    ],
  ])('are told apart: %s', (_, status, reason, message) => {
    const view = viewOf({
      workload: aDeployment(),
      pods: [aPod({ ready: false, ...(status ? { status } : {}) })],
    });

    expect(view.faults).toMatchObject([{ reason, message }]);
  });

  it('say that the Deployment is paused', () => {
    const view = viewOf({ workload: aDeployment({ spec: { paused: true } }), pods: [] });

    expect(view.faults).toMatchObject([{ pod: 'podinfo-primary', reason: 'DeploymentPaused' }]);
  });

  it('name what only takes its time, after everything else', () => {
    const status = {
      containerStatuses: [
        { name: 'podinfod', ready: false, state: { waiting: { reason: 'ContainerCreating' } } },
        { name: 'proxy', ready: false, state: { running: {} } },
      ],
    };
    const { faults } = viewOf({ workload: aDeployment(), pods: [aPod({ ready: false, status })] });

    expect(faults.map(({ reason }) => reason)).toEqual(['NotReadyYet', 'ContainerCreating']);
  });

  it('tell init containers, and why a container ended last', () => {
    const failed = { waiting: { reason: 'CrashLoopBackOff' } };
    const lastState = { terminated: { reason: 'OOMKilled', exitCode: 137 } };
    const status = {
      initContainerStatuses: [{ name: 'migrate', ready: false, state: failed, lastState }],
      containerStatuses: [
        { name: 'podinfod', ready: false, state: { waiting: { reason: 'PodInitializing' } } },
      ],
    };
    const { faults } = viewOf({ workload: aDeployment(), pods: [aPod({ ready: false, status })] });

    expect(faults).toMatchObject([
      { container: 'migrate', reason: 'CrashLoopBackOff', init: true, lastReason: 'OOMKilled' },
      { container: 'podinfod', reason: 'PodInitializing' },
    ]);
    expect(faults[1]).not.toHaveProperty('init');
  });

  it.each<[string, object, string]>([
    ['a node that nobody hears of', { type: 'Ready', status: 'False' }, 'NodeNotReady'],
    [
      'a closed readiness gate',
      { type: 'Ready', status: 'False', reason: 'ReadinessGatesNotReady' },
      'ReadinessGatesNotReady',
    ],
  ])('are seen where all containers are well: %s', (_, condition, reason) => {
    const status = {
      conditions: [condition] as NonNullable<Pod['status']>['conditions'],
      containerStatuses: [{ name: 'podinfod', ready: true, state: { running: {} } }],
    } as NonNullable<Pod['status']>;

    const { faults } = viewOf({ workload: aDeployment(), pods: [aPod({ ready: false, status })] });

    expect(faults).toMatchObject([{ reason, container: undefined }]);
  });

  it('say why the cluster took a pod away', () => {
    const conditions = [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager' }];
    const pods = [aPod({ ready: false, status: { phase: 'Failed', conditions } })];

    expect(viewOf({ workload: aDeployment(), pods }).faults).toMatchObject([
      { reason: 'DeletionByTaintManager' },
    ]);
  });

  it('come worst first, and the most restarted container counts', () => {
    const pod = (name: string, state: ContainerStatus['state'], restartCount: number) =>
      aPod({
        name,
        ready: false,
        status: containerStatus(state, { restartCount }) as NonNullable<Pod['status']>,
      });

    const view = viewOf({
      workload: aDeployment(),
      pods: [
        pod('a', { running: {} }, 1),
        pod('b', { waiting: { reason: 'SomethingNew' } }, 0),
        pod('c', { waiting: { reason: 'CrashLoopBackOff' } }, 7),
      ],
    });

    expect(view.faults.map(({ reason }) => reason)).toEqual([
      'CrashLoopBackOff',
      'SomethingNew',
      'NotReadyYet',
    ]);
    expect(view.restarts).toBe(7);
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
