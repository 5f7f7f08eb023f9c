/** Which pods of one workload run its newest template, and which the older ones, for queries and selectors (ADR 21). */
import { controllerOf, type KubernetesObject } from '../api/kubernetes.ts';
import { cutsPodNames } from '../api/pod-names.ts';
import { currentReplicaSet, revisionHashLabel, templateHashLabel } from './pods/pods.ts';
import { isBeforeFirstStep } from './shared/metadata.ts';
import type { NativeKind, RevisionPods, ViewSource } from './shared/workload-kind.ts';

const nothing = '-';

/** The pods of the newest template as its controller reports them; none before it has seen that template. */
export function revisionPods(kind: NativeKind, source: ViewSource): RevisionPods {
  const { workload, pods, replicaSets } = source;
  const { metadata, status } = workload;
  const { observedGeneration = 0 } = (status ?? {}) as { observedGeneration?: number };
  const isSeen = !isBeforeFirstStep(workload) && observedGeneration >= (metadata.generation ?? 0);
  const value = isSeen ? kind.revision(source) : undefined;
  if (kind.kind !== 'Deployment') {
    // Pods carry their revision as a label, not in their names: they are listed.
    const own = pods.filter((pod) => controllerOf(pod)?.uid === metadata.uid);
    const isCurrent = (pod: KubernetesObject) =>
      value !== undefined && pod.metadata.labels?.[revisionHashLabel] === value;
    return {
      pods: patternOf(own.filter(isCurrent)),
      otherPods: patternOf(own.filter((pod) => !isCurrent(pod))),
      label: value === undefined ? undefined : { key: revisionHashLabel, value },
    };
  }
  // Names of pods begin with that of their ReplicaSet, unless they are cut: a pattern that also finds pods that are gone by now.
  const current = isSeen ? currentReplicaSet(workload, replicaSets) : undefined;
  const used = new Set(pods.map((pod) => controllerOf(pod)?.uid));
  const older = replicaSets.filter(
    (set) =>
      controllerOf(set)?.uid === metadata.uid &&
      set.metadata.uid !== current?.metadata.uid &&
      used.has(set.metadata.uid),
  );
  const podsOf = (sets: readonly KubernetesObject[]) =>
    sets.some(({ metadata: { name } }) => cutsPodNames(name))
      ? patternOf(pods.filter((pod) => sets.some((set) => set.metadata.uid === controllerOf(pod)?.uid)))
      : patternOf(sets, '-[0-9a-z]+');
  return {
    pods: podsOf(current ? [current] : []),
    otherPods: podsOf(older),
    label: value === undefined ? undefined : { key: templateHashLabel, value },
  };
}

/** RE2 of the names of these objects, each followed by `suffix`. What all of them begin with is there once: a thousand pods must fit into a query. */
function patternOf(objects: readonly KubernetesObject[], suffix = ''): string {
  const names = objects.map(({ metadata }) => metadata.name.replaceAll('.', '\\\\.')).sort();
  const [first = nothing, ...others] = names;
  const last = others.at(-1);
  if (last === undefined) return names.length === 0 ? nothing : first + suffix;
  // Of sorted names, what the first and the last have in common is common to all.
  const differsAt = [...first].findIndex((character, at) => last[at] !== character);
  const shared = first.slice(
    0,
    first.slice(0, differsAt < 0 ? first.length : differsAt).lastIndexOf('-') + 1,
  );
  return `${shared}(${names.map((name) => name.slice(shared.length)).join('|')})${suffix}`;
}
