import { describe, expect, it } from 'vitest';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { nativeDaemonSet } from './daemonset/daemonset.ts';
import { type IncomingRelease, rankNodes, type ViewSource } from './shared/workload-kind.ts';
import { nativeStatefulSet } from './statefulset/statefulset.ts';

const bringing: IncomingRelease = {
  settings: { replicas: 3, strategy: { type: 'RollingUpdate' } },
  spec: {},
  replicas: 3,
  live: {
    apiVersion: 'apps/v1',
    kind: 'x',
    metadata: { name: 'web' },
    status: { desiredNumberScheduled: 3 },
  },
  isFirst: true,
  isSameTemplate: false,
};
const onDelete = { settings: { strategy: { type: 'OnDelete' } } };

interface Pod {
  readonly revision: string;
  readonly ready?: boolean;
  readonly node?: string;
}

interface Seen {
  readonly marks?: Record<string, string>;
  readonly spec?: object;
  readonly status: object;
  readonly pods: readonly Pod[];
  /** The revision of the template that is in place. */
  readonly current?: string;
}

function look(kind: string, { marks = {}, spec = {}, status, pods, current }: Seen): ViewSource {
  const ownerReferences = [{ apiVersion: 'apps/v1', kind, name: 'web', uid: 'w', controller: true }];
  const revision = (name: string, number: number) => ({
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    revision: number,
    metadata: { name, labels: { 'controller-revision-hash': name }, ownerReferences },
  });
  const template = { spec: { containers: [{ name: 'app', image: 'web' }] } };
  return {
    workload: {
      apiVersion: 'apps/v1',
      kind,
      metadata: { name: 'web', uid: 'w', generation: 1, annotations: marks },
      spec: { template, ...spec },
      status: { observedGeneration: 1, ...status },
    } as KubernetesObject,
    pods: pods.map(({ revision: hash, ready = true, node = '' }, index) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `web-${index}`,
        uid: `u${index}`,
        ownerReferences,
        labels: { 'controller-revision-hash': hash },
      },
      spec: { nodeName: node, containers: [{ name: 'app', image: 'web' }] },
      status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
    })),
    controllerRevisions: [revision('old', 1), ...(current ? [revision(current, 2)] : [])],
    replicaSets: [],
    service: undefined,
  };
}

describe('a StatefulSet in place', () => {
  const settings = { replicas: 5 };
  const held = (marks: Record<string, string>, replicas: number) =>
    look('StatefulSet', { marks, spec: { replicas }, status: {}, pods: [] });

  it('is refused where a partition cannot hold it', () => {
    const field = (change: Partial<IncomingRelease>) =>
      nativeStatefulSet.unsuitable({ ...bringing, ...change })?.field;
    const partition = { strategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } };
    expect([
      field({}),
      field(onDelete),
      field({ settings: partition }),
      field({ replicas: undefined }),
      field({ replicas: 1 }),
      field({ replicas: 1, isFirst: false }),
    ]).toEqual([
      undefined,
      'spec.updateStrategy.type',
      'spec.updateStrategy.rollingUpdate.partition',
      'spec.replicas',
      'spec.replicas',
      undefined,
    ]);
  });

  it('is brought above every ordinal, and stepped by a share of the number it was brought with', () => {
    expect(nativeStatefulSet.withhold(bringing)).toMatchObject({
      spec: { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2_147_483_647 } } },
    });
    const marks = { 'holdfast.dev/promoted': 'a', 'holdfast.dev/share': '20', 'holdfast.dev/held-pods': '5' };
    const { held: next } = nativeStatefulSet.next({ source: held(marks, 9), weightPercent: 21, settings });
    expect(next.spec).toEqual({
      replicas: 5,
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 3 } },
    });
  });

  it('has every setting back, the default where Git says nothing', () => {
    const rollingUpdate = { maxUnavailable: 2 };
    const strategy = { type: 'RollingUpdate', rollingUpdate };
    expect(nativeStatefulSet.settingsFields({ strategy, minReadySeconds: 4 })).toEqual({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable: 2 } },
      minReadySeconds: 4,
      revisionHistoryLimit: 10,
    });
  });

  it('leaves no pod behind on a way back, whatever partition was recorded', () => {
    const strategy = { type: 'RollingUpdate', rollingUpdate: { partition: 3 } };
    expect(nativeStatefulSet.settingsFields({ strategy })).toMatchObject({
      updateStrategy: { rollingUpdate: { partition: 0 } },
    });
  });

  it('is stuck on pods of another revision that are not ready, and on no others', () => {
    const pods = [{ revision: 'bad', ready: false }, { revision: 'good', ready: false }, { revision: 'bad' }];
    const source = look('StatefulSet', { status: { updateRevision: 'good' }, pods });
    expect(nativeStatefulSet.stuck?.(source)).toEqual([{ name: 'web-0', uid: 'u0' }]);
  });
});

