import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { EngineError } from '../../failure.ts';
import { groupKindOf } from './inventory.ts';

/** Nothing is written there unless `spec.allow.namespaces` names it. */
const protectedNamespace = 'kube-system';

/**
 * Why a Source may not write an object (S21); undefined: it may. A Source that is confined to namespaces writes outside of them only kinds that
 * `spec.allow.kinds` names, besides those namespaces themselves: a ClusterRoleBinding would undo the confinement.
 */
export function whyNotAllowed({ spec }: Source, object: KubernetesObject): string | undefined {
  const { namespaces, kinds } = spec.allow ?? {};
  const isNamed = kinds?.some((kind) => kind === object.kind || kind === groupKindOf(object)) === true;
  if (kinds && !isNamed) return `kind ${object.kind} is not in spec.allow.kinds of the Source`;
  const { namespace, name } = object.metadata;
  if (namespace === undefined) {
    const isOwn = object.kind === 'Namespace' && namespaces?.includes(name) === true;
    if (!namespaces || isNamed || isOwn) return undefined;
    return `${object.kind} ${name} is in no namespace, and the Source is confined by spec.allow.namespaces; name the kind in spec.allow.kinds`;
  }
  const isAllowed = namespaces ? namespaces.includes(namespace) : namespace !== protectedNamespace;
  return isAllowed ? undefined : `namespace ${namespace} is not in spec.allow.namespaces of the Source`;
}

/** Throws EngineError NotAllowed. */
export function refuseNotAllowed(source: Source, object: KubernetesObject): void {
  const why = whyNotAllowed(source, object);
  if (why !== undefined) throw new EngineError('NotAllowed', why);
}

/**
 * The user that everything a Source holds is written as: its service account, or the one of that name in its namespace that a flag sets for all
 * Sources. Undefined: Holdfast itself. docs/security.md, "cluster rights": who may push must not get Holdfast's rights.
 */
export function accountOf({ metadata, spec }: Source, byDefault: string | undefined): string | undefined {
  const name = spec.serviceAccountName || byDefault;
  return name ? `system:serviceaccount:${metadata.namespace ?? ''}:${name}` : undefined;
}
