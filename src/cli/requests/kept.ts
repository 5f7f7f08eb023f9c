import type { KubernetesObject } from '../../api/kubernetes.ts';
import { labelValue } from '../../api/short-name.ts';
import { recordViews } from '../../engine/records/records.ts';
import { labelCanary, labelRecord } from '../../release/names.ts';
import { newestFirst } from '../../rollout/record-order.ts';
import type { RecordView } from '../../rollout/world.ts';
import type { RequestClient } from './request.ts';

/** The releases of a Canary that are kept in Secrets, the newest good one first; their content is not read. Throws ApiError. */
export async function keptReleases(
  client: Pick<RequestClient, 'list'>,
  { metadata: { name, namespace = '' } }: KubernetesObject,
): Promise<RecordView[]> {
  const labelSelector = `${labelCanary}=${labelValue(name)},${labelRecord}=release`;
  const { items } = await client.list('v1', 'Secret', { namespace, labelSelector, metadataOnly: true });
  const kept = recordViews(items, { namespace, name }).sort(newestFirst);
  return [...kept.filter(isProven), ...kept.filter((record) => !isProven(record))];
}

function isProven({ promotedTime }: RecordView): boolean {
  return promotedTime !== undefined;
}
