import { type Container, conditionOf, type KubernetesObject } from '../../../../src/api/kubernetes.ts';
import type { ContainerPhase, ContainerView } from './container.ts';
import { imageId } from './image.ts';

interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
}
type PodStatus = Readonly<Record<string, unknown>> & { readonly conditions?: readonly PodCondition[] };

/** Before any container is started: what becomes ready later was not ready since now, however late that is written. */
export function firstStatus(pod: KubernetesObject, now: string): PodStatus {
  const unready = ['ContainersReady', 'Ready'].map((type) => ({
    type,
    status: 'False',
    lastTransitionTime: now,
    reason: 'ContainersNotReady',
  }));
  const { conditions = [], ...status } = (pod.status ?? {}) as PodStatus;
  return { ...status, conditions: [...conditions.filter(({ type }) => !type.endsWith('Ready')), ...unready] };
}

/** The status of a pod made of its containers; `previous` keeps the transition times of what did not change. */
export function podStatus(
  pod: KubernetesObject,
  address: string,
  views: readonly ContainerView[],
  previous: PodStatus,
  now: string,
): PodStatus {
  const spec = pod.spec as { containers: Container[]; initContainers?: Container[] };
  const ready = views.every((view) => view.ready);
  const condition = (type: string, holds: boolean): PodCondition => {
    const status = holds ? 'True' : 'False';
    const before = conditionOf(previous, type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    const base = { type, status, ...(lastTransitionTime ? { lastTransitionTime } : {}) };
    return holds ? base : { ...base, reason: 'ContainersNotReady' };
  };
  const startTime = (previous.startTime as string | undefined) ?? now;
  return {
    phase: phaseOf(views),
    hostIP: '10.244.0.1',
    podIP: address,
    podIPs: [{ ip: address }],
    startTime,
    conditions: [
      condition('PodScheduled', true),
      condition('Initialized', true),
      condition('ContainersReady', ready),
      condition('Ready', ready),
    ],
    initContainerStatuses: (spec.initContainers ?? []).map((container) => initStatus(container, startTime)),
    containerStatuses: views.map((view, index) => containerStatus(spec.containers[index] as Container, view)),
  };
}

function phaseOf(views: readonly ContainerView[]): string {
  if (views.every(({ finished }) => finished)) {
    return views.every(({ phase }) => phase.kind === 'terminated' && phase.exitCode === 0)
      ? 'Succeeded'
      : 'Failed';
  }
  const begun = views.some((view) => view.phase.kind !== 'waiting' || view.restarts > 0);
  return begun ? 'Running' : 'Pending';
}

function containerStatus(container: Container, view: ContainerView): Record<string, unknown> {
  const image = container.image ?? '';
  const pulled = view.phase.kind !== 'waiting' || view.restarts > 0;
  return {
    name: container.name,
    image,
    imageID: pulled ? imageId(image) : '',
    ready: view.ready,
    started: view.phase.kind === 'running',
    restartCount: view.restarts,
    state: stateOf(view.phase),
    lastState: view.last ? stateOf(view.last) : {},
  };
}

function stateOf(phase: ContainerPhase): Record<string, unknown> {
  const { kind, ...rest } = phase;
  if (phase.kind !== 'terminated') return { [kind]: rest };
  return { terminated: { ...rest, reason: phase.exitCode === 0 ? 'Completed' : 'Error' } };
}

/** Init containers are not run: they are done at once. */
function initStatus(container: Container, now: string): Record<string, unknown> {
  const image = container.image ?? '';
  const state = { terminated: { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now } };
  return { name: container.name, image, imageID: imageId(image), ready: true, restartCount: 0, state };
}
