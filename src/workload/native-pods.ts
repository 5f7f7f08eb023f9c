/** Which pods of one workload run its newest template, and which the older ones, as queries and selectors name them (ADR 21). */
import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { isGenerated } from '../api/metadata.ts';
import { servicePorts } from '../release/ports.ts';
import { daemonRevision } from './daemonset/native.ts';
import { controllerUid, currentReplicaSet, revisionHashLabel } from './pods/pods.ts';
import { generatedService } from './service/generated-services.ts';
import { isBeforeFirstStep, promotedDigestOf, serviceNames, stepShareOf } from './shared/names.ts';
import type { ViewSource } from './shared/workload-kind.ts';

/** Names of pods by their template. The patterns are RE2 and match whole names; `-` matches none. */
export interface RevisionPods {
  readonly pods: string;
  readonly otherPods: string;
  /** The label of pods of the newest template; undefined while there cannot be any. */
  readonly label: { readonly key: string; readonly value: string } | undefined;
}

/** Label of the pods of a Deployment: which ReplicaSet they are of. */
const hashLabel = 'pod-template-hash';
const nothing = '-';

/** The pods of the newest template as its controller tells them; none before it has seen that template. */
export function revisionPods(source: ViewSource): RevisionPods {
  const { metadata, status } = source.workload;
  const { observedGeneration = 0 } = (status ?? {}) as { observedGeneration?: number };
  const isSeen = !isBeforeFirstStep(source.workload) && observedGeneration >= (metadata.generation ?? 0);
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

// The Service of the new pods of a workload that is rolled out in place, for load tests (ADR 21). No request of users comes that way.

/** Stands where the hash of new pods does while there are none; no hash is like it. */
const nobody = 'none';

/** What the Service is made from. */
interface NativeServiceSource {
  readonly canary: Canary;
  readonly target: KubernetesObject;
  readonly revision: RevisionPods | undefined;
  readonly live: KubernetesObject | undefined;
}

/** Selects the pods of the release that is tried, and none without one. Undefined where a Service of another owner has its name. */
export function nativeService(source: NativeServiceSource): KubernetesObject | undefined {
  const { canary, target, revision, live } = source;
  if (live && !isNativeService(live, canary)) return undefined;
  const spec = target.spec as { selector?: { matchLabels?: Record<string, string> }; template: PodTemplate };
  const { key, value } = selected(target, revision);
  return generatedService(canary, {
    name: serviceNames(canary).canary,
    ports: servicePorts(canary.spec.service, spec.template),
    selector: { ...spec.selector?.matchLabels, [key]: value },
    labels: {},
    custom: canary.spec.service?.canary,
    live,
  });
}

/** It was made here: one that a copying provider left behind may carry traffic, and is not touched. */
export function isNativeService(live: KubernetesObject, canary: Canary): boolean {
  const selector = selectorOf(live);
  return isGenerated(live, canary) && (hashLabel in selector || revisionHashLabel in selector);
}

/** Why a check would not reach the new pods by their Service; undefined when it would, or when none is asked for. */
export function servicePending(source: NativeServiceSource): string | undefined {
  const { canary, target, revision, live } = source;
  if (!canary.spec.service || (live && !isNativeService(live, canary))) return undefined;
  const { key, value } = selected(target, revision);
  return live && selectorOf(live)[key] === value
    ? undefined
    : `Service ${serviceNames(canary).canary} does not select the new pods yet`;
}

function selected(
  target: KubernetesObject,
  revision: RevisionPods | undefined,
): { readonly key: string; readonly value: string } {
  const isTried = promotedDigestOf(target) !== undefined && (stepShareOf(target) ?? 0) > 0;
  const key = target.kind === 'Deployment' ? hashLabel : revisionHashLabel;
  return { key, value: (isTried ? revision?.label?.value : undefined) ?? nobody };
}

function selectorOf({ spec }: KubernetesObject): Readonly<Record<string, string>> {
  return (spec as { selector?: Record<string, string> } | undefined)?.selector ?? {};
}
