/** Applying one object of a Source. */
import { type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import { covers } from '../../../workload/compare/semantic-compare.ts';
import type { SyncContext } from '../context/context.ts';
import { hasNameOfCanary } from '../scope/canary-objects.ts';
import { driftFound, type SourceDrift, withTimes } from '../scope/drift.ts';
import { applyOverOthers, type Contested, type ContestedWrite } from '../scope/field-conflicts.ts';
import { clusterOf, refuseNotAllowed } from '../scope/permissions.ts';
import { handOver, isMarked, refuseOthers } from './other-owners.ts';
import { isImmutableChange, mayRecreate, notRecreated, recreate } from './recreate.ts';
import { wantedOver } from './wanted.ts';

/** Makes sure that a kind is served before an object of it is written. */
export interface KindWait {
  /** A CRD was written just now: kinds that are missing are waited for. */
  expectNew(): void;
  /** Throws EngineError UnknownKind. */
  require(object: Pick<KubernetesObject, 'apiVersion' | 'kind'>): Promise<void>;
}

/** What came of it. */
export interface AppliedObject {
  /** It was really written. */
  readonly changed: boolean;
  /** It had been applied as it is in Git, and was changed since. */
  readonly drift?: SourceDrift;
  /** Fields that were taken from other managers without that. */
  readonly taken?: readonly Contested[];
}

/** Applies it unless it is there. Throws EngineErrors, and what the API server refuses. */
export async function applyObject(
  context: SyncContext,
  kinds: KindWait,
  object: KubernetesObject,
): Promise<AppliedObject> {
  const { parts, source, state, watch } = context;
  refuseNotAllowed(source, object, parts.rights);
  const cluster = clusterOf(parts, source);
  const { namespace, name } = object.metadata;
  const set = watch.setOf(object);
  const seen = set?.get(namespace, name);
  const known = wantedOver(context, object, seen);
  if (parts.applied.has(seen, known) && !isMarked(source, seen, known)) return { changed: false };
  await kinds.require(object);
  const hasDrifted = set !== undefined && parts.applied.knows(known);
  // A rollout may write it, too: which parts is read back and written over exactly that version.
  const isShared = parts.canaries().some((canary) => hasNameOfCanary(canary, object));
  const isRead = isShared || hasDrifted;
  const live = isRead
    ? await cluster.get(referenceOf(object))
    : (seen ?? (await parts.presence.read(object, cluster)));
  const wanted = wantedOver(context, object, live);
  if (hasDrifted && live && covers(live, wanted) && !isMarked(source, live, wanted))
    return { changed: false };
  if (live) refuseOthers(parts, source, live, wanted);
  // Before the write, since the watch may deliver it before the answer is here.
  parts.applied.note(wanted);
  const write = await writeOne(context, { wanted, live, isShared }).catch((error: unknown) => {
    parts.applied.forget(wanted);
    throw error;
  });
  if (write.left.length > 0) {
    state.left.set(object, [...(state.left.get(object) ?? []), ...write.left.map(({ field }) => field)]);
    parts.applied.note(wantedOver(context, object, live));
  }
  const isWritten = live?.metadata.resourceVersion !== write.written.metadata.resourceVersion;
  const changed = (await handOver(context, wanted, write.written)) || isWritten;
  if (hasDrifted && isWritten) return { changed, drift: driftFound(wanted, live, write.taken) };
  return { changed, taken: write.taken };
}

async function writeOne(
  { parts, source }: SyncContext,
  {
    wanted,
    live,
    isShared,
  }: { wanted: KubernetesObject; live: KubernetesObject | undefined; isShared: boolean },
): Promise<ContestedWrite> {
  const cluster = clusterOf(parts, source);
  try {
    return await applyOverOthers(cluster, wanted, {
      over: isShared && live ? versionOf(live) : undefined,
      timed: async (fields) => withTimes(fields, await cluster.get(referenceOf(wanted))),
    });
  } catch (error) {
    if (!live || !isImmutableChange(error)) throw error;
    if (!mayRecreate(source, wanted)) throw notRecreated(error);
    return { written: await recreate({ cluster, clock: parts.clock }, wanted, live), taken: [], left: [] };
  }
}
