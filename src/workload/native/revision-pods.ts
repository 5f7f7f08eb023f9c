/** Which pods of one workload run its newest template, and which the older ones, as queries and selectors name them (ADR 21). */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { ViewSource } from '../kind.ts';
import { controllerUid, currentReplicaSet, revisionHashLabel } from '../pods.ts';
import { daemonRevision } from './daemon-set.ts';
import { isBrought } from './marks.ts';

/** Names of pods by their template. The patterns are RE2 and match whole names; `-` matches none. */
export interface RevisionPods {
  readonly pods: string;
  readonly otherPods: string;
  /** The label of pods of the newest template; undefined while there cannot be any. */
  readonly label: { readonly key: string; readonly value: string } | undefined;
}

/** Label of the pods of a Deployment: which ReplicaSet they are of. */
export const hashLabel = 'pod-template-hash';
const nothing = '-';

/** The pods of the newest template as its controller tells them; none before it has seen that template. */
export function revisionPods(source: ViewSource): RevisionPods {
  const { metadata, status } = source.workload;
  const { observedGeneration = 0 } = (status ?? {}) as { observedGeneration?: number };
  const isSeen = !isBrought(source.workload) && observedGeneration >= (metadata.generation ?? 0);
  return source.workload.kind === 'Deployment' ? ofSets(source, isSeen) : ofNames(source, isSeen);
}

/** Pods of a Deployment begin with the name of their ReplicaSet: a pattern that also finds those that are gone by now. */
function ofSets({ workload, pods, replicaSets }: ViewSource, isSeen: boolean): RevisionPods {
  const current = isSeen ? currentReplicaSet(workload, replicaSets) : undefined;
  const used = new Set(pods.map(controllerUid));
  const older = replicaSets.filter(
    (set) =>
      controllerUid(set) === workload.metadata.uid &&
      set.metadata.uid !== current?.metadata.uid &&
      used.has(set.metadata.uid),
  );
  const value = current?.metadata.labels?.[hashLabel];
  return {
    pods: current ? ofPrefixes([current]) : nothing,
    otherPods: ofPrefixes(older),
    label: value === undefined ? undefined : { key: hashLabel, value },
  };
}

/** Pods of other kinds tell their revision by a label, and nothing by their names: these are listed. */
function ofNames(source: ViewSource, isSeen: boolean): RevisionPods {
  const { workload, pods } = source;
  const { updateRevision } = (workload.status ?? {}) as { updateRevision?: string };
  const value = isSeen ? (updateRevision ?? daemonRevision(source)) : undefined;
  const own = pods.filter((pod) => controllerUid(pod) === workload.metadata.uid);
  const isCurrent = ({ metadata }: KubernetesObject) =>
    value !== undefined && metadata.labels?.[revisionHashLabel] === value;
  return {
    pods: oneOf(own.filter(isCurrent)),
    otherPods: oneOf(own.filter((pod) => !isCurrent(pod))),
    label: value === undefined ? undefined : { key: revisionHashLabel, value },
  };
}

function ofPrefixes(sets: readonly KubernetesObject[]): string {
  return sets.length === 0 ? nothing : `${oneOf(sets)}-[0-9a-z]+`;
}

function oneOf(objects: readonly KubernetesObject[]): string {
  const names = objects.map(({ metadata }) => metadata.name.replaceAll('.', '\\\\.')).sort();
  if (names.length === 0) return nothing;
  return names.length === 1 ? names.join() : `(${names.join('|')})`;
}
