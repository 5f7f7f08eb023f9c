/** Pods of one Deployment, and which of them run its current template. */
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { covers } from './covers.ts';

/** The part of a pod that is read here; what a kubelet writes may be missing at any time. */
export interface Pod extends KubernetesObject {
  spec?: { containers?: PodContainer[]; initContainers?: PodContainer[]; nodeName?: string };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    conditions?: PodCondition[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

/** A condition of a pod. */
export interface PodCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** A container as the pod's spec names it. */
export interface PodContainer {
  name: string;
  image?: string;
  [field: string]: unknown;
}

/** What the kubelet says about one container. */
export interface ContainerStatus {
  name: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: { startedAt?: string };
    terminated?: { reason?: string; message?: string; exitCode?: number };
  };
  lastState?: { terminated?: { reason?: string; exitCode?: number } };
}

/** Pods that belong to the Deployment (selector and owner) and are not being deleted. */
export function podsOf(deployment: KubernetesObject, pods: readonly KubernetesObject[]): Pod[] {
  const { matchLabels } = ((deployment.spec as Record<string, unknown>).selector ?? {}) as {
    matchLabels?: Record<string, string>;
  };
  const { name, namespace } = deployment.metadata;
  return pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined &&
      pod.metadata.namespace === namespace &&
      matchLabels !== undefined &&
      covers(pod.metadata.labels, matchLabels) &&
      hasOwner(pod, name),
  );
}

function hasOwner(pod: KubernetesObject, deployment: string): boolean {
  const owner = pod.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return true;
  const hash = templateHash(pod);
  return hash === '' ? owner.name.startsWith(`${deployment}-`) : owner.name === `${deployment}-${hash}`;
}

/** Pods of the current template, and whether all of them run its images. */
export interface CurrentPods {
  pods: Pod[];
  imagesMatch: boolean;
}

/**
 * The pods of one ReplicaSet whose pods say everything the template says. When none does because a webhook rewrote images, it is the newest
 * whose pods agree in everything else (or else the ReplicaSet that is named), and `imagesMatch` is false. `progressMessage` is the Deployment's Progressing condition, which names
 * the newest ReplicaSet: it decides when an older template with more in it covers the new one too.
 */
export function currentPods(
  pods: readonly Pod[],
  template: PodTemplate,
  progressMessage: string,
): CurrentPods {
  const groups = [...groupByHash(pods).values()];
  const exact = groups.filter((group) => group.some((pod) => runs(pod, template)));
  if (exact.length > 0) return { pods: newest(exact, progressMessage), imagesMatch: true };
  const withoutImages = imageless(template);
  const similar = groups.filter((group) => group.some((pod) => runs(pod, withoutImages)));
  const named = groups.filter((group) => group.some((pod) => isNamed(pod, progressMessage)));
  const candidates = similar.length > 0 ? similar : named;
  return { pods: newest(candidates, progressMessage), imagesMatch: candidates.length === 0 };
}

function runs(pod: Pod, template: PodTemplate): boolean {
  const { labels, annotations } = template.metadata ?? {};
  return (
    covers(pod.spec, template.spec) &&
    covers(pod.metadata.labels ?? {}, labels ?? {}) &&
    covers(pod.metadata.annotations ?? {}, annotations ?? {})
  );
}

function imageless(template: PodTemplate): PodTemplate {
  const strip = (containers: PodTemplate['spec']['containers']): PodTemplate['spec']['containers'] =>
    containers.map(({ image: _, ...container }) => container);
  const { containers, initContainers, ...spec } = template.spec;
  return {
    ...template,
    spec: {
      ...spec,
      containers: strip(containers),
      ...(initContainers ? { initContainers: strip(initContainers) } : {}),
    },
  };
}

function groupByHash(pods: readonly Pod[]): Map<string, Pod[]> {
  const groups = new Map<string, Pod[]>();
  for (const pod of pods) {
    const hash = templateHash(pod);
    groups.set(hash, [...(groups.get(hash) ?? []), pod]);
  }
  return groups;
}

function newest(groups: readonly Pod[][], progressMessage: string): Pod[] {
  const rank = (group: readonly Pod[]): string => {
    const named = group.some((pod) => isNamed(pod, progressMessage)) ? '1' : '0';
    const times = group.map((pod) => pod.metadata.creationTimestamp ?? '').sort();
    return named + (times.at(-1) ?? '');
  };
  return groups.reduce<Pod[]>(
    (best, group) => (best.length === 0 || rank(group) > rank(best) ? group : best),
    [],
  );
}

function isNamed(pod: Pod, progressMessage: string): boolean {
  const hash = templateHash(pod);
  return hash !== '' && progressMessage.includes(`-${hash}"`);
}

function templateHash(pod: KubernetesObject): string {
  return pod.metadata.labels?.['pod-template-hash'] ?? '';
}

/** Whether the pod's Ready condition is True. */
export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
}

/** Most restarts of one container of the pod. */
export function restartsOf(pod: Pod): number {
  return containerStatuses(pod).reduce((most, { restartCount }) => Math.max(most, restartCount ?? 0), 0);
}

/** What the kubelet says about all containers, those that run first in front. */
export function containerStatuses(pod: Pod): ContainerStatus[] {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
}
