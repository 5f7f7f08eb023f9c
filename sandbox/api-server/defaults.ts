import { isRecord, type KubernetesObject, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { asString, type JsonRecord } from './json.ts';

type Defaulter = (object: KubernetesObject) => KubernetesObject;

/**
 * Fills the fields that a real API server fills for these kinds, and leaves out what is empty, as far as Holdfast meets them. The argument is not
 * changed.
 */
export function withDefaults(storageKey: string, object: KubernetesObject): KubernetesObject {
  const whole = { ...object, metadata: withoutEmpty(object.metadata) };
  return DEFAULTERS[storageKey]?.(whole) ?? whole;
}

/** Maps and lists without entries go, as Go leaves them out; of the fields that are named, also `false` and `0`. */
function withoutEmpty<T extends object>(value: T, zeroFields: readonly string[] = []): T {
  const isKept = ([field, child]: [string, unknown]) => {
    if (child === false || child === 0) return !zeroFields.includes(field);
    if (Array.isArray(child)) return child.length > 0;
    return !MAPS.has(field) || Object.keys(recordOf(child)).length > 0;
  };
  const entries = Object.entries(value);
  return entries.every(isKept) ? value : (Object.fromEntries(entries.filter(isKept)) as T);
}

/** Plain maps; an empty struct such as `emptyDir: {}` stays. */
const MAPS = new Set([
  'annotations',
  'binaryData',
  'data',
  'labels',
  'limits',
  'nodeSelector',
  'requests',
  'selector',
]);

const DEFAULTERS: Readonly<Record<string, Defaulter>> = {
  'apps/deployments': deployment,
  'apps/replicasets': (object) => workload(object, { replicas: 1 }),
  'apps/statefulsets': statefulSet,
  'apps/daemonsets': daemonSet,
  '/pods': (object) => ({ ...object, spec: podSpec(recordOf(object.spec)) }),
  '/services': service,
  '/configmaps': (object) => withoutEmpty(object),
  '/secrets': secret,
  '/namespaces': namespace,
  'autoscaling/horizontalpodautoscalers': (object) => ({
    ...object,
    spec: { minReplicas: 1, ...recordOf(object.spec) },
  }),
  'gateway.networking.k8s.io/httproutes': httpRoute,
};

function workload(object: KubernetesObject, defaults: JsonRecord): KubernetesObject {
  const spec: JsonRecord = {
    ...defaults,
    ...withoutEmpty(recordOf(object.spec), ['minReadySeconds', 'paused']),
  };
  return {
    ...object,
    spec: isRecord(spec.template) ? { ...spec, template: podTemplate(spec.template) } : spec,
  };
}

function deployment(object: KubernetesObject): KubernetesObject {
  const filled = workload(object, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
  const spec = recordOf(filled.spec);
  const strategy: JsonRecord = { type: 'RollingUpdate', ...recordOf(spec.strategy) };
  if (strategy.type === 'RollingUpdate') {
    strategy.rollingUpdate = { maxSurge: '25%', maxUnavailable: '25%', ...recordOf(strategy.rollingUpdate) };
  }
  return { ...filled, spec: { ...spec, strategy } };
}

function daemonSet(object: KubernetesObject): KubernetesObject {
  const filled = workload(object, { revisionHistoryLimit: 10 });
  const spec = recordOf(filled.spec);
  const updateStrategy: JsonRecord = { type: 'RollingUpdate', ...recordOf(spec.updateStrategy) };
  if (updateStrategy.type === 'RollingUpdate') {
    const given = recordOf(updateStrategy.rollingUpdate);
    updateStrategy.rollingUpdate = { maxSurge: 0, maxUnavailable: 1, ...given };
  }
  return { ...filled, spec: { ...spec, updateStrategy } };
}

function statefulSet(object: KubernetesObject): KubernetesObject {
  const filled = workload(object, {
    replicas: 1,
    podManagementPolicy: 'OrderedReady',
    revisionHistoryLimit: 10,
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
  });
  const spec = recordOf(filled.spec);
  const updateStrategy: JsonRecord = { type: 'RollingUpdate', ...recordOf(spec.updateStrategy) };
  if (updateStrategy.type === 'RollingUpdate')
    updateStrategy.rollingUpdate = { partition: 0, ...recordOf(updateStrategy.rollingUpdate) };
  return { ...filled, spec: { ...spec, updateStrategy } };
}

function podTemplate(template: JsonRecord): JsonRecord {
  return {
    ...template,
    metadata: { creationTimestamp: null, ...recordOf(template.metadata) },
    spec: podSpec(recordOf(template.spec)),
  };
}

/** An empty node selector is left out: templates with and without it are the same one. */
function podSpec(given: JsonRecord): JsonRecord {
  const kept = withoutEmpty(given, ['hostIPC', 'hostNetwork', 'hostPID']);
  // Two names of one field, of which either sets the other.
  const { serviceAccountName, serviceAccount, ...spec } = kept;
  const account = serviceAccountName || serviceAccount;
  return {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    ...spec,
    ...(account ? { serviceAccountName: account, serviceAccount: account } : {}),
    ...(Array.isArray(spec.containers) ? { containers: recordsOf(spec.containers).map(container) } : {}),
    ...(Array.isArray(spec.initContainers)
      ? { initContainers: recordsOf(spec.initContainers).map(container) }
      : {}),
    ...(Array.isArray(spec.volumes) ? { volumes: recordsOf(spec.volumes).map(volume) } : {}),
  };
}

/** Modes of the files that a volume holds. */
function volume(each: JsonRecord): JsonRecord {
  const filled = ['configMap', 'secret', 'projected', 'downwardAPI'].filter((type) => isRecord(each[type]));
  const modes = filled.map((type) => [type, { defaultMode: 0o644, ...withoutEmpty(recordOf(each[type])) }]);
  return { ...each, ...Object.fromEntries(modes) };
}

const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];

function probe(each: JsonRecord): JsonRecord {
  const filled = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3, ...each };
  return isRecord(each.httpGet)
    ? { ...filled, httpGet: { path: '/', scheme: 'HTTP', ...each.httpGet } }
    : filled;
}

