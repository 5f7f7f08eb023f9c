/** Objects with immutable fields that changed: they are deleted and created again, only where that was asked for. */
import { sleep } from '../../../api/clock.ts';
import { describe, type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { EngineError, failureOf } from '../../failure.ts';
import type { SourceParts } from '../context/parts.ts';
import { needsPruneApproval } from '../scope/prune-plan.ts';

/** On an object: it may be deleted and made anew when the API server cannot change it in place. */
export const forceAnnotation = 'holdfast.dev/force';

const goneWaitMs = 10_000;
const goneRetryMs = 250;

/**
 * Whether a write was refused for nothing but fields that cannot be changed in place. Adapters say so of their errors: one that is refused for more
 * than that would be refused again once the live object is deleted, and be gone.
 */
export function isImmutableChange(error: unknown): boolean {
  return (error as { isImmutable?: unknown } | null)?.isImmutable === true;
}

/** `holdfast.dev/force: enabled` on the object, or `spec.force` of its Source unless others lose their data with it. */
export function mayRecreate({ spec }: Pick<Source, 'spec'>, wanted: KubernetesObject): boolean {
  const said = wanted.metadata.annotations?.[forceAnnotation];
  if (said !== undefined) return said === 'enabled' || said === 'true';
  return spec.force === true && !needsPruneApproval(wanted);
}

/** What is reported where it was not asked for. */
export function notRecreated(error: unknown): EngineError {
  const { message } = failureOf(error);
  return new EngineError(
    'ImmutableField',
    `${message}; the API server cannot change this in place: annotate it with ${forceAnnotation}: "enabled" to have it deleted and made anew`,
  );
}

/**
 * Deletes the object over exactly this version and applies it once it is gone. A crash between the two leaves it absent, and the next sync
 * applies it. `cluster` acts as the Source's account. Throws EngineError Recreating while finalizers hold it, and what the server refuses.
 */
export async function recreate(
  { cluster, clock }: Pick<SourceParts, 'cluster' | 'clock'>,
  wanted: KubernetesObject,
  live: KubernetesObject,
): Promise<KubernetesObject> {
  await cluster.delete(referenceOf(live), versionOf(live));
  const endMs = clock.nowMs() + goneWaitMs;
  for (;;) {
    const left = await cluster.get(referenceOf(live));
    if (!left || left.metadata.uid !== live.metadata.uid) break;
    if (clock.nowMs() >= endMs) {
      const finalizers = (left.metadata.finalizers ?? []).join(', ');
      const holder = finalizers ? `; ${finalizers} holds it` : '';
      throw new EngineError(
        'Recreating',
        `${describe(live)} is being deleted to be made anew${holder}`,
        true,
      );
    }
    await sleep(clock, goneRetryMs);
  }
  return cluster.apply(wanted, { manager: 'holdfast', force: true });
}
