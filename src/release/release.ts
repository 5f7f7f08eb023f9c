import { createHash } from 'node:crypto';
import { gitPart } from '../api/digest.ts';
import { isRecord } from '../api/json.ts';
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import type { CommitInfo } from '../api/observed.ts';
import { canonicalJson, fromEntries, numberOf, recordOf } from './json.ts';
import { isService, type ServiceContent, serviceContent } from './service-content.ts';

/** One port of the generated Services. */
export interface ServicePort {
  name: string;
  protocol: string;
  port: number;
  targetPort: number | string;
  appProtocol?: string;
}

/**
 * What Git says about one Canary's workload at one commit: everything that is rolled out, and comes back, together (design section 3).
 * `target` and `configs` are the rendered objects as in Git, namespace filled in.
 */
export interface Release {
  /** `v1:` + sha256, see digest.ts, and what stands for `liveConfigs`: identity of the release; never the commit. */
  digest: string;
  commit: CommitInfo;
  canary: { namespace: string; name: string };
  target: KubernetesObject;
  /** Ports of the generated Services: the Canary's first, then discovered ones. */
  ports: ServicePort[];
  /** ConfigMaps and Secrets the template names that come from Git. */
  configs: KubernetesObject[];
  /** Tracked names the template needs that are not in Git; they are copied from the cluster. */
  liveConfigs: Array<{ kind: 'ConfigMap' | 'Secret'; name: string; optional: boolean }>;
  /** Stands for the content of `configs`, 16 hex digits; absent without any. */
  configKey?: string;
  /** Files of the repository this release was read from (sorted, unique), as `path:line` of each object. */
  origins: string[];
  /** JSON pointers below `/spec/template/`, of a Service below `/spec/`, that are no part of the digest; absent: none. */
  revisionIgnore?: string[];
}

/** Fields of the workload that are not part of the digest: applied without analysis (design section 3, "settings"). */
export interface WorkloadSettings {
  replicas?: number;
  strategy?: Record<string, unknown>;
  minReadySeconds?: number;
  progressDeadlineSeconds?: number;
  revisionHistoryLimit?: number;
}

/** The release with what stands for the content of its `liveConfigs` in its digest; undefined takes that out. */
export function withLivePart(release: Release, live: string | undefined): Release {
  const digest = gitPart(release.digest);
  return { ...release, digest: live === undefined ? digest : `${digest}+${live}` };
}

/** The pod template of a release's target; one without containers where the target has none, as a Service. */
export function templateOf({ target }: { readonly target: KubernetesObject }): PodTemplate {
  const { template } = (target.spec ?? {}) as { template?: PodTemplate };
  return template ?? { spec: { containers: [] } };
}

/** What of a target is rolled out, as it enters the digest: its pod template, or of a Service who gets a request. */
export function digestedPart(target: KubernetesObject): {
  readonly template?: PodTemplate;
  readonly service?: ServiceContent;
} {
  if (isService(target)) return { service: serviceContent(target.spec) };
  return { template: templateOf({ target }) };
}

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
