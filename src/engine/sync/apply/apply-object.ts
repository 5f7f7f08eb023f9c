import { sleep } from '../../../api/clock.ts';
import {
  describe,
  type KubernetesObject,
  namespacedName,
  objectKey,
  partOfLabel,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster, WatchedSet } from '../../../contracts/cluster.ts';
import { managedFieldsOf } from '../../../workload/compare/managed-fields.ts';
import { covers } from '../../../workload/compare/semantic-compare.ts';
import { manifestForOwner } from '../../../workload/service/existing-service.ts';
import { applySetId, asMember } from '../../apply-set.ts';
import { EngineError, failureOf } from '../../failure.ts';
import type { FieldsLeft, Snapshot, SourceParts } from '../context/context.ts';
import { hasNameOfCanary } from '../scope/canary-objects.ts';
import { driftFound, type SourceDrift, withTimes } from '../scope/drift.ts';
import {
  applyOverOthers,
  type Contested,
  type ContestedWrite,
  withoutFields,
} from '../scope/field-conflicts.ts';
import {
  adoptAnnotation,
  type FormerOwner,
  formerOwnerOf,
  handedOver,
  inherited,
  isMarkedBy,
  otherOwner,
} from '../scope/former-owner.ts';
import { clusterOf, refuseNotAllowed, whyNotAllowed } from '../scope/permissions.ts';
import { needsPruneApproval } from '../scope/prune-plan.ts';
import { inParallel } from './apply-order.ts';

/** Applying one object of a Source. */

/** Watched objects of one Source, by kind and namespace. */
export interface AppliedObjects {
  /** The set that an object of this Source is in, once it was listed. */
  setOf(object: KubernetesObject): WatchedSet | undefined;
}

/** What one object is applied with. */
interface ObjectContext {
  readonly source: Source;
  /** Of the Source's set. */
  readonly id: string;
  readonly watched: AppliedObjects;
  readonly kinds: KindWait;
  readonly left: FieldsLeft;
}

/** What came of it. */
export interface AppliedObject {
  /** It was really written. */
  readonly changed: boolean;
  /** It had been applied as it is in Git, and somebody changed it since. */
  readonly drift?: SourceDrift;
  /** Fields that were taken from other managers without that. */
  readonly taken?: readonly Contested[];
}

/** The object as it is applied over a live one: with the Source's label, without what rollouts and others write of it. */
export function wantedOver(
  object: KubernetesObject,
  live: KubernetesObject | undefined,
  { id, left }: Pick<ObjectContext, 'id' | 'left'>,
): KubernetesObject {
  return inApplySet(withoutFields(object, left.get(object) ?? []), id, live);
}

/** Applies it unless it is there. Throws EngineErrors, and what the API server refuses. */
export async function applyObject(
  parts: SourceParts,
  object: KubernetesObject,
  context: ObjectContext,
): Promise<AppliedObject> {
  const { source, watched, kinds } = context;
  refuseNotAllowed(source, object, parts.rights);
  const cluster = clusterOf(parts, source);
  const { namespace, name } = object.metadata;
  const set = watched.setOf(object);
  const seen = set?.get(namespace, name);
  const known = wantedOver(object, seen, context);
  const former = formerOwnerOf(source);
  const isMarked = (found: KubernetesObject | undefined, as: KubernetesObject) =>
    former !== undefined && isMarkedBy(found, as, former);
  if (parts.applied.has(seen, known) && !isMarked(seen, known)) return { changed: false };
  await kinds.require(object);
  const hasDrifted = set !== undefined && parts.applied.knows(known);
  // A rollout may write it, too: which parts is read back and written over exactly that version.
  const isShared = parts.canaries().some((canary) => hasNameOfCanary(canary, object));
  const isRead = isShared || hasDrifted;
  const live = isRead
    ? await cluster.get(referenceOf(object))
    : (seen ?? (await parts.presence.read(object, cluster)));
  const wanted = wantedOver(object, live, context);
  if (hasDrifted && live && covers(live, wanted) && !isMarked(live, wanted)) return { changed: false };
  if (live) refuseOthers(parts, live, { wanted, id: context.id, former });
  // Before the write, since the watch may deliver it before the answer is here.
  parts.applied.note(wanted);
  const write = await writeOne(parts, context, { wanted, live, isShared }).catch((error: unknown) => {
    parts.applied.forget(wanted);
    throw error;
  });
  noteLeft(context.left, object, write.left);
  if (write.left.length > 0) parts.applied.note(wantedOver(object, live, context));
  const isWritten = live?.metadata.resourceVersion !== write.written.metadata.resourceVersion;
  const changed = (await handOver(cluster, source, { wanted, written: write.written })) || isWritten;
  if (hasDrifted && isWritten) return { changed, drift: driftFound(wanted, live, write.taken) };
  return { changed, taken: write.taken };
}

