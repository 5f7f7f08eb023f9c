/** Deployments as targets: canary and primary (flagger-behaviour.md 2.10). */
import { templateOf, type WorkloadSettings } from '../release/release.ts';
import { canaryWorkload, primaryWorkload } from './builders.ts';
import { viewDeployment } from './deployment-view.ts';
import type { WorkloadKind } from './kind.ts';
import { settingsAnnotation } from './names.ts';

/** The Deployment entry of the table of kinds. */
export const deployment: WorkloadKind = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  watches: [],
  sides: 'workloads',
  canary(source) {
    const { replicas: _, ...spec } = source.release.target.spec as Record<string, unknown>;
    return canaryWorkload(source, {
      ...spec,
      ...replicasField(source.replicas),
      ...settingsFields(source.settings),
    });
  },
  primary: (source) =>
    primaryWorkload(
      source,
      { ...replicasField(source.replicas), ...settingsFields(source.settings) },
      templateOf(source.release),
    ),
  settingsPatch: ({ settings, settingsKey, replicas }) => ({
    metadata: { annotations: { [settingsAnnotation]: settingsKey } },
    spec: { ...replicasField(replicas), ...settingsFields(settings) },
  }),
  scalePatch: ({ spec }, replicas) =>
    (spec as { replicas?: number } | undefined)?.replicas === replicas ? undefined : { spec: { replicas } },
  view: viewDeployment,
};

function replicasField(replicas: number | undefined): { replicas?: number } {
  return replicas === undefined ? {} : { replicas };
}

/**
 * Settings as a Deployment is written with them. Every one has an explicit value, Kubernetes' default where Git says nothing: a setting
 * that was dropped from Git would otherwise keep its last value, and `rollingUpdate: null` makes room for Recreate, which forbids the
 * defaulted one.
 */
export function settingsFields(settings: WorkloadSettings): Record<string, unknown> {
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
