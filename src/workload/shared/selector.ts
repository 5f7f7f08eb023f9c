/** The label that tells primary pods from canary pods. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { refuseTarget } from './refusal.ts';

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

/**
 * The first of the selector labels that the target's matchLabels carry (flagger-behaviour.md 2.2 step 4).
 * Throws RefusedError when there is none, when the pod template lacks it, or when the primary's value would be too long for a label.
 */
export function selectorLabel(
  target: KubernetesObject,
  labels: readonly string[] = defaultSelectorLabels,
): SelectorLabel {
  const spec = (target.spec ?? {}) as {
    selector?: { matchLabels?: Record<string, string> };
    template?: { metadata?: { labels?: Record<string, string> } };
  };
  const matchLabels = spec.selector?.matchLabels ?? {};
  const key = labels.find((label) => matchLabels[label]);
  const canary = key === undefined ? undefined : matchLabels[key];
  if (key === undefined || canary === undefined)
    return refuseTarget(
      target,
      'spec.selector.matchLabels',
      `needs one of the labels ${labels.join(', ')}, to tell primary pods from canary pods`,
    );
  if (spec.template?.metadata?.labels?.[key] !== canary)
    return refuseTarget(
      target,
      `spec.template.metadata.labels[${key}]`,
      `must be ${canary}, as in spec.selector.matchLabels`,
    );
  const primary = `${canary}-primary`;
  if (primary.length > maximumLabelLength)
    return refuseTarget(
      target,
      `spec.selector.matchLabels[${key}]`,
      `${canary} is too long: the primary's value ${primary} must fit in ${maximumLabelLength} characters`,
    );
  return { key, canary, primary };
}
