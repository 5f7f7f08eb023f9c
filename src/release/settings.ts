import { createHash } from 'node:crypto';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { canonicalJson, fromEntries, isRecord, numberOf, recordOf } from './json.ts';
import type { WorkloadSettings } from './release.ts';

/** Where each setting stands in the spec; a DaemonSet and a StatefulSet call their strategy `updateStrategy`. */
const numberSettings = [
  'replicas',
  'minReadySeconds',
  'progressDeadlineSeconds',
  'revisionHistoryLimit',
] as const;

/** The settings a target's manifest asks for; what it does not mention is absent. */
export function settingsOf(target: KubernetesObject): WorkloadSettings {
  const spec = recordOf(target.spec);
  const settings: WorkloadSettings = {};
  for (const name of numberSettings) {
    const value = numberOf(spec[name]);
    if (value !== undefined) settings[name] = value;
  }
  const strategy = spec[strategyField(target.kind)];
  if (isRecord(strategy)) settings.strategy = strategy;
  return settings;
}

/** Equal for equal settings: 16 hex digits. */
export function settingsKey(settings: WorkloadSettings): string {
  return createHash('sha256').update(canonicalJson(settings)).digest('hex').slice(0, 16);
}

/** A copy of the target with exactly these settings: those that are absent are taken out. */
export function withSettings(target: KubernetesObject, settings: WorkloadSettings): KubernetesObject {
  const { strategy, ...numbers } = settings;
  const field = strategyField(target.kind);
  const settable = new Set<string>([...numberSettings, field]);
  const kept = Object.entries(recordOf(target.spec)).filter(([name]) => !settable.has(name));
  const added = Object.entries({ ...numbers, ...(strategy ? { [field]: strategy } : {}) });
  return { ...target, spec: fromEntries([...kept, ...added]) };
}

function strategyField(kind: string): string {
  return kind === 'Deployment' ? 'strategy' : 'updateStrategy';
}
