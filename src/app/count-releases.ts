import type { CanaryStatus } from '../api/canary-status.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { WatchedSet } from '../engine/ports/ports.ts';
import type { MetricsSink } from '../web/metrics-sink.ts';

/**
 * Counts ends of releases as the status of their Canary tells them; what was over before the start is not counted again, and neither is a
 * change of the phase without a release (a commit that goes back to the last-known-good).
 */
export function countReleases(
  canaries: Pick<WatchedSet, 'get' | 'list' | 'onChange'>,
  sink: Pick<MetricsSink, 'ended'>,
): void {
  const seen = new Map<string, string>();
  const look = (canary: KubernetesObject) => {
    const { uid = '', namespace, name } = canary.metadata;
    const before = seen.get(uid);
    seen.delete(uid);
    if (!canaries.get(namespace, name)) return;
    const last = (canary.status as CanaryStatus | undefined)?.history?.[0];
    const end = last ? `${last.digest} ${last.endTime}` : '';
    seen.set(uid, end);
    if (last && before !== undefined && before !== end) sink.ended(canary, last.result);
  };
  canaries.onChange((changed) => {
    for (const canary of changed ? [changed] : canaries.list()) look(canary);
  });
}
