/** Applying one object of a Source: by the loop, and by a dry run for commands that ask what a commit would do. */

import { sleep } from '../../../api/clock.ts';
import {
  describe,
  type KubernetesObject,
  namespacedName,
  partOfLabel,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import {
  inheritedFields,
  isOfHoldfast,
  isOfPeople,
  managedFieldsOf,
  ownedAlone,
  releasedReplicas,
  rolloutManager,
} from '../../../workload/compare/managed-fields.ts';
import { covers, storedDifferencesOf } from '../../../workload/compare/semantic-compare.ts';
import { manifestForOwner } from '../../../workload/service/existing-service.ts';
import { withAccountTaken } from '../../applied.ts';
import { applySetId, asMember } from '../../apply-set.ts';
import type { Correction } from '../../corrections.ts';
import { EngineError, failureOf, isImmutableChange, notKept } from '../../failure.ts';
import type { SourceContext, SourceParts, SourceState, SyncContext } from '../context/context.ts';
import { otherBehind } from '../read/read.ts';
import { hasNameOfCanary } from '../scope/canary-objects.ts';
import {
  applyOverOthers,
  type Contested,
  type ContestedWrite,
  driftFound,
  hasField,
  leavesFields,
  withoutFields,
} from '../scope/field-conflicts.ts';
import { clusterOf, refuseNotAllowed, writerOf } from '../scope/permissions.ts';
import { needsPruneApproval } from '../scope/prune-plan.ts';
import { asWritten } from './as-written.ts';
import { handOver, isMarked, type Others, refuseOthers } from './other-owners.ts';

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
  readonly drift?: Correction;
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
  await requireAllowed(context, kinds, object);
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
    : (seen ?? (await parts.presence.read(object, { cluster, user: writerOf(source, parts.rights).user })));
  state.left.set(object, stillLeft(state, object, live));
  const wanted = wantedOver(context, object, live);
  if (hasDrifted && live && parts.applied.has(live, wanted) && !isMarked(source, live, wanted))
    return { changed: false };
  const isMoving = () => otherBehind(context, state.head?.commit) !== undefined;
  if (live) refuseOthers({ ...parts, isMoving }, source, live, wanted);
  // Before the write, since the watch may deliver it before the answer is here.
  parts.applied.note(wanted);
  const write = await writeOne(context, { object, wanted, live, isShared }).catch((error: unknown) => {
    parts.applied.forget(wanted);
    throw error;
  });
  refuseUnlabelled(write);
  if (write.left.length > 0)
    state.left.set(object, [...(state.left.get(object) ?? []), ...write.left.map(({ field }) => field)]);
  parts.applied.note(wantedOver(context, object, live), write.written);
  const isWritten = live?.metadata.resourceVersion !== write.written.metadata.resourceVersion;
  const changed = (await handOver(context, wanted, write.written)) || isWritten;
  // Others may have taken a field of ours with the value that it had.
  if (hasDrifted && isWritten && (!live || write.taken.length > 0 || !covers(live, wanted)))
    return { changed, drift: driftFound(wanted, live, write.taken) };
  return { changed, taken: write.taken.filter((field) => !isOfHoldfast(field)) };
}

/** Only a kind that is served says whether its objects have a namespace, and what a Source may write depends on that. */
async function requireAllowed(
  { parts, source }: SyncContext,
  kinds: KindWait,
  object: KubernetesObject,
): Promise<void> {
  if (object.metadata.namespace === undefined) await kinds.require(object);
  refuseNotAllowed(source, object, parts.rights);
}

/**
 * Before a write, a field that Git takes out is left to nobody who would keep it. What a rollout had applied of an object that has no Canary any more
 * becomes the Source's; patches, as of a finalizer or of the number of pods, stay whose they are. What kubectl has, too, is the Source's alone, unless
 * the object leaves fields to others. The number of pods that Git takes out, as for an autoscaler, stays as it is.
 */