async function writeOne(
  parts: SourceParts,
  { source }: ObjectContext,
  {
    wanted,
    live,
    isShared,
  }: { wanted: KubernetesObject; live: KubernetesObject | undefined; isShared: boolean },
): Promise<ContestedWrite> {
  const cluster = clusterOf(parts, source);
  const over = isShared && live ? versionOf(live) : undefined;
  try {
    return await applyOverOthers(cluster, wanted, {
      over,
      timed: (fields) => timed(cluster, wanted, fields),
    });
  } catch (error) {
    if (!live || !isImmutableChange(error)) throw error;
    if (!mayRecreate(source, wanted)) throw notRecreated(error);
    return { written: await recreate({ cluster, clock: parts.clock }, wanted, live), taken: [], left: [] };
  }
}

async function timed(
  cluster: Cluster,
  wanted: KubernetesObject,
  contested: readonly Contested[],
): Promise<Contested[]> {
  return withTimes(contested, await cluster.get(referenceOf(wanted)));
}

function noteLeft(left: FieldsLeft, object: KubernetesObject, fields: readonly Contested[]): void {
  if (fields.length === 0) return;
  left.set(object, [...(left.get(object) ?? []), ...fields.map(({ field }) => field)]);
}

/** What is known of other Sources. */
interface Others extends Partial<Pick<SourceParts, 'watchesEverywhere'>> {
  readonly claims: Pick<SourceParts['claims'], 'sourceOf'>;
  readonly sources?: () => readonly Pick<KubernetesObject, 'metadata'>[];
}

/** Throws EngineError Conflicted or OwnedByAnotherSource where somebody else applies the live object. */
function refuseOthers(
  parts: Others,
  live: KubernetesObject,
  { wanted, id, former }: { wanted: KubernetesObject; id: string; former?: FormerOwner | undefined },
): void {
  const owner = otherOwner(live, wanted, former);
  if (owner)
    throw new EngineError(
      'Conflicted',
      `${owner.tool} applies it (${owner.detail}); remove it there, or annotate it with ${adoptAnnotation}: "true" to hand it over`,
    );
  const partOf = live.metadata.labels?.[partOfLabel];
  if (!partOf || partOf === id || live.metadata.annotations?.[adoptAnnotation]) return;
  if (wanted.metadata.annotations?.[adoptAnnotation] || isLeftBehind(parts, live, partOf)) return;
  throw new EngineError(
    'OwnedByAnotherSource',
    `Source ${parts.claims.sourceOf(partOf) ?? partOf} applies it; keep it in one of the two, or annotate it with ${adoptAnnotation}: "true" to move it`,
  );
}

/** A Source applied it that is gone. Who sees some namespaces alone does not know that, and kubectl has ApplySets of other parents. */
function isLeftBehind(
  { sources, watchesEverywhere }: Others,
  live: KubernetesObject,
  partOf: string,
): boolean {
  const isOurs = (managedFieldsOf(live) ?? []).some(({ manager }) => manager === 'holdfast');
  return isOurs && watchesEverywhere === true && !sources?.().some((source) => applySetId(source) === partOf);
}

