/**
 * New pods when only config changes: a template names ConfigMaps and Secrets, not what is in them, and variables are read once. The stamp is an
 * annotation of the pod template, Flagger's own `flagger-id`; unlike Flagger's it changes only with the config.
 */
import { livePart } from '../api/digest.ts';
import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import type { Release } from '../release/release.ts';
import { configAnnotation, digestAnnotation } from './names.ts';

const stampAnnotation = 'flagger-id';

/** What stands for the config of a release, in Git and beside it; undefined when it tracks none. */
export function configStamp({
  configKey,
  digest,
}: Pick<Release, 'configKey' | 'digest'>): string | undefined {
  const parts = [configKey, livePart(digest)].filter((part) => part !== undefined);
  return parts.length > 0 ? parts.join('-') : undefined;
}

/**
 * The stamp of the primary. One that runs the same config keeps what it has, and so does one that Holdfast did not write before: taking it
 * over restarts no pod.
 */
export function primaryStamp(
  release: Pick<Release, 'configKey' | 'digest'>,
  live: KubernetesObject | undefined,
): string | undefined {
  const stamp = configStamp(release);
  const { annotations = {} } = live?.metadata ?? {};
  const isSame = annotations[configAnnotation] === stamp;
  const isTakenOver = live !== undefined && annotations[digestAnnotation] === undefined;
  return isSame || isTakenOver ? stampOf(live) : stamp;
}

/** The template with the stamp on its pods. */
export function stamped(template: PodTemplate, stamp: string | undefined): PodTemplate {
  if (stamp === undefined) return template;
  const { metadata } = template;
  const annotations = { ...metadata?.annotations, [stampAnnotation]: stamp };
  return { ...template, metadata: { ...metadata, annotations } };
}

/** The stamp that the pods of a workload carry, if they do. */
export function stampOf(live: KubernetesObject | undefined): string | undefined {
  const { template } = (live?.spec ?? {}) as { template?: PodTemplate };
  return template?.metadata?.annotations?.[stampAnnotation];
}
