import { randomUUID } from 'node:crypto';
import type { Clock } from '../../src/api/clock.ts';
import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import { admit } from './admission.ts';
import { ApiError, alreadyExists, badRequest, conflict, notFound } from './errors.ts';
import { asString, clone, type JsonRecord, sameJson } from './json.ts';
import { apiVersionOf, type KindInfo, type KindRegistry } from './kinds.ts';
import { randomSuffix } from './safe-names.ts';
import { applyConfiguration, trackUpdate, type Writer } from './server-side-apply.ts';
import type { Store } from './store.ts';

/** What every part of the sandbox's API works on. */
export interface ApiWorld {
  readonly store: Store;
  readonly kinds: KindRegistry;
  readonly clock: Clock;
  /** Of bookmarks and time-outs of watches. */
  readonly network: Clock;
  /** What mutating admission webhooks make of an object. */
  readonly mutate: (storageKey: string, object: KubernetesObject) => KubernetesObject;
}

/** How a write is to be done. */
export interface WriteOptions {
  /** Field manager. */
  readonly manager: string;
  readonly dryRun?: boolean;
  /** Server-side apply only: take fields from other managers. */
  readonly force?: boolean;
  /** `fieldValidation=Strict`: unknown fields are an error. */
  readonly strict?: boolean;
  readonly subresource?: 'status' | 'scale';
}

/** RFC 3339 with seconds, as Kubernetes stamps objects. */
export function timestamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}

function writerOf(
  world: ApiWorld,
  kind: KindInfo,
  operation: Writer['operation'],
  options: WriteOptions,
): Writer {
  return {
    manager: options.manager,
    operation,
    apiVersion: apiVersionOf(kind),
    ...(options.subresource ? { subresource: options.subresource } : {}),
    time: timestamp(world.clock.nowMs()),
  };
}

/** Creates an object. Throws ApiError: 409 when it exists, 404 without its namespace, 422 when it is invalid. */
export function createObject(
  world: ApiWorld,
  kind: KindInfo,
  body: KubernetesObject,
  options: WriteOptions,
): KubernetesObject {
  if (body.metadata.resourceVersion) {
    throw new ApiError(500, 'InternalError', 'resourceVersion should not be set on objects to be created');
  }
  const writer = writerOf(world, kind, 'Update', options);
  const track = (object: KubernetesObject) => trackUpdate(undefined, object, kind.merge, writer);
  return insert({ world, kind, options, track }, body);
}

/** One write under way, and how its field ownership is found. */
interface Write {
  readonly world: ApiWorld;
  readonly kind: KindInfo;
  readonly options: WriteOptions;
  readonly track: (object: KubernetesObject) => JsonRecord[];
}

function insert({ world, kind, options, track }: Write, body: KubernetesObject): KubernetesObject {
  const name = body.metadata.name || generatedName(body);
  requireNamespace(world, kind, body.metadata.namespace);
  if (world.store.get(kind.storageKey, body.metadata.namespace, name)) throw alreadyExists(kind, name);
  const { status: _ignored, ...withoutStatus } = body;
  const bare = (kind.hasStatus ? withoutStatus : body) as KubernetesObject;
  const {
    managedFields: _none,
    resourceVersion: _unset,
    deletionTimestamp: _never,
    ...metadata
  } = bare.metadata;
  const admitted = world.mutate(
    kind.storageKey,
    admit(
      world.store,
      kind,
      { ...bare, metadata: { ...metadata, name } },
      { strict: options.strict === true },
    ),
  );
  const stamped: KubernetesObject = {
    ...admitted,
    metadata: {
      ...admitted.metadata,
      uid: randomUUID(),
      creationTimestamp: timestamp(world.clock.nowMs()),
      ...(kind.hasGeneration ? { generation: 1 } : {}),
    },
  };
  const object = withManagedFields(stamped, track(stamped));
  return options.dryRun ? object : world.store.put(kind.storageKey, object);
}

function generatedName(body: KubernetesObject): string {
  const prefix = asString(body.metadata.generateName);
  if (!prefix) throw badRequest('name or generateName is required');
  return `${prefix}${randomSuffix()}`;
}

function requireNamespace(world: ApiWorld, kind: KindInfo, namespace: string | undefined): void {
  if (!kind.namespaced) return;
  const found = world.store.get('/namespaces', undefined, namespace ?? '');
  const namespaces = { group: '', plural: 'namespaces', kind: 'Namespace' };
  if (!found) throw notFound(namespaces, namespace ?? '');
  if (!found.metadata.deletionTimestamp) return;
  const message = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw new ApiError(403, 'Forbidden', message, { causes: [{ reason: 'NamespaceTerminating' }] });
}

function withManagedFields(object: KubernetesObject, managedFields: JsonRecord[]): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

/** Replaces an object. Throws ApiError: 404 without it, 409 when its version or uid is another one, 422 when it is invalid. */
export function updateObject(
  world: ApiWorld,
  kind: KindInfo,
  body: KubernetesObject,
  options: WriteOptions,
): KubernetesObject {
  const live = world.store.get(kind.storageKey, body.metadata.namespace, body.metadata.name);
  if (!live) throw notFound(kind, body.metadata.name);
  const writer = writerOf(world, kind, 'Update', options);
  // Ownership may be handed on by writing it: what the write itself changes is then counted from there.
  const { managedFields } = body.metadata;
  const before =
    Array.isArray(managedFields) && managedFields.length > 0 ? withManagedFields(live, managedFields) : live;
  const track = (object: KubernetesObject) => trackUpdate(before, object, kind.merge, writer);
  return replace({ world, kind, options, track }, live, body);
}

