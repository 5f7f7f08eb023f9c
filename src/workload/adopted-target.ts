/** The target that a primary of Flagger's was made from, read back from that primary (flagger-behaviour 2.10, backwards). Pure. */
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { type ConfigReference, configReferences } from '../release/release.ts';
import { scaleToZeroSelector } from './daemonset/daemonset.ts';
import { configKey, plainConfig } from './shared/configs.ts';
import { copyableEntries, selectorLabel } from './shared/metadata.ts';
import { targetTemplate } from './shared/pod-template.ts';

const suffix = '-primary';

/** Configs that may be copies: those that the primary's pods name with Flagger's suffix. */
export function possibleCopies(primary: KubernetesObject): ConfigReference[] {
  return configReferences(primary).filter(({ name }) => name.endsWith(suffix));
}

/** The two workloads, and the copies that the Canary generated. */
interface AdoptedSource {
  readonly primary: KubernetesObject;
  readonly target: KubernetesObject;
  readonly copies: readonly KubernetesObject[];
  readonly selectorLabels: readonly string[];
}

/** The target from which the primary was created: template and settings of the primary, everything else of the target. */
export function adoptedTarget({ primary, target, copies, selectorLabels }: AdoptedSource): KubernetesObject {
  const label = selectorLabel(target, selectorLabels);
  const keys = new Set(copies.map(({ kind, metadata }) => configKey(kind, metadata.name)));
  const { spec } = wantedTarget(primary) as unknown as { spec: { template: PodTemplate } };
  const template = targetTemplate(spec.template, {
    targetName: target.metadata.name,
    label,
    selectorLabels,
    configNames: (kind, name) =>
      keys.has(configKey(kind, name)) ? name.slice(0, -suffix.length) : undefined,
  });
  const wanted = wantedTarget(target);
  const { selector } = wanted.spec as { selector?: unknown };
  return { ...wanted, spec: { ...spec, selector, template } };
}

/** The copies as the configs they were made from. */
export function adoptedConfigs(copies: readonly KubernetesObject[]): KubernetesObject[] {
  return copies.map((copy) => {
    const { metadata, ...config } = wantedConfig(copy);
    return { ...config, metadata: { ...metadata, name: metadata.name.slice(0, -suffix.length) } };
  });
}

/** A pod template without what one of the two copies never carries: tools' bookkeeping in labels and annotations. */
export function comparableTemplate({ metadata = {}, ...template }: PodTemplate): PodTemplate {
  const { labels, annotations } = metadata;
  return {
    ...template,
    metadata: { labels: copyableEntries(labels), annotations: copyableEntries(annotations) },
  };
}

// Live objects that another tool applies, as that tool wants them: without what the cluster, the rollout or the tool's bookkeeping added.

/**
 * The target as its applier wants it, defaults included. Replicas and the selector of a DaemonSet at rest are left out: the rollout writes
 * them (flagger-behaviour 2.17).
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
      annotations: copyableEntries(annotations),
    },
    spec: { ...rest, ...(template ? { template: wantedTemplate(template as PodTemplate) } : {}) },
  };
}

/** A ConfigMap or Secret as its applier wants it; the annotation that opts out of tracking stays. */
export function wantedConfig(config: KubernetesObject): KubernetesObject {
  const plain = plainConfig(config);
  return {
    ...plain,
    metadata: { ...plain.metadata, annotations: copyableEntries(config.metadata.annotations) },
  };
}

/** Older API servers answer with `creationTimestamp: null` here. */
function wantedTemplate({ metadata = {}, spec, ...rest }: PodTemplate): PodTemplate {
  const { creationTimestamp: _, ...wanted } = metadata as Record<string, unknown>;
  const { nodeSelector, ...pod } = spec as PodTemplate['spec'] & { nodeSelector?: Record<string, string> };
  const { [scaleToZeroSelector]: __, ...selector } = nodeSelector ?? {};
  const own = Object.keys(selector).length > 0 ? { nodeSelector: selector } : {};
  return { ...rest, metadata: wanted, spec: { ...pod, ...own } };
}
