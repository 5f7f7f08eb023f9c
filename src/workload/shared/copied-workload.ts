/** What Deployments and DaemonSets have in common: metadata, selector and template of the two copies (flagger-behaviour.md 2.10). */
import {
  describe,
  type KubernetesObject,
  keepAwayAnnotations,
  ownerReference,
  ownLabels,
  type PodTemplate,
} from '../../api/kubernetes.ts';
import { configStamp, primaryConfigNames, primaryStamp, releaseAnnotations, stamped } from './configs.ts';
import {
  configAnnotation,
  copiedByPrefix,
  copyableEntries,
  matchLabelsOf,
  primaryName,
  type SelectorLabel,
  selectorLabel,
  settingsAnnotation,
  withoutBookkeeping,
} from './metadata.ts';
import { primaryTemplate } from './pod-template.ts';
import { RefusedError, refuseForeign } from './refusal.ts';
import type { PrimarySource, WorkloadSource } from './workload-kind.ts';

/** The target as the rollout writes it, with this spec. Throws RefusedError. */
export function canaryWorkload(source: WorkloadSource, spec: Record<string, unknown>): KubernetesObject {
  const { release } = source;
  const { target } = release;
  selectorLabel(target, source.selectorLabels);
  const { name, namespace, labels } = target.metadata;
  return {
    apiVersion: target.apiVersion,
    kind: target.kind,
    metadata: {
      name,
      namespace: namespace ?? source.canary.metadata.namespace ?? 'default',
      ...(labels ? { labels } : {}),
      annotations: {
        ...withoutBookkeeping(target.metadata.annotations),
        ...releaseAnnotations(release),
        [settingsAnnotation]: source.settingsKey,
      },
    },
    spec: { ...spec, template: stamped(spec.template as PodTemplate, configStamp(release)) },
  };
}

/** The primary: these fields of the spec, and its own selector and template. `template` is the target's. Throws RefusedError. */
export function primaryWorkload(
  source: PrimarySource,
  fields: Record<string, unknown>,
  template: PodTemplate,
): KubernetesObject {
  const { canary, release, selectorLabels } = source;
  const { target } = release;
  const label = selectorLabel(target, selectorLabels);
  refuseForeign(source.live, canary);
  refuseOtherSelector(source.live, label);
  return {
    apiVersion: target.apiVersion,
    kind: target.kind,
    metadata: primaryMetadata(source, label),
    spec: {
      ...fields,
      selector: { matchLabels: { [label.key]: label.primary } },
      template: stamped(
        primaryTemplate(template, {
          targetName: target.metadata.name,
          label,
          selectorLabels,
          configNames: primaryConfigNames(source),
        }),
        primaryStamp(release, source.live),
      ),
    },
  };
}

function primaryMetadata(source: PrimarySource, label: SelectorLabel): KubernetesObject['metadata'] {
  const { canary, release, settingsKey } = source;
  const { metadata } = release.target;
  const stamp = configStamp(release);
  return {
    name: primaryName(canary),
    namespace: metadata.namespace ?? canary.metadata.namespace ?? 'default',
    labels: {
      ...copiedByPrefix(metadata.labels, source.includeLabelPrefixes),
      ...ownLabels(canary),
      [label.key]: label.primary,
    },
    annotations: {
      ...copyableEntries(metadata.annotations),
      ...keepAwayAnnotations,
      ...releaseAnnotations(release),
      [settingsAnnotation]: settingsKey,
      ...(stamp === undefined ? {} : { [configAnnotation]: stamp }),
    },
    ownerReferences: [ownerReference(canary)],
  };
}

/** A selector cannot be changed; writing over a primary with another one would fail after the config copies were written. */
function refuseOtherSelector(live: KubernetesObject | undefined, label: SelectorLabel): void {
  if (!live) return;
  const selector = matchLabelsOf(live);
  if (Object.keys(selector).length === 1 && selector[label.key] === label.primary) return;
  throw new RefusedError({
    reason: 'NameTaken',
    object: describe(live),
    field: 'spec.selector.matchLabels',
    message: `must be exactly ${label.key}: ${label.primary}; Kubernetes does not let a selector change, so rename or delete this ${live.kind}`,
  });
}