function variable({ value, valueFrom, ...each }: JsonRecord): JsonRecord {
  const source = recordOf(valueFrom);
  const from = isRecord(source.fieldRef)
    ? { ...source, fieldRef: { apiVersion: 'v1', ...source.fieldRef } }
    : valueFrom;
  return { ...each, ...(value ? { value } : {}), ...(valueFrom ? { valueFrom: from } : {}) };
}

function container(given: JsonRecord): JsonRecord {
  const each = withoutEmpty(given, ['stdin', 'stdinOnce', 'tty']);
  const probes = PROBES.filter((name) => isRecord(each[name])).map((name) => [
    name,
    probe(recordOf(each[name])),
  ]);
  const image = asString(each.image);
  const untagged = !/:[^/]+$/.test(image) || image.endsWith(':latest');
  return {
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: untagged ? 'Always' : 'IfNotPresent',
    ...each,
    ...(Array.isArray(each.ports)
      ? { ports: recordsOf(each.ports).map((port) => ({ protocol: 'TCP', ...port })) }
      : {}),
    ...(Array.isArray(each.env) ? { env: recordsOf(each.env).map(variable) } : {}),
    ...(Array.isArray(each.volumeMounts)
      ? { volumeMounts: recordsOf(each.volumeMounts).map((mount) => withoutEmpty(mount, ['readOnly'])) }
      : {}),
    ...Object.fromEntries(probes),
  };
}

function service(object: KubernetesObject): KubernetesObject {
  const spec = withoutEmpty(recordOf(object.spec), ['publishNotReadyAddresses']);
  const ports = recordsOf(spec.ports).map((port) => ({ protocol: 'TCP', targetPort: port.port, ...port }));
  const defaults = { type: 'ClusterIP', sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' };
  const families = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' };
  return { ...object, spec: { ...defaults, ...families, ...spec, ...(spec.ports ? { ports } : {}) } };
}

function secret(object: KubernetesObject): KubernetesObject {
  const { stringData, ...rest } = withoutEmpty(object);
  const encoded = Object.entries(recordOf(stringData)).map(([key, text]) => [
    key,
    Buffer.from(String(text)).toString('base64'),
  ]);
  const data = { ...recordOf(rest.data), ...Object.fromEntries(encoded) };
  return {
    type: 'Opaque',
    ...rest,
    ...(rest.data || encoded.length > 0 ? { data } : {}),
  } as KubernetesObject;
}

function namespace(object: KubernetesObject): KubernetesObject {
  const labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
  return {
    ...object,
    metadata: { ...object.metadata, labels },
    spec: { finalizers: ['kubernetes'], ...recordOf(object.spec) },
    status: { phase: 'Active', ...recordOf(object.status) },
  };
}

const ANY_PATH = { type: 'PathPrefix', value: '/' };

function httpRoute(object: KubernetesObject): KubernetesObject {
  const spec = recordOf(object.spec);
  const parent = { group: 'gateway.networking.k8s.io', kind: 'Gateway' };
  const parentRefs = recordsOf(spec.parentRefs).map((each) => ({ ...parent, ...each }));
  const rules = spec.rules === undefined ? [{}] : recordsOf(spec.rules);
  return {
    ...object,
    spec: { ...spec, ...(spec.parentRefs ? { parentRefs } : {}), rules: rules.map(routeRule) },
  };
}

function routeRule(rule: JsonRecord): JsonRecord {
  const matches = rule.matches === undefined ? [{}] : recordsOf(rule.matches);
  const backend = { group: '', kind: 'Service', weight: 1 };
  return {
    ...rule,
    matches: matches.map((match) => ({ path: ANY_PATH, ...match, ...typedMatches(match) })),
    ...(rule.backendRefs
      ? { backendRefs: recordsOf(rule.backendRefs).map((each) => ({ ...backend, ...each })) }
      : {}),
  };
}

function typedMatches(match: JsonRecord): JsonRecord {
  const lists = ['headers', 'queryParams'].filter((field) => Array.isArray(match[field]));
  return Object.fromEntries(
    lists.map((field) => [field, recordsOf(match[field]).map((each) => ({ type: 'Exact', ...each }))]),
  );
}
