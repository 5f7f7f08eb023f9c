/** What a primary runs, in the words of its target: for one that carries no record of ours (flagger-behaviour 2.10, backwards). Pure. */
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { type ConfigReference, configReferences } from '../release/refs.ts';
import { templateOf } from '../release/release.ts';
import { configKey } from './configs.ts';
import { wantedConfig, wantedTarget } from './live-target.ts';
import { copied } from './metadata.ts';
import { targetTemplate } from './rewrite.ts';
import { selectorLabel } from './selector.ts';

const suffix = '-primary';

/** Names of what may be copies: what the primary's pods name with Flagger's suffix. */
export function possibleCopies(primary: KubernetesObject): ConfigReference[] {
  return configReferences(templateOf({ target: primary })).filter(({ name }) => name.endsWith(suffix));
}

/** The two workloads, and the copies that the Canary generated. */
export interface AdoptedSource {
  readonly primary: KubernetesObject;
  readonly target: KubernetesObject;
  readonly copies: readonly KubernetesObject[];
  readonly selectorLabels: readonly string[];
}

/** The target as it was when the primary was made from it: template and settings of the primary, everything else of the target. */
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
  return { ...template, metadata: { labels: copied(labels), annotations: copied(annotations) } };
}
