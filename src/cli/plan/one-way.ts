/** Changes that cannot be taken back by going back in Git, and those that the API server cannot make in place. Pure. */
import { describe, type KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { forceAnnotation, mayRecreate } from '../../engine/source/recreate.ts';
import { objectKey } from '../../render/render.ts';
import { formatOrigin, type RenderedObject } from '../../render/types.ts';
import { immutableFields } from './immutable-fields.ts';
import { byKind, type Found, type OneWayRule } from './one-way-rules.ts';
import type { Removal } from './removals.ts';

/** One of them. */
export interface OneWayChange {
  readonly rule: OneWayRule;
  /** `oneWay`: going back does not undo it. `refused`: the API server cannot change this in place. `note`: it matters, and comes back. */
  readonly severity: 'oneWay' | 'refused' | 'note';
  /** `Kind namespace/name`. */
  readonly object: string;
  /** `path:line`. */
  readonly origin: string;
  /** What happens, in one sentence. */
  readonly message: string;
}

/** Everything they depend on. */
export interface OneWayInput {
  /** As head has it; where it leaves Git, as base had it. */
  readonly source: Source;
  readonly before: readonly RenderedObject[];
  readonly after: readonly RenderedObject[];
  readonly removals: ReadonlyMap<string, Removal>;
}

/** All of one Source, in the order of head's objects, removed ones last. */
export function oneWayChanges({ source, before, after, removals }: OneWayInput): OneWayChange[] {
  const older = new Map(before.map((entry) => [objectKey(entry.object), entry]));
  const kept = after.flatMap(({ object, origin }) => {
    const old = older.get(objectKey(object))?.object;
    const refused = old ? refusedChanges(source, old, object) : [];
    const found = byKind[object.kind]?.(old, object) ?? [];
    return [...refused, ...found].map((one) => told(one, object, formatOrigin(origin)));
  });
  const gone = before.flatMap(({ object, origin }) => {
    const removal = removals.get(objectKey(object));
    const found = removal ? lossOf(object, removal) : undefined;
    return found ? [told(found, object, formatOrigin(origin))] : [];
  });
  return [...kept, ...gone];
}

function told(found: Found, object: KubernetesObject, origin: string): OneWayChange {
  return { ...found, object: describe(object), origin };
}

function refusedChanges(source: Source, before: KubernetesObject, after: KubernetesObject): Found[] {
  const fields = immutableFields(before, after);
  if (fields.length === 0) return [];
  const what = fields.join(', ');
  if (mayRecreate(source, after)) {
    const message = `${what} cannot be changed in place: it is deleted and made anew, as ${forceAnnotation} or spec.force says`;
    return [{ rule: 'recreated', severity: 'oneWay', message }];
  }
  const message = `${what} cannot be changed in place: the API server will refuse it; make an object of another name, or annotate it with ${forceAnnotation}: "enabled" to have it deleted and made anew`;
  return [{ rule: 'immutableField', severity: 'refused', message }];
}

/** Kinds whose deletion takes more with it than what stands in Git. */
const losses: Readonly<Record<string, string>> = {
  Namespace: 'everything in the namespace is deleted with it',
  CustomResourceDefinition: 'all objects of this kind, in all namespaces, are deleted with it',
  PersistentVolumeClaim: 'the data of the volume may be deleted with it',
  PersistentVolume: 'the data of the volume may be deleted with it',
};

function lossOf({ kind }: KubernetesObject, { fate }: Removal): Found | undefined {
  const loss = losses[kind];
  if (loss === undefined || fate === 'stays') return undefined;
  const when = fate === 'waitsForApproval' ? ', once a person approves the commit' : '';
  return { rule: 'deletion', severity: 'oneWay', message: `${loss}${when}` };
}
