import { describe, type KubernetesObject, type ObjectReference } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import type { Variables } from '../../render/substitute/expand.ts';
import { EngineError } from '../failure.ts';
import type { Cluster } from '../ports/ports.ts';

/** A ConfigMap or Secret that a Source is rendered with. */
export interface InputObject extends ObjectReference {
  readonly optional: boolean;
}

/** The objects beside Git that decide what a Source means; a later one wins. */
export function variableObjects({ spec, metadata }: Source): InputObject[] {
  const namespace = metadata.namespace ?? '';
  return (spec.substitute?.from ?? []).map(({ kind, name, optional }) => ({
    apiVersion: 'v1',
    kind,
    namespace,
    name,
    optional: optional === true,
  }));
}

/**
 * The variables of a Source, read anew; undefined where none are filled in: without `spec.substitute`, and, as in Flux, where there is no
 * variable at all and none is demanded. Line ends are left out of values, as in Flux. Throws EngineError where an object is missing.
 */
export async function variablesOf(cluster: Cluster, source: Source): Promise<Variables | undefined> {
  const { substitute } = source.spec;
  if (!substitute) return undefined;
  const values = new Map<string, string>();
  for (const reference of variableObjects(source)) {
    const object = await cluster.get(reference);
    if (!object && !reference.optional)
      throw new EngineError('VariablesNotFound', `spec.substitute: there is no ${describe(reference)}`, true);
    for (const [name, value] of object ? textsOf(object) : []) values.set(name, value.replaceAll('\n', ''));
  }
  for (const [name, value] of Object.entries(substitute.variables ?? {})) values.set(name, value);
  const strict = substitute.strict === true;
  return values.size > 0 || strict ? { values, strict } : undefined;
}

/** Keys and texts of a ConfigMap or Secret; keys that are no names of variables can never be asked for. */
function textsOf({ kind, data }: KubernetesObject): Array<[string, string]> {
  const entries = Object.entries((data ?? {}) as Record<string, string>);
  if (kind !== 'Secret') return entries;
  return entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]);
}
