/** Names and annotation keys of what Holdfast generates for a Canary; the suffixes are Flagger's (flagger-behaviour.md 2.18). */
import { apexName, type Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';

/** Digest of the release an object was written from. */
export const digestAnnotation = 'holdfast.dev/digest';
/** Commit of that release; absent when the release came from no Source. */
export const commitAnnotation = 'holdfast.dev/commit';
/** Hash of the settings (replicas, strategy, deadlines) an object was written with. */
export const settingsAnnotation = 'holdfast.dev/settings';
/** On a copy that follows its original at once: the original's version it was made from. */
export const copiedVersionAnnotation = 'holdfast.dev/copied-version';
/** The stamp of the config that an object was written with, see configs.ts. */
export const configAnnotation = 'holdfast.dev/config';
/** On Services and routes: hash of what was applied last, so that a restart writes none of them again. */
export const appliedAnnotation = 'holdfast.dev/applied';

/** On a workload that is rolled out in place (ADR 21): digest of the release that its older pods run, while another one is tried. */
export const promotedAnnotation = 'holdfast.dev/promoted';
/** On the same: the stamp of config that those pods carry (configs.ts), empty for none, so that going back starts no third ReplicaSet. */
export const promotedStampAnnotation = 'holdfast.dev/promoted-config';
/** On the same: the share of the step, in percent; 0 before the first one, and on the way back. */
export const shareAnnotation = 'holdfast.dev/share';
/** On a StatefulSet at a step: the number of pods it is a share of, which does not change before the release is promoted or left. */
export const heldPodsAnnotation = 'holdfast.dev/held-pods';
/** On a DaemonSet at a step: the revision hash of its older pods. */
export const promotedRevisionAnnotation = 'holdfast.dev/promoted-revision';
/** On a DaemonSet at a step, once its template is that of the older pods again: the revision hash of the pods that are tried. */
export const triedRevisionAnnotation = 'holdfast.dev/tried-revision';

/** Names of the generated Services. */
interface ServiceNames {
  apex: string;
  primary: string;
  canary: string;
}

/** Names of the Services of a Canary: the apex is `service.name`, or the target's name. */
export function serviceNames(canary: Canary): ServiceNames {
  const apex = apexName(canary);
  return { apex, primary: `${apex}-primary`, canary: `${apex}-canary` };
}

/** Name of the primary workload. */
export function primaryName(canary: Canary): string {
  return `${canary.spec.targetRef.name}-primary`;
}

/** Name of the canary's copy of a target of kind Service. */
export function canaryCopyName(canary: Canary): string {
  return `${canary.spec.targetRef.name}-canary`;
}

/** Name of the primary's copy of a config. A config that two Canaries share gets a copy for each of them (design section 5). */
export function copyName(canary: Canary, configName: string, shared: boolean): string {
  return shared ? `${configName}-${primaryName(canary)}` : `${configName}-primary`;
}

// The annotations of a workload that is rolled out in place: with its spec they are the whole state, also after a crash (ADR 21).

/** The digest of the release that older pods run while another one is tried; undefined when none is tried. */
export function promotedDigestOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.annotations?.[promotedAnnotation];
}

/** The share of the step in percent; undefined unless a release is tried, or being left. */
export function stepShareOf({ metadata }: KubernetesObject): number | undefined {
  const text = metadata.annotations?.[shareAnnotation];
  return text !== undefined && /^(\d{1,2}|100)$/.test(text) ? Number(text) : undefined;
}

/** A release is written, and none of its pods was started. */
export function isBeforeFirstStep(live: KubernetesObject): boolean {
  return promotedDigestOf(live) !== undefined && (stepShareOf(live) ?? 0) === 0;
}
