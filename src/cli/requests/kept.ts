import type { KubernetesObject } from '../../api/kubernetes.ts';
import { labelValue } from '../../api/short-name.ts';
import { recordViews } from '../../engine/records/records.ts';
import { labelCanary, labelRecord } from '../../release/names.ts';
import type { RecordView } from '../../rollout/world.ts';
import type { RequestClient } from './request.ts';

/** The releases of a Canary that are kept in Secrets, the newest good one first; their content is not read. Throws ApiError. */
export async function keptReleases(
  client: Pick<RequestClient, 'list'>,
  { metadata: { name, namespace = '' } }: KubernetesObject,
): Promise<RecordView[]> {
  const labelSelector = `${labelCanary}=${labelValue(name)},${labelRecord}=release`;
  const { items } = await client.list('v1', 'Secret', { namespace, labelSelector, metadataOnly: true });
  return recordViews(items, { namespace, name }).sort((left, right) => timeOf(right) - timeOf(left));
}

function timeOf({ promotedTime }: RecordView): number {
  return promotedTime === undefined ? 0 : Date.parse(promotedTime);
}
