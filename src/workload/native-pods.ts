/** Which pods of one workload run its newest template, and which the older ones, for queries and selectors (ADR 21). */
import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { isGenerated } from '../api/metadata.ts';
import { servicePorts } from '../release/ports.ts';
import { controllerUid, currentReplicaSet, revisionHashLabel, templateHashLabel } from './pods/pods.ts';
import { generatedService } from './service/generated-services.ts';
import { isBeforeFirstStep, promotedDigestOf, serviceNames, stepShareOf } from './shared/names.ts';
import type { NativeKind, RevisionPods } from './shared/native-kind.ts';
import type { ViewSource } from './shared/workload-kind.ts';

const nothing = '-';

/** The pods of the newest template as its controller reports them; none before it has seen that template. */
export function revisionPods(kind: NativeKind, source: ViewSource): RevisionPods {
  const { workload, pods, replicaSets } = source;
  const { metadata, status } = workload;
  const { observedGeneration = 0 } = (status ?? {}) as { observedGeneration?: number };
  const isSeen = !isBeforeFirstStep(workload) && observedGeneration >= (metadata.generation ?? 0);
  const value = isSeen ? kind.revision(source) : undefined;
  if (kind.kind !== 'Deployment') {
    // Pods carry their revision as a label, and their names do not tell it: they are listed.
    const own = pods.filter((pod) => controllerUid(pod) === metadata.uid);
    const isCurrent = (pod: KubernetesObject) =>
      value !== undefined && pod.metadata.labels?.[revisionHashLabel] === value;
    return {
      pods: patternOf(own.filter(isCurrent)),
      otherPods: patternOf(own.filter((pod) => !isCurrent(pod))),
      label: value === undefined ? undefined : { key: revisionHashLabel, value },
    };
  }
  // Names of pods begin with that of their ReplicaSet: a pattern that also finds pods that are gone by now.
  const current = isSeen ? currentReplicaSet(workload, replicaSets) : undefined;
  const used = new Set(pods.map(controllerUid));
  const older = replicaSets.filter(
    (set) =>
      controllerUid(set) === metadata.uid &&
      set.metadata.uid !== current?.metadata.uid &&
      used.has(set.metadata.uid),
  );
  return {
    pods: patternOf(current ? [current] : [], '-[0-9a-z]+'),
    otherPods: patternOf(older, '-[0-9a-z]+'),
    label: value === undefined ? undefined : { key: templateHashLabel, value },
  };
}

/** RE2 of the names of these objects, each followed by `suffix`. */
function patternOf(objects: readonly KubernetesObject[], suffix = ''): string {
  const names = objects.map(({ metadata }) => metadata.name.replaceAll('.', '\\\\.')).sort();
  if (names.length === 0) return nothing;
  return `${names.length === 1 ? names.join() : `(${names.join('|')})`}${suffix}`;
}

// The Service of the new pods of a workload that is rolled out in place, for load tests (ADR 21). Requests of users do not use it.

/** Instead of the hash of new pods while there are none; no hash is like it. */
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

/** It is a Service of this kind: one that another provider left behind may carry traffic, and is not changed. */
export function isNativeService(live: KubernetesObject, canary: Canary): boolean {
  const selector = selectorOf(live);
  return isGenerated(live, canary) && (templateHashLabel in selector || revisionHashLabel in selector);
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
  const key = target.kind === 'Deployment' ? templateHashLabel : revisionHashLabel;
  return { key, value: (isTried ? revision?.label?.value : undefined) ?? nobody };
}

function selectorOf({ spec }: KubernetesObject): Readonly<Record<string, string>> {
  return (spec as { selector?: Record<string, string> } | undefined)?.selector ?? {};
}
