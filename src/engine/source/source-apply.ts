import { partOfLabel } from '../../api/applyset.ts';
import { sleep } from '../../api/clock.ts';
import { describe, type KubernetesObject, referenceOf } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { formatOrigin, type RenderedObject } from '../../render/types.ts';
import { versionOf } from '../canary/canary-parts.ts';
import { EngineError, failureOf } from '../failure.ts';
import type { WatchedSet } from '../ports/ports.ts';
import { accountOf } from './act-as.ts';
import { applyWaves } from './apply-order.ts';
import { applySetId, inApplySet } from './apply-set.ts';
import { hasNameOfCanary } from './canary-names.ts';
import { refuseNotAllowed } from './confinement.ts';
import { inParallel } from './in-parallel.ts';
import { adoptAnnotation, otherOwner } from './other-owner.ts';
import type { ApplyFailure, ApplyResult, Snapshot, SourceParts } from './source-parts.ts';

/** Watched objects of one Source, by kind and namespace. */
export interface AppliedObjects {
  /** The set that an object of this Source is in, once it was listed. */
  setOf(object: KubernetesObject): WatchedSet | undefined;
}

/** A kind may become known a moment after its CRD was applied; so long one sync waits for all of them together. */
const newKindWaitMs = 10_000;
const newKindRetryMs = 500;

/**
 * Applies everything of a snapshot that belongs to no Canary, wave by wave. One refused object stops neither the others nor any Canary;
 * what is there already costs no request. Never throws for a single object.
 */
export async function applySnapshot(
  parts: SourceParts,
  source: Source,
  snapshot: Snapshot,
  { watched, signal }: { watched: AppliedObjects; signal: AbortSignal },
): Promise<ApplyResult> {
  const id = applySetId(source);
  const origins = new Map(snapshot.rest.map((entry) => [entry.object, entry] as const));
  const failures: ApplyFailure[] = [];
  let changed = 0;
  const kinds = createKindWait(parts);
  for (const wave of applyWaves(snapshot.rest.map(({ object }) => object))) {
    await inParallel(wave, async (object) => {
      if (signal.aborted) return;
      try {
        const wasChanged = await applyOne(parts, source, { object, id, watched, kinds });
        if (wasChanged) changed += 1;
        if (wasChanged && object.kind === 'CustomResourceDefinition') kinds.expectNew();
      } catch (error) {
        failures.push(failureFor(object, origins.get(object), error));
      }
    });
  }
  signal.throwIfAborted();
  return { applied: snapshot.rest.length - failures.length, changed, failures };
}

interface OneObject {
  readonly object: KubernetesObject;
  readonly id: string;
  readonly watched: AppliedObjects;
  readonly kinds: KindWait;
}

/** True when it was written. */
async function applyOne(
  parts: SourceParts,
  source: Source,
  { object, id, watched, kinds }: OneObject,
): Promise<boolean> {
  refuseNotAllowed(source, object);
  const { namespace, name } = object.metadata;
  const seen = watched.setOf(object)?.get(namespace, name);
  if (parts.applied.has(seen, inApplySet(object, id, seen))) return false;
  await kinds.require(object);
  // A rollout may write it, too: which parts is read back and written over exactly that version.
  const isShared = parts.canaries().some((canary) => hasNameOfCanary(canary, object));
  const live = (isShared ? undefined : seen) ?? (await parts.cluster.get(referenceOf(object)));
  const wanted = inApplySet(object, id, live);
  if (live) refuseOthers(parts, live, { wanted, id });
  const over = isShared && live ? { over: versionOf(live) } : {};
  const writer = parts.cluster.as(accountOf(source, parts.defaultServiceAccount));
  const written = await writer.apply(wanted, { manager: 'holdfast', force: true, ...over });
  parts.applied.note(wanted);
  return live?.metadata.resourceVersion !== written.metadata.resourceVersion;
}

/** Makes sure that a kind is served before an object of it is written. */
interface KindWait {
  /** A CRD was written just now: kinds that are missing are waited for. */
  expectNew(): void;
  /** Throws EngineError UnknownKind. */
  require(object: KubernetesObject): Promise<void>;
}

function createKindWait({ cluster, clock }: SourceParts): KindWait {
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

/** Throws EngineError Conflicted or OwnedByAnotherSource where somebody else applies the live object. */
export function refuseOthers(
  { claims }: Pick<SourceParts, 'claims'>,
  live: KubernetesObject,
  { wanted, id }: { wanted: KubernetesObject; id: string },
): void {
  const owner = otherOwner(live, wanted);
  if (owner)
    throw new EngineError(
      'Conflicted',
      `${owner.tool} applies it (${owner.detail}); take it out there, or annotate it with ${adoptAnnotation}: "true" to hand it over`,
    );
  const partOf = live.metadata.labels?.[partOfLabel];
  if (!partOf || partOf === id || live.metadata.annotations?.[adoptAnnotation]) return;
  if (wanted.metadata.annotations?.[adoptAnnotation]) return;
  throw new EngineError(
    'OwnedByAnotherSource',
    `Source ${claims.sourceOf(partOf) ?? partOf} applies it; keep it in one of the two, or annotate it with ${adoptAnnotation}: "true" to move it`,
  );
}

function failureFor(
  object: KubernetesObject,
  entry: RenderedObject | undefined,
  error: unknown,
): ApplyFailure {
  const { reason, message, transient } = failureOf(error);
  const place = entry ? `${formatOrigin(entry.origin)}: ` : '';
  return { reason, message: `${place}${describe(object)}: ${message}`, object, transient };
}
