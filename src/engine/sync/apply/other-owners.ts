/** Objects that another tool or another Source applies: they are refused, or taken over where the author asked for it. */
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
import type { Cluster, Log } from '../../../contracts/cluster.ts';
import type { RenderedObject } from '../../../render/rendered-object.ts';
import { managedFieldsOf, rolloutManager } from '../../../workload/compare/managed-fields.ts';
import { applySetId, type Claims } from '../../apply-set.ts';
import type { Heads } from '../../canary/context/heads.ts';
import { EngineError, failureOf } from '../../failure.ts';
import { objectsOfCanary } from '../scope/canary-objects.ts';
import {
  adoptAnnotation,
  adopts,
  formerOwnerOf,
  handedOver,
  inherited,
  isMarkedBy,
  otherOwner,
} from '../scope/former-owner.ts';
import { clusterOf, type SourceRights, whyNotAllowed } from '../scope/permissions.ts';
import { inParallel } from './apply-order.ts';

/** What is known of other Sources. */
export interface Others {
  readonly claims: Pick<Claims, 'sourceOf' | 'holdersOf'>;
  readonly canaries?: () => readonly KubernetesObject[];
  readonly heads?: Pick<Heads, 'sourceOf'>;
  readonly sources?: () => readonly Pick<KubernetesObject, 'metadata'>[];
  readonly watchesEverywhere?: boolean;
  /** Whether another Source of the repository has yet to read the commit, so that it may hold less by then. */
  readonly isMoving?: () => boolean;
}

/** A Source, and what is written in its name. */
interface Writing {
  readonly parts: { readonly cluster: Cluster; readonly rights: SourceRights; readonly log: Log };
  readonly source: Source;
}

/** Throws EngineError Conflicted or OwnedByAnotherSource where another tool or Source applies the live object. */
export function refuseOthers(
  others: Others,
  source: Source,
  live: KubernetesObject,
  wanted: KubernetesObject,
): void {
  const owner = otherOwner(live, wanted, formerOwnerOf(source));
  if (owner)
    throw new EngineError(
      'Conflicted',
      `${owner.tool} applies it (${owner.detail}); remove it there, or annotate it with ${adoptAnnotation}: "true" to hand it over`,
    );
  const { claims, sources, watchesEverywhere } = others;
  const partOf = live.metadata.labels?.[partOfLabel];
  if (!partOf || partOf === applySetId(source)) return;
  if (adopts(live)) refuseAdopted(others, source, live);
  if (adopts(live) || adopts(wanted)) return refuseRolledOut(others, source, live);
  // A Source applied it that is gone. Who sees some namespaces alone does not know that, and kubectl has ApplySets of other parents.
  const isOurs = managedFieldsOf(live).some(({ manager }) => manager === 'holdfast');
  if (isOurs && watchesEverywhere && !sources?.().some((other) => applySetId(other) === partOf)) return;
  throw new EngineError(
    'OwnedByAnotherSource',
    `Source ${claims.sourceOf(partOf) ?? partOf} applies it; keep it in one of the two, or annotate it with ${adoptAnnotation}: "true" to move it`,
  );
}

/** The Source that adopted it last keeps it as long as it holds it: two that hold it would take it from each other without end. */
function refuseAdopted({ claims, isMoving }: Others, source: Source, live: KubernetesObject): void {
  const holder = claims.sourceOf(live.metadata.labels?.[partOfLabel] ?? '');
  if (holder === undefined || !claims.holdersOf(objectKey(live), namespacedName(source)).includes(holder))
    return;
  throw new EngineError(
    'OwnedByAnotherSource',
    `Source ${holder} applies it, and it has ${adoptAnnotation}; remove it from the files of one of the two`,
    isMoving?.(),
  );
}

/**
 * What a Canary rolls out has two writers where a Source applies it besides: its pods would be started and stopped without end. Another Source holds the
 * Canary, or none does any more, and this one is read again for it.
 */
function refuseRolledOut({ canaries, heads, claims }: Others, source: Source, live: KubernetesObject): void {
  const own = namespacedName(source);
  const key = objectKey(live);
  for (const canary of canaries?.() ?? []) {
    const { target, scaler } = objectsOfCanary(canary);
    if (target !== key && scaler !== key) continue;
    const holder = heads?.sourceOf(namespacedName(canary));
    if (holder === own) continue;
    const message =
      holder === undefined
        ? `${describe(canary)} rolls it out, and this Source is read again for it`
        : `Source ${holder} rolls it out with ${describe(canary)}; remove it from the files of that Source, and the Canary where it is among them, to move it here`;
    // One that has it in its files no more lets go of it soon.
    const isLasting = holder !== undefined && claims.holdersOf(key, own).includes(holder);
    throw new EngineError('OwnedByAnotherSource', message, !isLasting);
  }
}

/** Whether the live object still carries a mark of the owner that the Source takes over from. */
export function isMarked(
  source: Source,
  live: KubernetesObject | undefined,
  wanted: KubernetesObject,
): boolean {
  const former = formerOwnerOf(source);
  return former !== undefined && isMarkedBy(live, wanted, former);
}

/** After an apply: the former owner gives up its marks and what we have applied, over exactly the version that was written. True when written. */
export async function handOver(
  { parts, source }: Writing,
  wanted: KubernetesObject,
  written: KubernetesObject,
): Promise<boolean> {
  const former = formerOwnerOf(source);
  const patch = former && handedOver(written, wanted, { former, manager: 'holdfast' });
  if (!patch) return false;
  await clusterOf(parts, source).patch(referenceOf(written), {
    metadata: { ...versionOf(written), ...patch },
  });
  return true;
}

/**
 * The same for what rollouts write of the Source: a target is applied by its next release, and the fields that the former owner had are the
 * rollout's from now on. A failure leaves the marks, so that the next sync tries again.
 */
export async function handOverHeld(
  { parts, source }: Writing,
  { all, rest }: { readonly all: readonly KubernetesObject[]; readonly rest: readonly RenderedObject[] },
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
      const patch = inherited(live, object, { former, manager: rolloutManager });
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
