import { describe, type KubernetesObject, type ObjectReference, referenceOf } from '../../api/kubernetes.ts';
import type { ServerCapabilities } from '../../contracts/cluster.ts';
import { isApiError } from '../errors.ts';
import type { ApiRequest, ResourceInfo } from '../transport/request.ts';
import type { Transport } from '../transport/transport.ts';
import type { Discovery } from './discovery.ts';
import { collectionPath, type ListOptions, type ListResult, listAll, pathOf } from './list.ts';

/** Raw-JSON access to any kind. Objects have every field the server sent. All calls throw ApiError. */
export interface ClusterClient {
  /** A quorum read (S19); undefined when the server says that this name does not exist. */
  get(
    reference: ObjectReference,
    options?: CallOptions & { readonly subresource?: string },
  ): Promise<KubernetesObject | undefined>;
  /** All objects, fetched page by page, as of one moment. */
  list(apiVersion: string, kind: string, options?: ListOptions & CallOptions): Promise<ListResult>;
  apply(object: KubernetesObject, options: ApplyOptions): Promise<KubernetesObject>;
  create(object: KubernetesObject, options: WriteOptions): Promise<KubernetesObject>;
  patch(reference: ObjectReference, body: unknown, options: PatchOptions): Promise<KubernetesObject>;
  /** Resolves to false when there was nothing to delete. Finalizers may delay the deletion. */
  delete(reference: ObjectReference, options?: DeleteOptions): Promise<boolean>;
  /** An answer that is no object, of an API that lists no kinds for it. `object`: how messages name it. */
  getPath(request: Pick<ApiRequest, 'path' | 'query' | 'object'>, options?: CallOptions): Promise<unknown>;
  resolve(apiVersion: string, kind: string): Promise<ResourceInfo>;
  /** The kind in the version that the server prefers; undefined when it serves none. */
  find(group: string, kind: string): Promise<ResourceInfo | undefined>;
  /** The server's version and what it serves; cached until discovery is invalidated. */
  capabilities(): Promise<ServerCapabilities>;
}

/** What a client is made of. */
interface ClientParts {
  readonly transport: Transport;
  readonly discovery: Discovery;
  /** Called with every object that the server stored for us, so that caches show our own writes immediately. */
  readonly onWritten?: (object: KubernetesObject) => void;
}

/** Creates the client over a transport. */
export function createClusterClient(parts: ClientParts): ClusterClient {
  return {
    get: (reference, options) => get(parts, reference, options),
    list: async (apiVersion, kind, options = {}) =>
      listAll(parts.transport, await parts.discovery.resolve(apiVersion, kind), options),
    apply: (object, options) => apply(parts, object, options),
    create: (object, options) => create(parts, object, options),
    patch: (reference, body, options) => patch(parts, reference, body, options),
    delete: (reference, options) => remove(parts, reference, options ?? {}),
    getPath: (request, options = {}) =>
      parts.transport.request({ verb: 'get', ...request, ...common(options) }),
    resolve: (apiVersion, kind) => parts.discovery.resolve(apiVersion, kind),
    find: (group, kind) => parts.discovery.find(group, kind),
    capabilities: () => parts.discovery.capabilities(),
  };
}

async function get(
  parts: ClientParts,
  reference: ObjectReference,
  options: CallOptions & { readonly subresource?: string } = {},
): Promise<KubernetesObject | undefined> {
  try {
    return (await send(
      parts,
      reference,
      { verb: 'get', ...common(options) },
      options.subresource,
    )) as KubernetesObject;
  } catch (error) {
    if (isApiError(error, 'notFound')) return undefined;
    throw error;
  }
}

async function apply(
  parts: ClientParts,
  object: KubernetesObject,
  options: ApplyOptions,
): Promise<KubernetesObject> {
  // The server refuses an applied object that carries managedFields.
  const { managedFields: _, ...metadata } = object.metadata;
  const expected = {
    ...(options.resourceVersion === undefined ? {} : { resourceVersion: options.resourceVersion }),
    ...(options.uid === undefined ? {} : { uid: options.uid }),
  };
  const request = {
    verb: 'apply',
    contentType: 'application/apply-patch+yaml',
    query: { ...writeQuery(options), force: String(options.force) },
    body: { ...object, metadata: { ...metadata, ...expected } },
    ...common(options),
  } as const;
  return written(parts, await send(parts, referenceOf(object), request, options.subresource), options);
}

async function create(
  parts: ClientParts,
  object: KubernetesObject,
  options: WriteOptions,
): Promise<KubernetesObject> {
  const info = await parts.discovery.resolve(object.apiVersion, object.kind);
  const answer = await guarded(parts, {
    verb: 'create',
    path: collectionPath(info, object.metadata.namespace),
    query: writeQuery(options),
    body: object,
    object: describe(object),
    secret: object.kind === 'Secret',
    ...common(options),
  });
  return written(parts, answer, options);
}

async function patch(
  parts: ClientParts,
  reference: ObjectReference,
  body: unknown,
  options: PatchOptions,
): Promise<KubernetesObject> {
  const request = {
    verb: 'patch',
    contentType: options.type === 'merge' ? 'application/merge-patch+json' : 'application/json-patch+json',
    query: writeQuery(options),
    body: withPrecondition(body, options),
    ...common(options),
  } as const;
  return written(parts, await send(parts, reference, request, options.subresource), options);
}

