/** A Canary that left Git while its target stays: the target takes the traffic back before the Canary goes (design section 5). */
import { handingBackAnnotation } from '../../../api/annotations.ts';
import { finalizer } from '../../../api/flagger.ts';
import { type KubernetesObject, objectKey, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { isCanary } from '../scope/canary-objects.ts';

type Writer = Pick<Cluster, 'patch' | 'delete'>;

/**
 * One step: asks for the hand-back as `spec.revertOnDeletion` does, waits for the finalizer that holds the Canary until then, and deletes it.
 * True when something was written. Every step is read back from the Canary itself, so that a restart goes on where it was.
 */
export async function handBackStep(cluster: Writer, live: KubernetesObject): Promise<boolean> {
  if (!asksForHandBack(live)) {
    const metadata = { ...versionOf(live), annotations: { [handingBackAnnotation]: 'true' } };
    await cluster.patch(referenceOf(live), { metadata, spec: { revertOnDeletion: true } });
    return true;
  }
  if (!live.metadata.finalizers?.includes(finalizer)) return false;
  await cluster.delete(referenceOf(live), versionOf(live));
  return true;
}

/** A Canary that came back to Git before it was deleted stays, and does no more than its manifest says. True when it was written. */
async function cancelHandBack(
  cluster: Writer,
  live: KubernetesObject,
  wanted: KubernetesObject,
): Promise<boolean> {
  if (live.metadata.annotations?.[handingBackAnnotation] === undefined || live.metadata.deletionTimestamp)
    return false;
  const metadata = { ...versionOf(live), annotations: { [handingBackAnnotation]: null } };
  const spec = asksForHandBack(wanted) ? {} : { spec: { revertOnDeletion: null } };
  await cluster.patch(referenceOf(live), { metadata, ...spec });
  return true;
}

function asksForHandBack({ spec }: KubernetesObject): boolean {
  return (spec as { revertOnDeletion?: unknown } | undefined)?.revertOnDeletion === true;
}

/** Canaries that are in Git again before they were gone. */
export async function keepReturned(
  cluster: Writer,
  all: readonly KubernetesObject[],
  members: readonly KubernetesObject[],
): Promise<boolean> {
  const wanted = new Map(all.filter(isCanary).map((object) => [objectKey(object), object]));
  let wrote = false;
  for (const live of members.filter(isCanary)) {
    const canary = wanted.get(objectKey(live));
    if (canary) wrote = (await cancelHandBack(cluster, live, canary)) || wrote;
  }
  return wrote;
}
