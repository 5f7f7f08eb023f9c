import { type KubernetesObject, namespacedName, present, referenceOf } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import { EngineError, isMissingRight } from '../../engine/failure.ts';
import { type DryApplied, dryApply, type ListSources } from '../../engine/sync/apply/apply-object.ts';
import { inParallel } from '../../engine/sync/apply/apply-order.ts';
import { refuseNotAllowed } from '../../engine/sync/scope/permissions.ts';
import { type FileProblem, formatProblem, type RenderedObject } from '../../render/rendered-object.ts';
import { createDryCluster } from '../../server/cluster.ts';
import { describeDifferences } from '../../workload/compare/difference-text.ts';
import { managerOfChange } from '../../workload/compare/drift.ts';
import { storedDifferencesOf } from '../../workload/compare/semantic-compare.ts';
import { mostCharacters, mostFields, type ObjectDifference } from './object-difference.ts';

/** The objects that a Source keeps applied at one commit; those of Canaries are compared with `diff canary/NAME`. */
export interface EffectiveSet {
  readonly source: Source;
  readonly commit: { readonly commit: string; readonly subject: string };
  readonly objects: readonly RenderedObject[];
  /** Every object of the commit, those that rollouts write included. */
  readonly all: readonly KubernetesObject[];
  readonly problems: readonly FileProblem[];
}

/** An object of a Source compared with the cluster's. `refused`: it would not be applied, and `message` says why. */
export interface SourceObjectDifference extends Omit<ObjectDifference, 'state'> {
  readonly namespace?: string;
  readonly state: ObjectDifference['state'] | 'refused';
  readonly message?: string;
}

/** Everything `holdfast diff` says about a Source. */
export interface SourceDifference {
  readonly source: string;
  readonly commit: EffectiveSet['commit'];
  readonly differs: boolean;
  /** What cannot be read in that commit, so that nothing of it is compared: `file:line: field: message`. */
  readonly problems: readonly string[];
  readonly objects: readonly SourceObjectDifference[];
}

const manager = 'holdfast';

/**
 * Compares each object with what a server-side apply of it would leave, which the server is asked as a dry run: defaults, admission and
 * fields that apply would take away are in it. Writes nothing. Throws ApiError where the server does not let us ask.
 */
export async function sourceDifferenceOf(
  client: Pick<ClusterClient, 'get' | 'apply'>,
  set: EffectiveSet,
  listSources?: ListSources,
): Promise<SourceDifference> {
  const objects: SourceObjectDifference[] = new Array(set.objects.length);
  await inParallel([...set.objects.entries()], async ([index, { object }]) => {
    objects[index] = await compareObject(client, set.source, { object, listSources });
  });
  const problems = set.problems.map(formatProblem);
  return {
    source: namespacedName(set.source),
    commit: { commit: set.commit.commit, subject: set.commit.subject },
    differs: problems.length > 0 || objects.some(({ state }) => state !== 'same'),
    problems,
    objects,
  };
}

async function compareObject(
  client: Pick<ClusterClient, 'get' | 'apply'>,
  source: Source,
  { object, listSources }: { object: KubernetesObject; listSources: ListSources | undefined },
): Promise<SourceObjectDifference> {
  const { kind, metadata } = object;
  const named = {
    kind,
    name: metadata.name,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
  };
  try {
    refuseNotAllowed(source, object);
    const live = await client.get(referenceOf(object));
    const dry = dryApply(createDryCluster(client), source, { object, live, listSources });
    // It may be missing because it is refused; where that cannot be asked, as without its namespace, it is missing all the same.
    const applied = await dry.catch((error: unknown) => {
      if (live || isObjectRefusal(error)) throw error;
    });
    if (!live || !applied) return { ...named, state: 'missing', fields: [] };
    return { ...named, ...compareApplied(live, applied) };
  } catch (error) {
    if (isObjectRefusal(error)) return { ...named, state: 'refused', fields: [], message: error.message };
    throw error;
  }
}

/** Whether applying the object would fail in the same way; other errors concern this request only, such as a right that whoever asks has not. */
export function isObjectRefusal(error: unknown): error is Error {
  if (isApiError(error, 'forbidden')) return !isMissingRight(error);
  return error instanceof EngineError || isApiError(error, 'invalid', 'unknownKind');
}

/** Where a live object is not what applying would leave. Pure. */
export function compareApplied(
  live: KubernetesObject,
  { wanted, written }: DryApplied,
): Pick<SourceObjectDifference, 'fields' | 'changedBy'> & { readonly state: 'same' | 'differs' } {
  const [before, after] = [declaredPart(live), declaredPart(written)];
  const changed = storedDifferencesOf(before, after);
  // What apply would take away is in none of the fields that it wants.
  const removed = storedDifferencesOf(after, before).filter((difference) => difference.live === undefined);
  if (changed.length + removed.length === 0) return { state: 'same', fields: [] };
  const changedBy = managerOfChange(live, declaredPart(wanted), manager);
  const isSecret = live.kind === 'Secret';
  const shown = { isSecret, mostCharacters };
  const fields = [
    ...describeDifferences(changed.slice(0, mostFields), shown),
    // Compared the other way round: what is there is not wanted.
    ...describeDifferences(removed.slice(0, mostFields - Math.min(mostFields, changed.length)), shown).map(
      ({ path, expected }) => ({ path, expected: '(absent)', actual: expected }),
    ),
  ];
  return { state: 'differs', fields, ...(changedBy === undefined ? {} : { changedBy }) };
}

/** Everything that Git may say of an object. */
function declaredPart(object: KubernetesObject): Record<string, unknown> {
  const { apiVersion: _, kind: __, metadata, status: ___, ...rest } = object;
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  return { ...rest, metadata: present({ labels, annotations, finalizers, ownerReferences }) };
}