async function takeOverFields(
  cluster: Cluster,
  live: KubernetesObject,
  wanted: KubernetesObject,
): Promise<void> {
  const managers = managedFieldsOf(live);
  const has = (name: string) => managers.some(({ manager }) => manager === name);
  const mayBeShared = has('holdfast') && managers.some(isOfPeople) && !leavesFields(wanted);
  const hasReplicas = leavesReplicas(wanted, live) && has('holdfast');
  if (!mayBeShared && !hasReplicas && !has(rolloutManager)) return;
  // Watches tell the names of managers alone.
  const whole = await cluster.get(referenceOf(live));
  if (!whole) return;
  const entries = managedFieldsOf(whole);
  const patched = entries.filter(
    ({ manager, operation }) => manager === rolloutManager && operation !== 'Apply',
  );
  const applied = entries.filter((entry) => !patched.includes(entry));
  const inherited = inheritedFields(applied, { from: [rolloutManager], to: 'holdfast' });
  const alone = mayBeShared ? ownedAlone(inherited ?? applied, 'holdfast') : undefined;
  const kept = alone ?? inherited ?? applied;
  const managedFields = (hasReplicas ? releasedReplicas(kept, 'holdfast') : undefined) ?? alone ?? inherited;
  if (!managedFields) return;
  const metadata = { ...versionOf(whole), managedFields: [...managedFields, ...patched] };
  await cluster.patch(referenceOf(whole), { metadata });
}

/** Git does not say how many pods it has. */
function leavesReplicas({ apiVersion, spec }: KubernetesObject, live: KubernetesObject): boolean {
  const replicas = (of: unknown) => (of as { replicas?: unknown } | undefined)?.replicas;
  return apiVersion.startsWith('apps/') && replicas(spec) === undefined && replicas(live.spec) !== undefined;
}

/** What has not the label any more is not watched, and would never be pruned. Throws EngineError ForeignChange. */
function refuseUnlabelled({ written }: ContestedWrite): void {
  if (written.metadata.labels?.[partOfLabel] === undefined)
    throw notKept(`${describe(written)}: its label ${partOfLabel} is gone`);
}

/**
 * The API server has dropped an empty map or list of Git since the same write emptied it. The next write of the same would bring it, which of a pod template
 * replaces the pods: not at the next start of Holdfast, when nobody changes anything.
 */
function losesEmpty(before: KubernetesObject, wanted: KubernetesObject, after: KubernetesObject): boolean {
  const missing = (stored: KubernetesObject) =>
    storedDifferencesOf(stored, wanted)
      .filter(({ live, wanted: empty }) => {
        return live === undefined && typeof empty === 'object' && Object.keys(empty ?? {}).length === 0;
      })
      .map(({ path }) => path);
  const lost = missing(after);
  if (lost.length === 0) return false;
  const known = missing(before);
  return lost.some((path) => !known.includes(path));
}

async function writeOne(
  context: SyncContext,
  {
    object,
    wanted,
    live,
    isShared,
  }: Record<'object' | 'wanted', KubernetesObject> & {
    live: KubernetesObject | undefined;
    isShared: boolean;
  },
): Promise<ContestedWrite> {
  const { parts, source, state } = context;
  const cluster = clusterOf(parts, source);
  if (live && !isShared) await takeOverFields(cluster, live, wanted);
  const write = (over: KubernetesObject | undefined) =>
    applyOverOthers(cluster, withAccountTaken(wanted, live), {
      over: isShared && over ? versionOf(over) : undefined,
      read: () => cluster.get(referenceOf(wanted)),
    });
  try {
    const first = await write(live);
    if (!live || !losesEmpty(live, wanted, first.written)) return first;
    return { ...first, written: (await write(first.written)).written };
  } catch (error) {
    if (!live || !isImmutableChange(error)) throw error;
    if (!mayRecreate(source, wanted)) throw notRecreated(error);
    state.left.set(object, []);
    const anew = wantedOver(context, object, undefined);
    return { written: await recreate({ cluster, clock: parts.clock }, anew, live), taken: [], left: [] };
  }
}

// Objects with immutable fields that changed: they are deleted and created again, only where that was asked for.

/** On an object: it may be deleted and made anew when the API server cannot change it in place. */
export const forceAnnotation = 'holdfast.dev/force';

const goneWaitMs = 10_000;
const goneRetryMs = 250;

/** `holdfast.dev/force: enabled` on the object, or `spec.force` of its Source unless others lose their data with it. */
export function mayRecreate({ spec }: Pick<Source, 'spec'>, wanted: KubernetesObject): boolean {
  const said = wanted.metadata.annotations?.[forceAnnotation];
  if (said !== undefined) return said === 'enabled' || said === 'true';
  return spec.force === true && !needsPruneApproval(wanted);
}

