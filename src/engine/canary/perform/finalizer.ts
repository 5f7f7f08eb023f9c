/** Flagger's finalizer: the Canary stays until its target has taken the traffic back (flagger-behaviour 2.12). */
import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import { finalizer, hasFinalizer } from '../../../api/flagger.ts';
import { type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import type { CanaryParts, Performers } from '../context/context.ts';

/**
 * Whether something is given back before the Canary is deleted: the traffic, or a native workload that is held at a step. Reads raw fields,
 * since the spec may be what is broken.
 */
export function handsBack({ options }: Pick<CanaryParts, 'options'>, canary: KubernetesObject): boolean {
  const spec = (canary.spec ?? {}) as Partial<Canary['spec']>;
  const { provider } = (canary.status ?? {}) as { provider?: string };
  return (
    spec.revertOnDeletion === true ||
    [spec.provider ?? options.defaultProvider, provider].some(sharesWorkload)
  );
}

/** Adds or removes the finalizer as `spec.revertOnDeletion` and the provider ask; true when something was written. */
export async function adjustFinalizer(parts: CanaryParts, canary: Canary): Promise<boolean> {
  const { metadata } = canary;
  if (metadata.deletionTimestamp !== undefined) return false;
  const wanted = handsBack(parts, canary);
  if (wanted === hasFinalizer(canary)) return false;
  const others = (metadata.finalizers ?? []).filter((name) => name !== finalizer);
  await writeFinalizers(parts, canary, wanted ? [...others, finalizer] : others);
  return true;
}

/** Removes the finalizer from a Canary that is being deleted. */
export async function dropFinalizer(parts: CanaryParts, canary: KubernetesObject): Promise<void> {
  const others = (canary.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  await writeFinalizers(parts, canary, others);
}

/** The end of a deletion. */
export const finalizerPerformers = {
  /** Removes the finalizer. The server then deletes the Canary, and what it owns. */
  async RemoveFinalizer({ parts, observation }) {
    const { canary } = observation;
    // The status was written since it was observed: only the uid must be the same.
    const live = await parts.cluster.get(referenceOf(canary));
    if (live?.metadata.uid !== canary.metadata.uid || !live) return false;
    await dropFinalizer(parts, live);
    return true;
  },
} satisfies Partial<Performers>;

async function writeFinalizers(
  parts: Pick<CanaryParts, 'cluster'>,
  canary: KubernetesObject,
  finalizers: readonly string[],
): Promise<void> {
  await parts.cluster.patch(referenceOf(canary), { metadata: { ...versionOf(canary), finalizers } });
}
