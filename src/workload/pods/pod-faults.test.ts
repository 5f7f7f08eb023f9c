import { describe, expect, it } from 'vitest';
import { aDeployment, aPod, containerStatus, viewOf } from '../deployment/deployment.test-support.ts';
import type { ContainerStatus, Pod } from './pods.ts';

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
  ])('are distinguished: %s', (_, status, reason, message) => {
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

  it('name init containers, and why a container ended last', () => {
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

  it('take an init container that runs for a slow start, since it has no probes; a sidecar has', () => {
    const running = { ready: false, started: false, state: { running: {} } };
    const waiting = { waiting: { reason: 'PodInitializing' } };
    const status = {
      initContainerStatuses: [
        { name: 'migrate', ...running },
        { name: 'proxy', ...running },
      ],
      containerStatuses: [{ name: 'podinfod', ready: false, state: waiting }],
    };
    const pod = aPod({ ready: false, status });
    const initContainers = [{ name: 'migrate' }, { name: 'proxy', restartPolicy: 'Always' }];
    const pods = [{ ...pod, spec: { initContainers } }];

    expect(viewOf({ workload: aDeployment(), pods }).faults).toMatchObject([
      { container: 'proxy', reason: 'NotReadyYet', init: true },
      {
        container: 'migrate',
        reason: 'PodInitializing',
        message: 'it runs and has not ended yet',
        init: true,
      },
      { container: 'podinfod', reason: 'PodInitializing' },
    ]);
  });

  it.each<[string, object, string]>([
    ['a node that does not report', { type: 'Ready', status: 'False' }, 'NodeNotReady'],
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

  it.each([
    ['fails its probe now', '2026-01-01T00:01:00Z', ['ProbeFailing', 'Evicted']],
    ['is only starting', '2025-12-31T23:59:00Z', ['Evicted', 'NotReadyYet']],
  ])(
    'of a pod that was evicted, beside one that %s, are told in this order',
    (_, lastTransitionTime, reasons) => {
      const running = containerStatus({ running: { startedAt: '2026-01-01T00:00:00Z' } });
      const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime }];
      const pods = [
        aPod({ name: 'gone', ready: false, status: { phase: 'Failed', reason: 'Evicted' } }),
        aPod({ name: 'here', ready: false, status: { ...running, conditions } }),
      ];

      const { faults } = viewOf({ workload: aDeployment(), pods });

      expect(faults.map(({ reason }) => reason)).toEqual(reasons);
    },
  );

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
