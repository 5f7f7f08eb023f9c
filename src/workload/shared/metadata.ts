/**
 * Names, labels and annotations of the objects that Holdfast generates for a Canary; the suffixes of names are Flagger's (flagger-behaviour.md
 * 2.18).
 */
import { apexName, type Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { refuseTarget } from './refusal.ts';

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

// The annotations of a workload that is rolled out in place: together with its spec they hold the whole state, also after a crash (ADR 21).

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

// Labels and annotations that a copy takes from its original.

/** Keys of other tools' or Holdfast's own bookkeeping, which must not appear on a copy (design section 3). */
const neverCopied: readonly RegExp[] = [
  /toolkit\.fluxcd\.io/,
  /^applyset\.kubernetes\.io\//,
  /^(.+\.)?holdfast\.dev\//,
  /^argocd\.argoproj\.io\//,
  /^meta\.helm\.sh\//,
  /^kubectl\.kubernetes\.io\/last-applied-configuration$/,
  /^deployment\.kubernetes\.io\//,
  /^deprecated\.daemonset\.template\.generation$/,
  /^flagger-id$/,
  // KEDA gives each ScaledObject one with its own name.
  /^scaledobject\.keda\.sh\/name$/,
];

const controllerKeys = /^(deployment\.kubernetes\.io\/|deprecated\.daemonset\.template\.generation$)/;

type StringMap = Readonly<Record<string, string>>;

/** All entries but the bookkeeping of tools. */
export function copyableEntries(entries: StringMap | undefined): Record<string, string> {
  return copiedByPrefix(entries, ['*']);
}

/** The target's annotations without those of the workload controllers, which a manifest exported from a cluster may hold. */
export function withoutBookkeeping(entries: StringMap | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !controllerKeys.test(key)));
}

/**
 * Entries that may be copied and whose key begins with one of the prefixes, in their order; `*` means all (Flagger's --include-label-prefix,
 * default none).
 */
export function copiedByPrefix(
  entries: StringMap | undefined,
  prefixes: readonly string[],
): Record<string, string> {
  const isWanted = (key: string) =>
    prefixes.some((prefix) => prefix === '*' || key.startsWith(prefix)) &&
    !neverCopied.some((pattern) => pattern.test(key));
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => isWanted(key)));
}

/** `true` on a canary's side that no release uses: it counts as one without pods, since there is nothing to scale. */
export const atRestAnnotation = 'holdfast.dev/at-rest';

/** Merge patch that marks a side as at rest or in use; undefined when it is marked so already. */
export function atRestPatch(
  { metadata }: KubernetesObject,
  replicas: number,
): Record<string, unknown> | undefined {
  const wanted = String(replicas === 0);
  if ((metadata.annotations?.[atRestAnnotation] ?? 'false') === wanted) return undefined;
  return { metadata: { annotations: { [atRestAnnotation]: wanted } } };
}

// The label that distinguishes primary pods from canary pods.

/** Label keys in order of preference (Flagger's --selector-labels). */
export const defaultSelectorLabels: readonly string[] = ['app', 'name', 'app.kubernetes.io/name'];

/** The distinguishing label of a target. */
export interface SelectorLabel {
  key: string;
  /** Value on the canary's pods. */
  canary: string;
  /** Value on the primary's pods. */
  primary: string;
}

const maximumLabelLength = 63;
const primarySuffix = '-primary';

/** The labels by which a workload selects its pods. */
export function matchLabelsOf({ spec }: KubernetesObject): Readonly<Record<string, string>> {
  const { selector } = (spec ?? {}) as { selector?: { matchLabels?: Record<string, string> } };
  return selector?.matchLabels ?? {};
}

/**
 * The first of the selector labels that the target's matchLabels carry (flagger-behaviour.md 2.2 step 4).
 * Throws RefusedError when there is none, when the pod template lacks it, or when the primary's value would be too long for a label.
 */
export function selectorLabel(
  target: KubernetesObject,
  labels: readonly string[] = defaultSelectorLabels,
): SelectorLabel {
  const { template } = (target.spec ?? {}) as {
    template?: { metadata?: { labels?: Record<string, string> } };
  };
  const matchLabels = matchLabelsOf(target);
  const key = labels.find((label) => matchLabels[label]);
  const canary = key === undefined ? undefined : matchLabels[key];
  if (key === undefined || canary === undefined)
    return refuseTarget(
      target,
      'spec.selector.matchLabels',
      `needs one of the labels ${labels.join(', ')}, to tell primary pods from canary pods`,
    );
  if (template?.metadata?.labels?.[key] !== canary)
    return refuseTarget(
      target,
      `spec.template.metadata.labels[${key}]`,
      `must be ${canary}, as in spec.selector.matchLabels`,
    );
  const primary = `${canary}${primarySuffix}`;
  if (primary.length > maximumLabelLength)
    return refuseTarget(
      target,
      `spec.selector.matchLabels[${key}]`,
      `${canary} is too long: the primary's value ${primary} must fit in ${maximumLabelLength} characters`,
    );
  return { key, canary, primary };
}

/** The same, as the primary has it; undefined: it was not made from a target by these labels. */
export function selectorLabelOfPrimary(
  primary: KubernetesObject,
  labels: readonly string[],
): SelectorLabel | undefined {
  const matchLabels = matchLabelsOf(primary);
  const found = labels
    .map((key) => ({ key, primary: matchLabels[key] ?? '' }))
    .find((label) => label.primary.endsWith(primarySuffix));
  return found && { ...found, canary: found.primary.slice(0, -primarySuffix.length) };
}