/** What is reported where it was not asked for. */
function notRecreated(error: unknown): EngineError {
  const { message } = failureOf(error);
  return new EngineError(
    'ImmutableField',
    `${message}; the API server cannot change this in place: annotate it with ${forceAnnotation}: "enabled" to have it deleted and created again`,
  );
}

/**
 * Deletes the object over exactly this version and applies it once it is gone. A crash between the two leaves it absent, and the next sync
 * applies it. `cluster` acts as the Source's account. Throws EngineError Recreating while finalizers hold it, and what the server refuses.
 */
async function recreate(
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
        `${describe(live)} is being deleted to be created again${holder}`,
        true,
      );
    }
    await sleep(clock, goneRetryMs);
  }
  return cluster.apply(wanted, { manager: 'holdfast', force: true });
}

/**
 * The object as it is applied over a live one: with the Source's label, without what rollouts and others write of it. What others had and gave up, or
 * what went with an object that was deleted, is Git's again.
 */
export function wantedOver(
  { source, state }: Pick<SourceContext, 'source' | 'state'>,
  object: KubernetesObject,
  live: KubernetesObject | undefined,
): KubernetesObject {
  return inApplySet(source, withoutFields(asWritten(object), stillLeft(state, object, live)), live);
}

function stillLeft(
  { left }: Pick<SourceState, 'left'>,
  object: KubernetesObject,
  live: KubernetesObject | undefined,
): readonly string[] {
  return (left.get(object) ?? []).filter((field) => hasField(live, field));
}

/** The same with the fields that others have. */
function inApplySet(
  source: Pick<KubernetesObject, 'metadata'>,
  object: KubernetesObject,
  live: KubernetesObject | undefined,
): KubernetesObject {
  return asMember(manifestForOwner(object, live), applySetId(source));
}

/** Every Source of the cluster; undefined where whoever asks, or the controller, sees some of them only. */
export type ListSources = () => Promise<readonly Pick<KubernetesObject, 'metadata'>[] | undefined>;

/** What a dry run of one object gave. */
export interface DryApplied {
  /** The object as it would be sent, with the Source's label. */
  readonly wanted: KubernetesObject;
  /** As it would be stored: defaults, admission, and fields that are left to others are in it. */
  readonly written: KubernetesObject;
}

/**
 * Applies an object over a live one by the rules of the loop: what the Source may not write, what others apply, and the object's own word on
 * fields of others count. `cluster.apply` must be a dry run. `listSources` is called where another Source applied the object, which may be gone. Throws EngineErrors, and what the API server refuses.
 */
export async function dryApply(
  cluster: Pick<Cluster, 'apply'>,
  source: Source,
  {
    object,
    live,
    listSources,
  }: {
    readonly object: KubernetesObject;
    readonly live: KubernetesObject | undefined;
    readonly listSources?: ListSources | undefined;
  },
): Promise<DryApplied> {
  refuseNotAllowed(source, object);
  const wanted = withReplicas(inApplySet(source, asWritten(object), live), live);
  if (live) refuseOthers(await othersOf(source, live, listSources), source, live, wanted);
  try {
    const { written } = await applyOverOthers(cluster, withAccountTaken(wanted, live), {
      over: undefined,
      read: async () => live,
    });
    return { wanted, written };
  } catch (error) {
    if (!live || !isImmutableChange(error)) throw error;
    if (!mayRecreate(source, wanted)) throw notRecreated(error);
    return { wanted, written: wanted };
  }
}

/** A dry run does not release what was applied before: the number of pods that stays is sent. */
function withReplicas(wanted: KubernetesObject, live: KubernetesObject | undefined): KubernetesObject {
  if (!live || !leavesReplicas(wanted, live)) return wanted;
  if (!releasedReplicas(managedFieldsOf(live), 'holdfast')) return wanted;
  const { replicas } = live.spec as { replicas: unknown };
  return { ...wanted, spec: { ...(wanted.spec as object), replicas } };
}

async function othersOf(
  source: Source,
  live: KubernetesObject,
  listSources: ListSources | undefined,
): Promise<Others> {
  const partOf = live.metadata.labels?.[partOfLabel];
  const all = partOf === undefined || partOf === applySetId(source) ? undefined : await listSources?.();
  const owner = all?.find((one) => applySetId(one) === partOf);
  const claims = { sourceOf: () => owner && namespacedName(owner), holdersOf: () => [] };
  return all ? { claims, sources: () => all, watchesEverywhere: true } : { claims };
}
