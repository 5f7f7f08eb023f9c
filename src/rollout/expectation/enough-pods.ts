import type { WorkloadView } from '../world.ts';
import type { Expected } from './comparison.ts';

/**
 * How many pods of the current template must be available: their ready threshold, of the least of the range where one is expected; at least
 * one.
 */
export function enoughPods(
  { updatedReplicas }: Pick<WorkloadView, 'updatedReplicas'>,
  { readyPercent, replicas }: Pick<Expected, 'readyPercent' | 'replicas'>,
): number {
  const asked = Math.min(updatedReplicas, replicas?.min ?? Number.POSITIVE_INFINITY);
  return Math.max(1, Math.floor((asked * readyPercent) / 100));
}
