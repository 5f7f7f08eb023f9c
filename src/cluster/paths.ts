import { describe, type ObjectReference } from '../api/kubernetes.ts';
import type { ResourceInfo } from './discovery-format.ts';
import { localError } from './errors.ts';

/** Path of one object or its subresource. Throws `invalid` for names and scopes that cannot be right. */
export function pathOf(info: ResourceInfo, reference: ObjectReference, subresource?: string): string {
  if (!reference.name) throw localError('invalid', `${describe(reference)}: metadata.name is missing`);
  if (info.namespaced && !reference.namespace) {
    throw localError('invalid', `${describe(reference)}: metadata.namespace is missing`);
  }
  const base = `${collectionPath(info, reference.namespace)}/${segment(reference.name)}`;
  return subresource ? `${base}/${segment(subresource)}` : base;
}

/** Path of all objects of a kind, in one namespace or in the whole cluster. */
export function collectionPath(info: ResourceInfo, namespace?: string): string {
  if (!info.namespaced && namespace) {
    throw localError('invalid', `${info.kind} is cluster-scoped and cannot be in namespace ${namespace}`);
  }
  const root = info.apiVersion.includes('/') ? `/apis/${info.apiVersion}` : `/api/${info.apiVersion}`;
  const scope = namespace ? `/namespaces/${segment(namespace)}` : '';
  return `${root}${scope}/${info.plural}`;
}

/** Kubernetes' own rule for names in paths: without it `..` would climb to another resource. */
function segment(name: string): string {
  if (name === '.' || name === '..' || /[/%]/.test(name)) {
    throw localError('invalid', `"${name}" cannot be a name: "/", "%", "." and ".." are not allowed`);
  }
  return encodeURIComponent(name);
}
