/** Deployments as targets: canary and primary (flagger-behaviour.md 2.10). */
import { keepAwayAnnotations, ownerReference, ownLabels } from '../api/generated-metadata.ts';
import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import { templateOf, type WorkloadSettings } from '../release/release.ts';
import { primaryConfigNames, releaseAnnotations } from './configs.ts';
import { viewDeployment } from './deployment-view.ts';
import type { PrimarySource, WorkloadKind, WorkloadSource } from './kind.ts';
import { copied, copiedByPrefix, withoutBookkeeping } from './metadata.ts';
import { primaryName, settingsAnnotation } from './names.ts';
import { refuseForeign } from './ownership.ts';
import { RefusedError } from './refusal.ts';
import { primaryTemplate } from './rewrite.ts';
import { type SelectorLabel, selectorLabel } from './selector.ts';

/** The Deployment entry of the table of kinds. */
export const deployment: WorkloadKind = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  canary: canaryDeployment,
  primary: primaryDeployment,
  settingsPatch: ({ settings, settingsKey, replicas }) => ({
    metadata: { annotations: { [settingsAnnotation]: settingsKey } },
    spec: { ...replicasField(replicas), ...settingsFields(settings) },
  }),
  scalePatch: (replicas) => ({ spec: { replicas } }),
  view: viewDeployment,
};

function canaryDeployment(source: WorkloadSource): KubernetesObject {
  const { release, settings } = source;
  const { target } = release;
  selectorLabel(target, source.selectorLabels);
  const { name, namespace, labels } = target.metadata;
  const { replicas: _, ...spec } = target.spec as Record<string, unknown>;
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
    spec: { ...spec, ...replicasField(source.replicas), ...settingsFields(settings) },
  };
}

function primaryDeployment(source: PrimarySource): KubernetesObject {
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
      ...replicasField(source.replicas),
      ...settingsFields(source.settings),
      selector: { matchLabels: { [label.key]: label.primary } },
      template: primaryTemplate(templateOf(release), {
        targetName: target.metadata.name,
        label,
        selectorLabels,
        configNames: primaryConfigNames(source),
      }),
    },
  };
}

function primaryMetadata(source: PrimarySource, label: SelectorLabel): KubernetesObject['metadata'] {
  const { canary, release, settingsKey } = source;
  const { metadata } = release.target;
  return {
    name: primaryName(canary),
    namespace: metadata.namespace ?? canary.metadata.namespace ?? 'default',
    labels: {
      ...copiedByPrefix(metadata.labels, source.includeLabelPrefixes),
      ...ownLabels(canary),
      [label.key]: label.primary,
    },
    annotations: {
      ...copied(metadata.annotations),
      ...keepAwayAnnotations,
      ...releaseAnnotations(release),
      [settingsAnnotation]: settingsKey,
    },
    ownerReferences: [ownerReference(canary)],
  };
}

/** A selector cannot be changed; writing over a primary with another one would fail after the config copies were written. */
function refuseOtherSelector(live: KubernetesObject | undefined, label: SelectorLabel): void {
  if (!live) return;
  const selector = (live.spec as { selector?: { matchLabels?: Record<string, string> } }).selector
    ?.matchLabels;
  if (Object.keys(selector ?? {}).length === 1 && selector?.[label.key] === label.primary) return;
  throw new RefusedError({
    reason: 'NameTaken',
    object: describe(live),
    field: 'spec.selector.matchLabels',
    message: `must be exactly ${label.key}: ${label.primary}; Kubernetes does not let a selector change, so rename or delete this Deployment`,
  });
}

function replicasField(replicas: number | undefined): { replicas?: number } {
  return replicas === undefined ? {} : { replicas };
}

/**
 * Every setting with an explicit value, Kubernetes' default where Git says nothing: a setting that was dropped from Git would otherwise
 * keep its last value, and `rollingUpdate: null` makes room for Recreate, which forbids the defaulted one.
 */
function settingsFields(settings: WorkloadSettings): Record<string, unknown> {
  return {
    strategy: strategyField(settings.strategy),
    minReadySeconds: settings.minReadySeconds ?? 0,
    progressDeadlineSeconds: settings.progressDeadlineSeconds ?? 600,
    revisionHistoryLimit: settings.revisionHistoryLimit ?? 10,
  };
}

function strategyField(strategy: Record<string, unknown> | undefined): Record<string, unknown> {
  if (strategy?.type === 'Recreate') return { type: 'Recreate', rollingUpdate: null };
  const given = strategy?.rollingUpdate as Record<string, unknown> | undefined | null;
  return {
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge: given?.maxSurge ?? '25%', maxUnavailable: given?.maxUnavailable ?? '25%' },
  };
}