/** Every Source of the cluster; undefined where whoever asks, or the controller, sees some of them only. */
export type ListSources = () => Promise<readonly Pick<KubernetesObject, 'metadata'>[] | undefined>;

/** The outcome. */
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
  const id = applySetId(source);
  const wanted = inApplySet(object, id, live);
  if (live)
    refuseOthers(await othersOf(live, id, listSources), live, { wanted, id, former: formerOwnerOf(source) });
  try {
    const timed = async (fields: Parameters<typeof withTimes>[0]) => withTimes(fields, live);
    const { written } = await applyOverOthers(cluster, wanted, { over: undefined, timed });
    return { wanted, written };
  } catch (error) {
    if (!live || !isImmutableChange(error)) throw error;
    if (!mayRecreate(source, wanted)) throw notRecreated(error);
    return { wanted, written: wanted };
  }
}

async function othersOf(
  live: KubernetesObject,
  id: string,
  listSources: ListSources | undefined,
): Promise<Others> {
  const partOf = live.metadata.labels?.[partOfLabel];
  const all = partOf === undefined || partOf === id ? undefined : await listSources?.();
  const owner = all?.find((source) => applySetId(source) === partOf);
  const claims = { sourceOf: () => owner && namespacedName(owner) };
  return all ? { claims, sources: () => all, watchesEverywhere: true } : { claims };
}

/** A kind may become known a moment after its CRD was applied; so long one sync waits for all of them together. */
const newKindWaitMs = 10_000;
const newKindRetryMs = 500;

/** Makes sure that a kind is served before an object of it is written. */
interface KindWait {
  /** A CRD was written just now: kinds that are missing are waited for. */
  expectNew(): void;
  /** Throws EngineError UnknownKind. */
  require(object: Pick<KubernetesObject, 'apiVersion' | 'kind'>): Promise<void>;
}

/** For one sync; nothing is expected yet. */
export function createKindWait({ cluster, clock }: Pick<SourceParts, 'cluster' | 'clock'>): KindWait {
  let waitUntilMs = 0;
  return {
    expectNew() {
      waitUntilMs = clock.nowMs() + newKindWaitMs;
    },
    async require({ apiVersion, kind }) {
      while (!(await cluster.kindOf(apiVersion, kind))) {
        if (clock.nowMs() >= waitUntilMs)
          throw new EngineError(
            'UnknownKind',
            `the cluster serves no ${kind} of ${apiVersion}; install its CustomResourceDefinition first`,
            true,
          );
        await sleep(clock, newKindRetryMs);
      }
    },
  };
}

/** Making an object anew whose immutable fields changed: only where that was asked for. */

/** On an object: it may be deleted and made anew when the API server cannot change it in place. */
export const forceAnnotation = 'holdfast.dev/force';

const goneWaitMs = 10_000;
const goneRetryMs = 250;

/**
 * Whether a write was refused for nothing but fields that cannot be changed in place. Adapters say so of their errors: one that is refused for more
 * than that would be refused again once the live object is deleted, and be gone.
 */
function isImmutableChange(error: unknown): boolean {
  return (error as { isImmutable?: unknown } | null)?.isImmutable === true;
}

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
    `${message}; the API server cannot change this in place: annotate it with ${forceAnnotation}: "enabled" to have it deleted and made anew`,
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
        `${describe(live)} is being deleted to be made anew${holder}`,
        true,
      );
    }
    await sleep(clock, goneRetryMs);
  }
  return cluster.apply(wanted, { manager: 'holdfast', force: true });
}

/** Taking what another tool applied out of its hands, once it is ours (`holdfast.dev/adopt-from`). */

/** After an apply: the former owner gives up its marks and what we have applied, over exactly the version that was written. True when written. */
async function handOver(
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

/** The object as it is applied over the live one: with the label of its Source, and without what a rollout writes of it. */
function inApplySet(
  object: KubernetesObject,
  id: string,
  live: KubernetesObject | undefined,
): KubernetesObject {
  return asMember(manifestForOwner(object, live), id);
}
