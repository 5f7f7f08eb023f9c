import { parse } from 'yaml';
import { isRecord, type KubernetesObject } from '../../src/api/kubernetes.ts';
import { ApiError, badRequest, unknownPath } from './errors.ts';
import { type KindInfo, type KindRegistry, toStored } from './kinds.ts';

/** One HTTP request after its body was read. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly contentType: string;
  readonly userAgent: string;
  /** Impersonate-User; empty: no impersonation. */
  readonly impersonated: string;
  readonly body: string;
}

/** The resource a path names. */
export interface ResourcePath {
  readonly kind: KindInfo;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** Splits a path into the resource it names; throws 404 for paths of no served kind. */
export function parseResourcePath(kinds: KindRegistry, path: string): ResourcePath {
  const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
  const [group = '', version = '', ...rest] = parts[0] === 'api' ? ['', ...parts.slice(1)] : parts.slice(1);
  const spaced =
    rest[0] === 'namespaces' && rest.length >= 3 && !['status', 'finalize'].includes(rest[2] ?? '');
  const [plural = '', name, subresource] = spaced ? rest.slice(2) : rest;
  const kind = kinds.byPath(group, version, plural);
  const listsEverywhere = kind?.namespaced && !spaced && !name;
  if (!kind || (kind.namespaced !== spaced && !listsEverywhere)) throw unknownPath();
  return {
    kind,
    ...(spaced && rest[1] ? { namespace: rest[1] } : {}),
    ...(name ? { name } : {}),
    ...(subresource ? { subresource } : {}),
  };
}

/** The body as JSON; YAML where the content type says so. Throws 400 when it is neither, 415 for binary formats. */
export function parseBody(request: ApiRequest): unknown {
  if (/protobuf|cbor/.test(request.contentType)) {
    const message = `the sandbox takes JSON and YAML only, not ${request.contentType}`;
    throw new ApiError(415, 'UnsupportedMediaType', message);
  }
  try {
    // A reviver for every value of every request would cost more than the rest of it.
    if (!/\\u[dD][89a-fA-F]/.test(request.body)) return JSON.parse(request.body);
    return JSON.parse(request.body, (_, value) => (typeof value === 'string' ? wellFormed(value) : value));
  } catch (error) {
    if (!request.contentType.includes('yaml'))
      throw badRequest(`the object provided is unrecognized: ${String(error)}`);
    return parse(request.body);
  }
}

/** Half of a surrogate pair is no character: Go reads it as U+FFFD. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}

/** The body as an object of this kind at this path; throws 400 when it is another one. */
export function parseObject(request: ApiRequest, target: ResourcePath): KubernetesObject {
  const body = parseBody(request);
  const { kind, namespace, name } = target;
  if (!isRecord(body) || !isRecord(body.metadata ?? {}))
    throw badRequest('the object provided is unrecognized');
  const apiVersion = kind.group ? `${kind.group}/${kind.version}` : kind.version;
  if (target.subresource !== 'scale' && (body.kind !== kind.kind || body.apiVersion !== apiVersion)) {
    const got = `${String(body.apiVersion)}, Kind=${String(body.kind)}`;
    throw badRequest(`${got} in the body does not match the expected ${apiVersion}, Kind=${kind.kind}`);
  }
  const metadata = body.metadata as KubernetesObject['metadata'] | undefined;
  if (namespace && metadata?.namespace && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (name && metadata?.name && metadata.name !== name) {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  const identity = { name: name ?? metadata?.name ?? '', ...(namespace ? { namespace } : {}) };
  return toStored(kind, { ...body, metadata: { ...metadata, ...identity } } as KubernetesObject);
}

/** Field manager of a write: the parameter, or the program's name as a real server takes it from the user agent. */
export function managerOf(request: ApiRequest): string {
  return request.query.get('fieldManager') || request.userAgent.split('/')[0] || 'unknown';
}

/** True when the parameter `dryRun` asks for it; throws 400 for anything but `All`. */
export function isDryRun(request: ApiRequest): boolean {
  const values = request.query.getAll('dryRun').filter(Boolean);
  if (values.some((value) => value !== 'All')) {
    throw new ApiError(
      422,
      'Invalid',
      `dryRun: Unsupported value: "${values.join(',')}": supported values: "All"`,
    );
  }
  return values.length > 0;
}