/** Adds the resourceVersion in the patch's own language; the server answers `conflict` when it differs. */
function withPrecondition(body: unknown, options: PatchOptions): unknown {
  if (options.resourceVersion === undefined) return body;
  if (options.type === 'merge') {
    const merge = body as { metadata?: Record<string, unknown> };
    return { ...merge, metadata: { ...merge.metadata, resourceVersion: options.resourceVersion } };
  }
  const version = { op: 'replace', path: '/metadata/resourceVersion', value: options.resourceVersion };
  return [version, ...(body as unknown[])];
}

async function remove(
  parts: ClientParts,
  reference: ObjectReference,
  options: DeleteOptions,
): Promise<boolean> {
  const preconditions = {
    ...(options.uid ? { uid: options.uid } : {}),
    ...(options.resourceVersion ? { resourceVersion: options.resourceVersion } : {}),
  };
  const body = {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions,
    propagationPolicy: options.propagation ?? 'Background',
    ...(options.dryRun ? { dryRun: ['All'] } : {}),
  };
  try {
    const answer = await send(parts, reference, { verb: 'delete', body, ...common(options) });
    // A graceful or finalized delete answers with the object that is now being deleted.
    if (isObject(answer) && answer.kind === reference.kind) written(parts, answer, options);
    return true;
  } catch (error) {
    if (isApiError(error, 'notFound')) return false;
    throw error;
  }
}

type RequestPart = Omit<ApiRequest, 'path' | 'object' | 'secret'>;

async function send(
  parts: ClientParts,
  reference: ObjectReference,
  request: RequestPart,
  subresource?: string,
): Promise<unknown> {
  const info = await parts.discovery.resolve(reference.apiVersion, reference.kind);
  return guarded(parts, {
    ...request,
    path: pathOf(info, reference, subresource),
    object: subresource ? `${describe(reference)} (${subresource})` : describe(reference),
    secret: reference.kind === 'Secret',
  });
}

/** Sends; a path the server does not know means that our table of kinds is old. */
async function guarded(parts: ClientParts, request: ApiRequest): Promise<unknown> {
  try {
    return await parts.transport.request(request);
  } catch (error) {
    if (isApiError(error, 'unknownKind')) parts.discovery.invalidate();
    throw error;
  }
}

function written(
  parts: ClientParts,
  answer: unknown,
  options: { readonly dryRun?: boolean; readonly subresource?: string },
): KubernetesObject {
  const object = answer as KubernetesObject;
  if (options.dryRun) return object;
  if (object.kind === 'CustomResourceDefinition') parts.discovery.invalidate();
  if (isObject(object) && object.metadata.resourceVersion) parts.onWritten?.(object);
  return object;
}

function isObject(value: unknown): value is KubernetesObject {
  const object = value as KubernetesObject | null;
  return typeof object?.kind === 'string' && typeof object.metadata?.name === 'string';
}

function common(options: CallOptions): Pick<ApiRequest, 'signal' | 'impersonate' | 'maySend'> {
  return {
    ...(options.signal ? { signal: options.signal } : {}),
    ...(options.impersonate ? { impersonate: options.impersonate } : {}),
    ...(options.maySend ? { maySend: options.maySend } : {}),
  };
}

function writeQuery(options: WriteOptions): Record<string, string> {
  return {
    fieldManager: options.manager,
    fieldValidation: options.fieldValidation ?? 'Strict',
    ...(options.dryRun ? { dryRun: 'All' } : {}),
  };
}

/** Options every call takes. */
interface CallOptions {
  readonly signal?: AbortSignal;
  /** Act as this user, for instance `system:serviceaccount:shop:deployer` (S21). */
  readonly impersonate?: string;
  /** Asked at the last moment before anything is sent; see `ApiRequest`. */
  readonly maySend?: () => boolean;
}

/** Options of writes. */
interface WriteOptions extends CallOptions {
  /** Field manager. */
  readonly manager: string;
  /** The server checks and answers, but stores nothing. */
  readonly dryRun?: boolean;
  /** Strict (default): unknown fields are refused. Ignore: create and patch drop them; apply refuses them all the same. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore';
}

/** Options of server-side apply. */
interface ApplyOptions extends WriteOptions {
  /** Take over fields of other managers. Without it a clash is a `fieldConflict`. */
  readonly force: boolean;
  /**
   * Only if the object still has this version, else `conflict` (S17). Give the uid too: without it a server creates the object
   * again when it was deleted in between (seen on a real server).
   */
  readonly resourceVersion?: string;
  readonly uid?: string;
  readonly subresource?: string;
}

/** Options of merge and JSON patches. */
interface PatchOptions extends WriteOptions {
  readonly type: 'merge' | 'json';
  readonly resourceVersion?: string;
  readonly subresource?: string;
}

/** Options of deletes; uid and resourceVersion are preconditions (`conflict` when they do not hold). */
interface DeleteOptions extends CallOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
  readonly dryRun?: boolean;
}
