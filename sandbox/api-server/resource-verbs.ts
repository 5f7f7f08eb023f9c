import { type KubernetesObject, recordOf } from '../../src/api/kubernetes.ts';
import { ApiError, badRequest, invalid, notFound, unknownPath } from './errors.ts';
import { asNumber, asStrings, at, clone, type JsonRecord } from './json.ts';
import { type KindInfo, toServed, toStored } from './kinds.ts';
import { filterOf, type Lister, present } from './list.ts';
import { type DeleteOptions, deleteObject } from './object-deletion.ts';
import {
  type ApiWorld,
  applyObject,
  createObject,
  updateObject,
  type WriteOptions,
} from './object-writer.ts';
import { jsonPatch, mergePatch, strategicPatch } from './patches.ts';
import {
  type ApiRequest,
  isDryRun,
  managerOf,
  parseBody,
  parseObject,
  type ResourcePath,
} from './request.ts';
import { badValue } from './validation.ts';

/** What goes back over the wire. */
interface ApiAnswer {
  readonly code: number;
  readonly body: JsonRecord;
}

/** Everything a verb needs. */
interface VerbContext {
  readonly world: ApiWorld;
  readonly lister: Lister;
  readonly request: ApiRequest;
  readonly target: ResourcePath;
}

/** Runs one request on a resource (watches apart). Throws ApiError. */
export function runVerb(context: VerbContext): ApiAnswer {
  const { request, target } = context;
  if (!target.name) return onCollection(context);
  switch (request.method) {
    case 'GET':
      return { code: 200, body: shown(context, live(context)) };
    case 'PUT':
      return put(context);
    case 'PATCH':
      return patch(context);
    case 'DELETE':
      return remove(context, live(context));
    default:
      throw methodNotAllowed();
  }
}

function methodNotAllowed(): ApiError {
  return new ApiError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
  );
}

function onCollection(context: VerbContext): ApiAnswer {
  switch (context.request.method) {
    case 'GET':
      return { code: 200, body: context.lister.list(context.request, context.target) };
    case 'POST': {
      const object = parseObject(context.request, context.target);
      const created = createObject(context.world, context.target.kind, object, writeOptions(context));
      return { code: 201, body: shown(context, created) };
    }
    case 'DELETE':
      return removeCollection(context);
    default:
      throw methodNotAllowed();
  }
}

function writeOptions({ request, target }: VerbContext): WriteOptions {
  const { subresource } = target;
  return {
    manager: managerOf(request),
    dryRun: isDryRun(request),
    force: request.query.get('force') === 'true',
    strict: request.query.get('fieldValidation') === 'Strict',
    ...(subresource === 'status' || subresource === 'scale' ? { subresource } : {}),
  };
}

function live({ world, target }: VerbContext): KubernetesObject {
  const object = world.store.get(target.kind.storageKey, target.namespace, target.name ?? '');
  if (!object) throw notFound(target.kind, target.name ?? '');
  return object;
}

function shown({ request, target }: VerbContext, object: KubernetesObject): JsonRecord {
  return target.subresource === 'scale'
    ? scaleOf(target.kind, object)
    : present(target.kind, object, request.accept);
}

function put(context: VerbContext): ApiAnswer {
  const { world, target, request } = context;
  const body = parseObject(request, target);
  const next = target.subresource === 'scale' ? withScale(target.kind, live(context), body) : body;
  return { code: 200, body: shown(context, updateObject(world, target.kind, next, writeOptions(context))) };
}

function patch(context: VerbContext): ApiAnswer {
  const { request, target, world } = context;
  const type = request.contentType.split(';')[0]?.trim();
  if (type === 'application/apply-patch+yaml') return apply(context);
  const before = live(context);
  const base = target.subresource === 'scale' ? scaleOf(target.kind, before) : toServed(target.kind, before);
  const patched = recordOf(patchBy(type ?? '', base, context));
  const next =
    target.subresource === 'scale' ? withScale(target.kind, before, patched) : (patched as KubernetesObject);
  const { name, namespace } = before.metadata;
  if (next.metadata?.name !== name)
    throw badRequest('the name of the object does not match the name on the URL');
  const identified = { ...next, metadata: { ...next.metadata, name, ...(namespace ? { namespace } : {}) } };
  return {
    code: 200,
    body: shown(
      context,
      updateObject(world, target.kind, toStored(target.kind, identified), writeOptions(context)),
    ),
  };
}

