/** Waiting until everything that a Source applied works (`spec.wait`). */
import { sourceTimeoutMs } from '../../../api/effective.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source.ts';
import type { AppliedObjects } from '../apply-object.ts';
import { isCanary } from '../canary-names.ts';
import type { SourceState } from '../source-parts.ts';
import { healthOf } from './health.ts';
import type { SourceHealth } from './source-health.ts';
import type { Health } from './verdict.ts';

/**
 * Undefined where nobody waits, or nothing is applied yet. Canaries are left out: a release may take hours, and what is wrong with one shows in
 * the Source's condition Healthy anyway. So are their targets, which rollouts write.
 */
export function sourceHealth(
  source: Source,
  { inForce, appliedMs }: Pick<SourceState, 'inForce' | 'appliedMs'>,
  watched: AppliedObjects,
  nowMs: number,
): SourceHealth | undefined {
  if (source.spec.wait !== true || !inForce) return undefined;
  const objects = inForce.effective.rest.map(({ object }) => object).filter((object) => !isCanary(object));
  const found = objects.map((object) => healthOf(object, liveOf(watched, object)));
  const isLate = appliedMs !== undefined && nowMs - appliedMs >= sourceTimeoutMs(source);
  return {
    objects: objects.length,
    failed: told(found, 'failed'),
    progressing: told(found, 'progressing'),
    isLate,
  };
}

function liveOf(watched: AppliedObjects, object: KubernetesObject): KubernetesObject | undefined {
  return watched.setOf(object)?.get(object.metadata.namespace, object.metadata.name);
}

function told(found: readonly Health[], kind: 'failed' | 'progressing'): string[] {
  return found.flatMap((health) => (health.kind === kind ? [health.why] : []));
}
