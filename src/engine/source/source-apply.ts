import { sleep } from '../../api/clock.ts';
import { partOfLabel } from '../../api/generated-metadata.ts';
import { describe, type KubernetesObject, referenceOf } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { formatOrigin, type RenderedObject } from '../../render/types.ts';
import { versionOf } from '../canary/canary-parts.ts';
import { EngineError, failureOf } from '../failure.ts';
import type { WatchedSet } from '../ports/ports.ts';
import { applyWaves } from './apply-order.ts';
import { applySetId, inApplySet } from './apply-set.ts';
import { adoptAnnotation, otherOwner } from './other-owner.ts';
import type { ApplyFailure, ApplyResult, Snapshot, SourceParts } from './source-parts.ts';

/** Watched objects of one Source, by kind and namespace. */
export interface AppliedObjects {
  /** The set that an object of this Source is in, once it was listed. */
  setOf(object: KubernetesObject): WatchedSet | undefined;
}

const parallelWrites = 4;
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
  const isShared = hasNameOfCanary(parts.canaries(), object);
  const live = (isShared ? undefined : seen) ?? (await parts.cluster.get(referenceOf(object)));
  const wanted = inApplySet(object, id, live);
  if (live) refuseOthers(live, wanted, id);
  const over = isShared && live ? { over: versionOf(live) } : {};
  const written = await parts.cluster.apply(wanted, { manager: 'holdfast', force: true, ...over });
  parts.applied.note(wanted);
  return live?.metadata.resourceVersion !== written.metadata.resourceVersion;
}

/** A rollout may write this object, too: which parts is read back and written over exactly that version. It applies no kind of our own. */
function hasNameOfCanary(
  canaries: readonly KubernetesObject[],
  { apiVersion, metadata }: KubernetesObject,
): boolean {
  if (apiVersion.startsWith('flagger.app/')) return false;
  return canaries.some((canary) => {
    if (canary.metadata.namespace !== metadata.namespace) return false;
    const { targetRef, service } = (canary.spec ?? {}) as CanaryNames;
    const apex = service?.name || targetRef?.name;
    return [apex, `${apex}-primary`, `${apex}-canary`].includes(metadata.name);
  });
}

/** From the raw object, which need not parse. */
interface CanaryNames {
  targetRef?: { name?: string };
  service?: { name?: string };
}

function refuseNotAllowed({ spec }: Source, object: KubernetesObject): void {
  const { namespace } = object.metadata;
  const { namespaces, kinds } = spec.allow ?? {};
  const allowed = namespaces ? namespaces.includes(namespace ?? '') : namespace !== 'kube-system';
  if (namespace && !allowed)
    throw new EngineError(
      'NotAllowed',
      `namespace ${namespace} is not in spec.allow.namespaces of the Source`,
    );
  const group = object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : '';
  const names = [object.kind, `${object.kind}.${group}`];
  if (kinds && !names.some((kind) => kinds.includes(kind)))
    throw new EngineError('NotAllowed', `kind ${object.kind} is not in spec.allow.kinds of the Source`);
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

function refuseOthers(live: KubernetesObject, wanted: KubernetesObject, id: string): void {
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
    `another Source applies it (${partOf}); keep it in one of the two, or annotate it with ${adoptAnnotation}: "true" to move it`,
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

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: parallelWrites }, worker));
}