/** Server-side apply; creates the object where it is missing. Throws ApiError: 409 on conflicts, 500 for unknown fields. */
export function applyObject(
  world: ApiWorld,
  kind: KindInfo,
  body: KubernetesObject,
  options: WriteOptions,
): KubernetesObject {
  if (body.metadata.managedFields) throw badRequest('metadata.managedFields must be nil');
  const live = world.store.get(kind.storageKey, body.metadata.namespace, body.metadata.name);
  const config = subresourcePart(kind, body, options.subresource);
  const writer = writerOf(world, kind, 'Apply', options);
  if (!live && options.subresource) throw notFound(kind, body.metadata.name);
  if (!live && body.metadata.uid) throw conflict(kind, body.metadata.name);
  const { resourceVersion: _version, ...metadata } = config.metadata;
  const declared = admit(world.store, kind, { ...config, metadata }, { strict: true, onlyFields: true });
  const applied = applyConfiguration(live, declared, kind.merge, writer, options.force === true);
  const write = { world, kind, options, track: () => applied.managedFields };
  if (!live) return insert(write, applied.object);
  const { resourceVersion } = body.metadata;
  const uid = body.metadata.uid ?? live.metadata.uid;
  const identity = { ...(resourceVersion ? { resourceVersion } : {}), ...(uid ? { uid } : {}) };
  const { resourceVersion: _live, ...merged } = applied.object.metadata;
  const next = { ...applied.object, metadata: { ...merged, ...identity } };
  return replace(write, live, next);
}

/** The fields of an applied object that this door takes: status through the status subresource, everything else outside it. */
function subresourcePart(
  kind: KindInfo,
  body: KubernetesObject,
  subresource: string | undefined,
): KubernetesObject {
  const { status, ...rest } = body;
  if (subresource !== 'status') return (kind.hasStatus ? rest : body) as KubernetesObject;
  const { name, namespace } = body.metadata;
  return {
    apiVersion: body.apiVersion,
    kind: body.kind,
    metadata: namespace ? { name, namespace } : { name },
    status,
  };
}

function replace(
  { world, kind, options, track }: Write,
  live: KubernetesObject,
  body: KubernetesObject,
): KubernetesObject {
  refuseOtherVersion(kind, live, body);
  const carried = carryOver(kind, live, body, options.subresource);
  const next =
    options.subresource === 'status'
      ? admit(world.store, kind, carried, {
          previous: live,
          strict: options.strict === true,
          statusOnly: true,
        })
      : world.mutate(
          kind.storageKey,
          admit(world.store, kind, carried, { previous: live, strict: options.strict === true }),
        );
  const counted = withGeneration(kind, live, next);
  const object = withManagedFields(counted, track(counted));
  if (sameJson(object, live)) return live;
  if (options.dryRun) return object;
  const stored = world.store.put(kind.storageKey, object);
  return readyToGo(stored) ? world.store.remove(kind.storageKey, stored) : stored;
}

function refuseOtherVersion(kind: KindInfo, live: KubernetesObject, body: KubernetesObject): void {
  const { name, uid, resourceVersion } = body.metadata;
  refuseOtherUid(kind, live, uid);
  if (resourceVersion && resourceVersion !== live.metadata.resourceVersion) throw conflict(kind, name);
}

/** Throws a conflict where the object is another one of that name. */
export function refuseOtherUid(
  kind: KindInfo,
  { metadata }: KubernetesObject,
  uid: string | undefined,
): void {
  if (!uid || uid === metadata.uid) return;
  const uids = `UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  throw conflict(kind, metadata.name, `Precondition failed: ${uids}`);
}

/** True when nothing holds a deleted object back any longer. */
export function readyToGo(object: KubernetesObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  return deletionTimestamp !== undefined && (finalizers ?? []).length === 0 && !deletionGracePeriodSeconds;
}

const SYSTEM_METADATA = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
  'managedFields',
  'resourceVersion',
];

/** The object a write leads to: what the door does not open for, and what only the server sets, comes from the live object. */
function carryOver(
  kind: KindInfo,
  live: KubernetesObject,
  body: KubernetesObject,
  subresource?: string,
): KubernetesObject {
  if (subresource === 'status') return 'status' in body ? { ...live, status: clone(body.status) } : live;
  const system = SYSTEM_METADATA.filter((field) => live.metadata[field] !== undefined).map((field) => [
    field,
    live.metadata[field],
  ]);
  const own = Object.entries(body.metadata).filter(([field]) => !SYSTEM_METADATA.includes(field));
  const { status, ...rest } = body;
  const kept = kind.hasStatus ? live.status : status;
  return clone({
    ...rest,
    metadata: Object.fromEntries([...own, ...system]) as KubernetesObject['metadata'],
    ...(kept === undefined ? {} : { status: kept }),
  }) as KubernetesObject;
}

/** Counts the generation up when anything but metadata and status changed. */
function withGeneration(kind: KindInfo, live: KubernetesObject, next: KubernetesObject): KubernetesObject {
  if (!kind.hasGeneration || sameJson(specOf(kind, live), specOf(kind, next))) return next;
  return { ...next, metadata: { ...next.metadata, generation: (live.metadata.generation ?? 0) + 1 } };
}

function specOf(kind: KindInfo, object: KubernetesObject): JsonRecord {
  const { metadata: _metadata, status, ...spec } = object;
  return kind.hasStatus ? spec : { ...spec, status };
}
