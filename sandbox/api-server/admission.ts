import { createHash } from 'node:crypto';
import { isRecord, type KubernetesObject, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { withDefaults } from './defaults.ts';
import { ApiError, badRequest, invalid } from './errors.ts';
import { asString, at } from './json.ts';
import { apiVersionOf, type KindInfo } from './kinds.ts';
import type { Store } from './store.ts';
import { pruneAndDefault, schemaProblems, unknownFields } from './structural-schema.ts';
import { validate } from './validation.ts';

/** How far an object goes through admission. */
interface AdmissionOptions {
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
  const { metadata: _open, ...properties } = recordOf(schema.properties);
  const contentSchema = { ...schema, properties };
  const filled = recordOf(pruneAndDefault(content, contentSchema));
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
  const spec = recordOf(object.spec);
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

const OBJECT = words('apiVersion kind metadata spec status');
const WORKLOAD_SPEC = `replicas selector template minReadySeconds revisionHistoryLimit`;
const SPECS: Readonly<Record<string, ReadonlySet<string>>> = {
  'apps/deployments': words(`${WORKLOAD_SPEC} strategy paused progressDeadlineSeconds`),
  'apps/replicasets': words(WORKLOAD_SPEC),
  'apps/daemonsets': words(`${WORKLOAD_SPEC} updateStrategy`),
  'apps/statefulsets': words(
    `${WORKLOAD_SPEC} serviceName volumeClaimTemplates podManagementPolicy updateStrategy persistentVolumeClaimRetentionPolicy ordinals`,
  ),
};
const POD_SPEC = words(
  `volumes initContainers containers ephemeralContainers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy
  nodeSelector serviceAccountName serviceAccount automountServiceAccountToken nodeName hostNetwork hostPID hostIPC
  shareProcessNamespace securityContext imagePullSecrets hostname subdomain affinity schedulerName tolerations hostAliases
  priorityClassName priority dnsConfig readinessGates runtimeClassName enableServiceLinks preemptionPolicy overhead
  topologySpreadConstraints setHostnameAsFQDN os hostUsers schedulingGates resourceClaims resources hostnameOverride`,
);
const CONTAINER = words(
  `name image command args workingDir ports envFrom env resources resizePolicy restartPolicy restartPolicyRules volumeMounts
  volumeDevices livenessProbe readinessProbe startupProbe lifecycle terminationMessagePath terminationMessagePolicy
  imagePullPolicy securityContext stdin stdinOnce tty`,
);

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}

/**
 * Paths (`.spec.foo`) of fields that the kind does not declare. Covers the workload kinds down to their containers, which is
 * where a misspelt field hurts most; other built-in kinds answer with an empty list.
 */
function undeclaredFields(kind: KindInfo, object: KubernetesObject): string[] {
  const specFields = SPECS[kind.storageKey];
  if (!specFields) return [];
  const pod = at(object, 'spec', 'template', 'spec');
  const containers = ['initContainers', 'containers'].flatMap((list) => {
    return recordsOf(at(pod, list)).flatMap((each) => {
      return unknownIn(each, CONTAINER, `.spec.template.spec.${list}[name="${String(each.name)}"]`);
    });
  });
  return [
    ...unknownIn(object, OBJECT, ''),
    ...unknownIn(object.spec, specFields, '.spec'),
    ...unknownIn(at(object, 'spec', 'template'), words('metadata spec'), '.spec.template'),
    ...unknownIn(pod, POD_SPEC, '.spec.template.spec'),
    ...containers,
  ];
}

function unknownIn(value: unknown, known: ReadonlySet<string>, path: string): string[] {
  if (!isRecord(value)) return [];
  return Object.keys(value)
    .filter((field) => !known.has(field))
    .map((field) => `${path}.${field}`);
}

/** Drops the undeclared fields, as a real server does for writes that are not strict. */
function withoutFields(object: KubernetesObject, paths: readonly string[]): KubernetesObject {
  if (paths.length === 0) return object;
  const copy = structuredClone(object);
  for (const path of paths) removePath(copy, path);
  return copy;
}

function removePath(object: unknown, path: string): void {
  const match = /^\.(\w+)(?:\[name="([^"]*)"\])?(.*)$/.exec(path);
  if (!match || !isRecord(object)) return;
  const [, field = '', itemName, rest = ''] = match;
  if (rest === '') delete object[field];
  else if (itemName === undefined) removePath(object[field], rest);
  else
    removePath(
      recordsOf(object[field]).find((item) => item.name === itemName),
      rest,
    );
}
