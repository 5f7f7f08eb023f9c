/** Live objects that another tool applies, as what is wanted: without what the cluster, the rollout or that tool's bookkeeping added. */
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { plainConfig } from './configs.ts';
import { scaleToZeroSelector } from './daemon-set-view.ts';
import { copied } from './metadata.ts';

/**
 * The target as its applier wants it, defaults included. Replicas and the selector of a DaemonSet at rest are left out: the rollout writes
 * them (flagger-behaviour 2.17), so they say nothing about what is wanted.
 */
export function wantedTarget({ apiVersion, kind, metadata, spec }: KubernetesObject): KubernetesObject {
  const { name, namespace, labels, annotations } = metadata;
  const { replicas: _, template, ...rest } = (spec ?? {}) as Record<string, unknown>;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace ? { namespace } : {}),
      ...(labels ? { labels } : {}),
      annotations: copied(annotations),
    },
    spec: { ...rest, ...(template ? { template: wantedTemplate(template as PodTemplate) } : {}) },
  };
}

/** A ConfigMap or Secret as its applier wants it; the annotation that opts out of tracking stays. */
export function wantedConfig(config: KubernetesObject): KubernetesObject {
  const plain = plainConfig(config);
  return { ...plain, metadata: { ...plain.metadata, annotations: copied(config.metadata.annotations) } };
}

/** Older API servers answer with `creationTimestamp: null` here. */
function wantedTemplate({ metadata = {}, spec, ...rest }: PodTemplate): PodTemplate {
  const { creationTimestamp: _, ...kept } = metadata as Record<string, unknown>;
  const { nodeSelector, ...pod } = spec as PodTemplate['spec'] & { nodeSelector?: Record<string, string> };
  const { [scaleToZeroSelector]: __, ...selector } = nodeSelector ?? {};
  const own = Object.keys(selector).length > 0 ? { nodeSelector: selector } : {};
  return { ...rest, metadata: kept, spec: { ...pod, ...own } };
}
