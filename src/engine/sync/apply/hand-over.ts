/** Taking what another tool applied out of its hands, once it is ours (`holdfast.dev/adopt-from`). */
import { type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import { partOfLabel } from '../../../api/metadata.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { objectKey } from '../../../render/render.ts';
import { applySetId } from '../../apply-set.ts';
import { failureOf } from '../../failure.ts';
import type { Snapshot, SourceParts } from '../context/context.ts';
import { formerOwnerOf, handedOver, inherited, isMarkedBy } from '../scope/former-owner.ts';
import { clusterOf, whyNotAllowed } from '../scope/permissions.ts';
import { inParallel } from './apply-order.ts';

/** After an apply: the former owner gives up its marks and what we have applied, over exactly the version that was written. True when written. */
export async function handOver(
  cluster: Pick<Cluster, 'patch'>,
  source: Source,
  { wanted, written }: { wanted: KubernetesObject; written: KubernetesObject },
): Promise<boolean> {
  const former = formerOwnerOf(source);
  const patch = former && handedOver(written, wanted, { former, manager: 'holdfast' });
  if (!patch) return false;
  await cluster.patch(referenceOf(written), { metadata: { ...versionOf(written), ...patch } });
  return true;
}

/**
 * The same for what rollouts write of the Source: a target is applied by its next release, and the fields that the former owner had are the
 * rollout's from now on. A failure leaves the marks, so that the next sync tries again.
 */
export async function handOverHeld(
  parts: SourceParts,
  source: Source,
  { all, rest }: Pick<Snapshot, 'all' | 'rest'>,
): Promise<void> {
  const former = formerOwnerOf(source);
  if (!former) return;
  const applied = new Set(rest.map(({ object }) => objectKey(object)));
  const held = all.filter(
    (object) => !applied.has(objectKey(object)) && whyNotAllowed(source, object, parts.rights) === undefined,
  );
  const cluster = clusterOf(parts, source);
  await inParallel(held, async (object) => {
    try {
      const live = await cluster.get(referenceOf(object));
      if (!live || !isMarkedBy(live, object, former)) return;
      const patch = inherited(live, object, { former, manager: 'holdfast-rollout' });
      const labels = { ...patch.labels, [partOfLabel]: applySetId(source) };
      const metadata = { ...versionOf(live), ...patch, labels };
      await cluster.patch(referenceOf(live), { metadata });
    } catch (error) {
      parts.log.warn(
        { object: referenceOf(object), reason: failureOf(error).reason },
        'it could not be handed over',
      );
    }
  });
}
