import { describe, type KubernetesObject, type ObjectReference } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import type { WatchQuery } from '../../contracts/cluster.ts';
import { isApiError, localError } from '../errors.ts';
import type { ApiRequest, ResourceInfo } from '../transport/request.ts';
import type { Transport } from '../transport/transport.ts';

/** Which objects of a kind. */
export type ListOptions = Pick<WatchQuery, 'namespace' | 'labelSelector' | 'name' | 'metadataOnly'>;

/** Objects as of one moment, which `resourceVersion` names; a watch may start there. */
export interface ListResult {
  readonly items: readonly KubernetesObject[];
  readonly resourceVersion: string;
}

interface ListBody {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: unknown;
}

const maximumObjects = 200_000;

/** The Accept header: whole objects, or `form` for metadata alone. */
export function acceptHeader(
  { metadataOnly }: ListOptions,
  form: 'PartialObjectMetadata' | 'PartialObjectMetadataList',
): string {
  return metadataOnly ? `application/json;as=${form};g=meta.k8s.io;v=v1` : 'application/json';
}

/** Walks all pages. When the snapshot expires between two pages, starts again once; then throws `gone`. */
export async function listAll(
  transport: Transport,
  info: ResourceInfo,
  options: ListOptions & Pick<ApiRequest, 'signal' | 'impersonate'>,
): Promise<ListResult> {
  try {
    return await walkPages(transport, info, options);
  } catch (error) {
    if (!isApiError(error, 'gone')) throw error;
    return walkPages(transport, info, options);
  }
}

async function walkPages(
  transport: Transport,
  info: ResourceInfo,
  options: ListOptions & Pick<ApiRequest, 'signal' | 'impersonate'>,
): Promise<ListResult> {
  const items: KubernetesObject[] = [];
  let resourceVersion = '';
  let next = '';
  do {
    const body = await readPage(transport, info, options, next);
    items.push(...itemsOf(info, body));
    resourceVersion = body.metadata?.resourceVersion ?? resourceVersion;
    next = body.metadata?.continue ?? '';
    if (items.length > maximumObjects) {
      throw localError(
        'badAnswer',
        `list ${info.plural}: more than ${maximumObjects} objects; narrow the selection`,
      );
    }
  } while (next);
  return { items, resourceVersion };
}

async function readPage(
  transport: Transport,
  info: ResourceInfo,
  options: ListOptions & Pick<ApiRequest, 'signal' | 'impersonate'>,
  next: string,
): Promise<ListBody> {
  const { namespace, signal, impersonate } = options;
  const body = await transport.request({
    verb: 'list',
    path: collectionPath(info, namespace),
    query: {
      limit: String(limits.listPageObjects),
      ...selectorsOf(options),
      ...(next ? { continue: next } : {}),
    },
    accept: acceptHeader(options, 'PartialObjectMetadataList'),
    object: namespace ? `${info.plural} in ${namespace}` : info.plural,
    secret: info.kind === 'Secret',
    ...(signal ? { signal } : {}),
    ...(impersonate ? { impersonate } : {}),
  });
  return body as ListBody;
}

/** The part of a query that says which objects of a kind are meant. */
export function selectorsOf({ labelSelector, name }: ListOptions): Record<string, string> {
  return {
    ...(labelSelector ? { labelSelector } : {}),
    ...(name ? { fieldSelector: `metadata.name=${name}` } : {}),
  };
}

/** Items of a list lack apiVersion and kind (and metadata-only ones name another kind): both are filled in. */
function itemsOf(info: ResourceInfo, body: ListBody): KubernetesObject[] {
  // A metadata-only list of nothing comes with `items: null`.
  if (body.items === null) return [];
  if (!Array.isArray(body.items))
    throw localError('badAnswer', `list ${info.plural}: the answer has no items`);
  return body.items.map((item) => asKind(info, item));
}

/** The object under its own kind's name. Throws `badAnswer` when it is no object. */
export function asKind(info: ResourceInfo, item: unknown): KubernetesObject {
  const object = item as KubernetesObject | null;
  if (typeof object?.metadata?.name !== 'string') {
    throw localError('badAnswer', `${info.plural}: the server sent an object without metadata.name`);
  }
  return { ...object, apiVersion: info.apiVersion, kind: info.kind };
}

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
