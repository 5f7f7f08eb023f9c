import { createHash } from 'node:crypto';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { ApiError, badRequest, invalid } from './api-error.ts';
import { undeclaredFields, withoutFields } from './declared-fields.ts';
import { withDefaults } from './defaults.ts';
import { asRecord, asString, at } from './json.ts';
import { apiVersionOf, type KindInfo } from './kinds.ts';
import type { Store } from './store.ts';
import { pruneAndDefault, schemaProblems, unknownFields } from './structural-schema.ts';
import { validate } from './validation.ts';

/** How far an object goes through admission. */
export interface AdmissionOptions {
  readonly previous?: KubernetesObject;
  /** Refuse unknown fields instead of dropping them. */
  readonly strict: boolean;
  /** Only look for unknown fields; used for the body of an apply, which is no whole object. */
  readonly onlyFields?: boolean;
  /** A status write: the rest of the object was admitted before. */
  readonly statusOnly?: boolean;
}

/** Unknown fields, defaults, allocated values and validation. Returns the object to store; the argument is not changed. */
export function admit(
  store: Store,
  kind: KindInfo,
  object: KubernetesObject,
  options: AdmissionOptions,
): KubernetesObject {
  const unknown = kind.schema ? unknownFields(object, kind.schema) : undeclaredFields(kind, object);
  if (unknown.length > 0 && options.strict)
    throw unknownFieldError(kind, object, unknown, options.onlyFields === true);
  if (options.onlyFields) return object;
  if (kind.schema) return admitCustom(kind, kind.schema, object);
  if (options.statusOnly) return object;
  const known = withoutFields(object, unknown);
  const filled = allocate(store, kind, withDefaults(kind.storageKey, known), options.previous);
  validate(kind, filled, options.previous);
  return filled;
}

function unknownFieldError(
  kind: KindInfo,
  object: KubernetesObject,
  unknown: readonly string[],
  apply: boolean,
): ApiError {
  const { name, namespace } = object.metadata;
  if (!apply) {
    const list = unknown.map((path) => `unknown field "${path.slice(1)}"`).join(', ');
    return badRequest(`strict decoding error: ${list}`);
  }
  const type = `${apiVersionOf(kind)}, Kind=${kind.kind}`;
  const list = unknown.map((path) => `${path}: field not declared in schema`).join('\n');
  return new ApiError(
    500,
    'InternalError',
    `failed to create typed patch object (${namespace ?? ''}/${name}; ${type}): ${list}`,
  );
}

function admitCustom(
  kind: KindInfo,
  schema: Record<string, unknown>,
  object: KubernetesObject,
): KubernetesObject {
  const { metadata, ...content } = object;
  const { metadata: _open, ...properties } = asRecord(schema.properties);
  const contentSchema = { ...schema, properties };
  const filled = asRecord(pruneAndDefault(content, contentSchema));
  const problems = schemaProblems(filled, contentSchema);
  if (problems.length > 0) throw invalid(kind, metadata.name, problems);
  const stored = { ...filled, metadata } as KubernetesObject;
  validate(kind, stored);
  return stored;
}

function allocate(
  store: Store,
  kind: KindInfo,
  object: KubernetesObject,
  previous?: KubernetesObject,
): KubernetesObject {
  if (kind.storageKey !== '/services') return object;
  const spec = asRecord(object.spec);
  if (spec.type === 'ExternalName' || spec.clusterIP) return object;
  const clusterIP = asString(at(previous, 'spec', 'clusterIP')) || freeAddress(store, object);
  return { ...object, spec: { ...spec, clusterIP, clusterIPs: [clusterIP] } };
}

function freeAddress(store: Store, object: KubernetesObject): string {
  const taken = new Set(store.list('/services').map((service) => at(service, 'spec', 'clusterIP')));
  const hash = createHash('sha256').update(`${object.metadata.namespace}/${object.metadata.name}`).digest();
  for (let probe = hash.readUInt16BE(0); ; probe += 1) {
    const address = `10.96.${(probe >> 8) & 255}.${Math.max(1, probe & 255)}`;
    if (!taken.has(address)) return address;
  }
}