describe('a DaemonSet in place', () => {
  const tried = { 'holdfast.dev/promoted': 'a', 'holdfast.dev/share': '50' };
  const marked = { ...tried, 'holdfast.dev/promoted-revision': 'old' };
  const stood = { ...marked, 'holdfast.dev/tried-revision': 'new' };
  const on = (revisions: string) =>
    revisions.split(' ').map((revision, index) => ({ revision, node: `n${index}` }));
  function next(seen: Omit<Seen, 'status'>, nodes = 4, weightPercent = 50) {
    const source = look('DaemonSet', { ...seen, status: { desiredNumberScheduled: nodes } });
    const { held, replace } = nativeDaemonSet.next({ source, weightPercent, settings: {} });
    return [
      held.template ?? 'tried',
      held.annotations?.['holdfast.dev/tried-revision'],
      ...replace.map(({ name }) => name),
    ];
  }

  it('is refused where its controller replaces nothing, or has one node alone', () => {
    const field = (change: Partial<IncomingRelease>) =>
      nativeDaemonSet.unsuitable({ ...bringing, ...change })?.field;
    const single = { ...bringing.live, status: { desiredNumberScheduled: 1 } } as KubernetesObject;
    expect([field({}), field(onDelete), field({ live: single })]).toEqual([
      undefined,
      'spec.updateStrategy.type',
      'spec.template.spec.nodeSelector',
    ]);
  });

  it('lends the new template for as long as the pods of its next node need', () => {
    const old = on('old old old old');
    expect(next({ marks: { ...tried, 'holdfast.dev/share': '0' }, pods: old })).toEqual(['tried', undefined]);
    expect(next({ marks: marked, pods: old })).toEqual(['tried', undefined]);
    expect(next({ marks: marked, pods: old, current: 'new' })).toEqual(['tried', undefined, 'web-0']);
    expect(next({ marks: marked, pods: old.slice(1), current: 'new' })).toEqual(['tried', undefined]);
    const made = [{ revision: 'new', node: 'n0', ready: false }, ...old.slice(1)];
    expect(next({ marks: marked, pods: made, current: 'new' })).toEqual(['promoted', 'new']);
    expect(next({ marks: stood, pods: made })).toEqual(['promoted', 'new']);
    expect(next({ marks: stood, pods: on('new old old old') })).toEqual(['tried', undefined]);
    expect(next({ marks: stood, pods: on('new new old old') })).toEqual(['promoted', 'new']);
  });

  it('has the older template back once the share is there, also while a pod of another node is still missing', () => {
    const made = [{ revision: 'new', node: 'n0', ready: false }, ...on('old old old old').slice(1, 3)];
    expect(next({ marks: marked, pods: made, current: 'new' }, 4, 25)).toEqual(['promoted', 'new']);
    expect(next({ marks: marked, pods: made, current: 'new' }, 4, 50)).toEqual(['tried', undefined]);
  });

  it('takes the nodes of the values that are named first, then of others, then without the label', () => {
    const node = (name: string, zone?: string) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, ...(zone ? { labels: { zone } } : {}) },
    });
    const nodes = [node('n0'), node('n1', 'c'), node('n2', 'b'), node('n3', 'z')];
    const ranks = rankNodes({ label: 'zone', values: ['z'] }, nodes);
    const pods = on('old old old old');
    const status = { desiredNumberScheduled: 4 };
    const source = look('DaemonSet', { marks: marked, pods, current: 'new', status });
    const strategy = { rollingUpdate: { maxUnavailable: 4 } };
    const { replace } = nativeDaemonSet.next({ source, weightPercent: 100, settings: { strategy }, ranks });
    expect(replace.map(({ name }) => name)).toEqual(['web-3', 'web-2', 'web-1', 'web-0']);
  });

  it('takes back what is beyond the share, where nodes left', () => {
    expect(next({ marks: stood, pods: on('new new') }, 2)).toEqual(['promoted', 'new', 'web-1']);
  });

  it('waits while the revision of the older pods is unknown', () => {
    const source = look('DaemonSet', {
      marks: tried,
      pods: [],
      status: { observedGeneration: 0, desiredNumberScheduled: 4 },
    });
    const { held } = nativeDaemonSet.next({ source, weightPercent: 50, settings: {} });
    expect(held.template).toBe('promoted');
  });

  it('takes no node for a release whose template is that of the older pods', () => {
    const brought = nativeDaemonSet.withhold({ ...bringing, isSameTemplate: true });
    const all = { ...marked, ...brought.annotations };
    expect(next({ marks: all, pods: on('old old old old') })).toEqual(['promoted', 'all']);
    const status = { desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2 };
    const source = look('DaemonSet', { marks: all, pods: on('old old'), status });
    expect(nativeDaemonSet.splitView(source).tried?.isReached(50)).toBe(true);
  });
});
