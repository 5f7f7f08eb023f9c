/** What a release leaves on a workload that is rolled out in place: with its spec all that has to be known, also after a crash (ADR 21). */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { promotedAnnotation, shareAnnotation } from '../names.ts';

/** The release that older pods run while another one is tried; undefined when none is. */
export function promotedOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.annotations?.[promotedAnnotation];
}

/** The share of the step in percent; undefined without a release that is tried, or left. */
export function shareOf({ metadata }: KubernetesObject): number | undefined {
  const text = metadata.annotations?.[shareAnnotation];
  return text !== undefined && /^(\d{1,2}|100)$/.test(text) ? Number(text) : undefined;
}

/** A release was brought, and no pod of it was let in. */
export function isBrought(live: KubernetesObject): boolean {
  return promotedOf(live) !== undefined && (shareOf(live) ?? 0) === 0;
}
