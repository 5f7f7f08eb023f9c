import { gitPart } from '../api/digest.ts';
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import type { CommitInfo } from '../api/observed.ts';
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
export function rolledOut(target: KubernetesObject): {
  readonly template?: PodTemplate;
  readonly service?: ServiceContent;
} {
  if (isService(target)) return { service: serviceContent(target.spec) };
  return { template: templateOf({ target }) };
}
