import type { CanaryStatus } from '../../../api/canary/status.ts';
import { keyOf, type NamespacedName, namespacedName } from '../../../api/kubernetes.ts';
import { isService } from '../../../release/release.ts';
import { EngineError } from '../../failure.ts';
import type {
  Snapshot,
  SnapshotInForce,
  SourceContext,
  SourceParts,
  SourceState,
} from '../context/context.ts';
import {
  effectiveRest,
  type InForce,
  inForceKey,
  inForceOf,
  type ReleaseInForce,
  withTargetHeld,
} from '../context/effective-snapshot.ts';
import { targetOf } from '../scope/canary-objects.ts';

/** What the Canaries of a snapshot live by now, with the bytes from their records. Throws when the API server does not answer. */
export async function readInForce(
  { parts, state }: Pick<SourceContext, 'parts' | 'state'>,
  snapshot: Snapshot,
  digests: ReadonlyMap<string, string>,
): Promise<SnapshotInForce> {
  const canaries = snapshot.plans.map(({ canary }) => canary);
  const inForce = findInForce(parts, canaries, digests);
  const releases = (await Promise.all(inForce.map((one) => bytesOf(parts, state, one)))).flat();
  const effective = effectiveRest(snapshot.rest, releases);
  return { digests, key: inForceKey(inForce), canaries, releases, effective };
}

/** Something else is in force than when the snapshot was applied, so that it has to be applied again. Costs no request. */
export function isOtherInForce({ parts, state }: Pick<SourceContext, 'parts' | 'state'>): boolean {
  const { inForce } = state;
  if (!inForce) return false;
  return inForceKey(findInForce(parts, inForce.canaries, inForce.digests)) !== inForce.key;
}

function findInForce(
  parts: Pick<SourceParts, 'canaries'>,
  names: readonly NamespacedName[],
  digests: ReadonlyMap<string, string>,
): InForce[] {
  const canaries = new Map(parts.canaries().map((canary) => [namespacedName(canary), canary]));
  return names.flatMap((canary) => {
    const key = keyOf(canary);
    const live = canaries.get(key);
    const status = (live?.status ?? {}) as CanaryStatus;
    const found = inForceOf(canary, status, digests.get(key));
    return live && isService(targetOf(live)) ? withTargetHeld(found, status) : found;
  });
}

/** A record that is gone or damaged leaves head's objects as they are: the Canary itself reports it. */
async function bytesOf(
  { records, log }: SourceParts,
  { inForce: before }: SourceState,
  one: InForce,
): Promise<ReleaseInForce[]> {
  const key = keyOf(one.canary);
  const known = before?.releases.find(({ canary, digest }) => digest === one.digest && keyOf(canary) === key);
  if (known) return [{ ...known, ...one }];
  try {
    const { release } = await records.load(one.canary, one.digest);
    return [{ ...one, release }];
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    log.warn({ err: error, canary: key }, 'the release that is in force could not be read');
    return [];
  }
}
