import { flaggerSelectors, isAvailable } from '../api/flagger.ts';
import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import type { ClusterClient } from '../cluster/client.ts';
import { isApiError } from '../cluster/errors.ts';
import { bad, type CheckLine } from './check-report.ts';

/** Flagger at work beside Holdfast: both would write the same objects. Nothing to say where Deployments may not be listed. */
export async function checkRivals(client: Pick<ClusterClient, 'list'>): Promise<CheckLine[]> {
  const found = new Map<string, KubernetesObject>();
  for (const labelSelector of flaggerSelectors) {
    const { items } = await client
      .list('apps/v1', 'Deployment', { labelSelector })
      .catch((error: unknown) => {
        if (isApiError(error, 'forbidden')) return { items: [] };
        throw error;
      });
    for (const item of items) found.set(describe(item), item);
  }
  return [...found.values()].filter(isAvailable).map((deployment) =>
    bad('failed', describe(deployment), 'Flagger is running and acts on the same Canaries', {
      actor: 'administrator',
      act: 'scale it to zero before Holdfast runs, and back to undo the step',
    }),
  );
}