function patchBy(type: string, base: unknown, { request, target }: VerbContext): unknown {
  switch (type) {
    case 'application/merge-patch+json':
      return mergePatch(base, parseBody(request));
    case 'application/json-patch+json':
      return jsonPatch(base, parseBody(request));
    case 'application/strategic-merge-patch+json':
      if (!target.kind.schema) return strategicPatch(base, parseBody(request), target.kind.merge);
      break;
  }
  const known = 'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml';
  const message = `the body of the request was in an unknown format - accepted media types include: ${known}`;
  throw new ApiError(415, 'UnsupportedMediaType', message);
}

function apply(context: VerbContext): ApiAnswer {
  const { request, target, world } = context;
  if (!request.query.get('fieldManager')) {
    const message =
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch';
    throw new ApiError(422, 'Invalid', message);
  }
  const existed = world.store.get(target.kind.storageKey, target.namespace, target.name ?? '') !== undefined;
  const applied = applyObject(world, target.kind, parseObject(request, target), writeOptions(context));
  return { code: existed ? 200 : 201, body: shown(context, applied) };
}

function deleteOptions({ request }: VerbContext): DeleteOptions {
  const body: JsonRecord = request.body ? recordOf(parseBody(request)) : {};
  const grace = request.query.get('gracePeriodSeconds');
  const propagation = request.query.get('propagationPolicy');
  return {
    ...(body as DeleteOptions),
    dryRun: isDryRun(request) || Array.isArray(body.dryRun),
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(propagation === null ? {} : { propagationPolicy: propagation }),
  };
}

function remove(context: VerbContext, object: KubernetesObject): ApiAnswer {
  const { kind } = context.target;
  const deletion = deleteObject(context.world, kind, object, deleteOptions(context));
  const { name, uid } = object.metadata;
  const details = { name, ...(kind.group ? { group: kind.group } : {}), kind: kind.plural, uid };
  if (!deletion.gone || kind.storageKey === '/pods')
    return { code: 200, body: shown(context, deletion.object) };
  return { code: 200, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details } };
}

function removeCollection(context: VerbContext): ApiAnswer {
  const { world, target, request } = context;
  const list = context.lister.list(request, target);
  const chosen = world.store.list(target.kind.storageKey, target.namespace).filter(filterOf(request, target));
  for (const object of chosen) remove(context, object);
  return { code: 200, body: list };
}

/** The scale subresource's view of an object; throws 404 for kinds without one. */
function scaleOf(kind: KindInfo, object: KubernetesObject): JsonRecord {
  if (!kind.scale) throw unknownPath();
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = kind.scale.selector ? selectorText(at(object, ...kind.scale.selector)) : undefined;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: asNumber(at(object, ...kind.scale.replicas)) },
    status: {
      replicas: asNumber(at(object, ...kind.scale.statusReplicas)),
      ...(selector ? { selector } : {}),
    },
  };
}

function selectorText(selector: unknown): string {
  if (typeof selector === 'string') return selector;
  const labels = Object.entries(asStrings(at(selector, 'matchLabels')));
  return labels.map(([key, value]) => `${key}=${value}`).join(',');
}

/** The object with the replicas of a Scale; throws 422 for a negative number. */
function withScale(kind: KindInfo, live: KubernetesObject, scale: JsonRecord): KubernetesObject {
  if (!kind.scale) throw unknownPath();
  const replicas = asNumber(at(scale, 'spec', 'replicas'));
  if (replicas < 0) {
    throw invalid(kind, live.metadata.name, [
      badValue('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ]);
  }
  const field = kind.scale.replicas.at(-1);
  if (field === undefined) throw badRequest('the kind declares no replicas path');
  const object = clone(live);
  recordOf(at(object, ...kind.scale.replicas.slice(0, -1)))[field] = replicas;
  const version = at(scale, 'metadata', 'resourceVersion');
  if (typeof version === 'string') object.metadata.resourceVersion = version;
  return object;
}
