import { type KubernetesObject, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { type FieldProblem, invalid } from './errors.ts';
import { asStrings, at, sameJson } from './json.ts';
import type { KindInfo } from './kinds.ts';
import { matchesSelector } from './selectors.ts';

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const MAX_DATA_BYTES = 1024 * 1024;

/** Throws 422 for what a real server refuses in these kinds, as far as Holdfast can run into it. */
export function validate(kind: KindInfo, object: KubernetesObject, previous?: KubernetesObject): void {
  const problems = [
    ...metadataProblems(kind, object),
    ...(VALIDATORS[kind.storageKey]?.(object, previous) ?? []),
  ];
  if (problems.length > 0) throw invalid(kind, object.metadata.name, problems);
}

/** A value that is not acceptable. */
export function badValue(field: string, value: unknown, message: string): FieldProblem {
  return {
    field,
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${JSON.stringify(value)}: ${message}`,
  };
}

function required(field: string): FieldProblem {
  return { field, reason: 'FieldValueRequired', message: 'Required value' };
}

function duplicate(field: string, value: unknown): FieldProblem {
  return { field, reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(value)}` };
}

function forbidden(field: string, message: string): FieldProblem {
  return { field, reason: 'FieldValueForbidden', message: `Forbidden: ${message}` };
}

function metadataProblems(kind: KindInfo, object: KubernetesObject): FieldProblem[] {
  const { name, labels } = object.metadata;
  const problems: FieldProblem[] = [];
  if (kind.group !== 'rbac.authorization.k8s.io' && (!NAME.test(name) || name.length > 253)) {
    problems.push(
      badValue(
        'metadata.name',
        name,
        'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters',
      ),
    );
  }
  for (const value of Object.values(labels ?? {})) {
    if (LABEL_VALUE.test(String(value)) && String(value).length <= 63) continue;
    problems.push(
      badValue(
        'metadata.labels',
        value,
        'a valid label must be an empty string or consist of alphanumeric characters',
      ),
    );
  }
  return problems;
}

type Validator = (object: KubernetesObject, previous?: KubernetesObject) => FieldProblem[];

const VALIDATORS: Readonly<Record<string, Validator>> = {
  'apps/deployments': workload,
  'apps/replicasets': workload,
  'apps/statefulsets': workload,
  'apps/daemonsets': workload,
  'autoscaling/horizontalpodautoscalers': horizontalPodAutoscaler,
  '/pods': (object) => podProblems(object.spec, 'spec'),
  '/services': service,
  '/configmaps': configuration,
  '/secrets': configuration,
};

function horizontalPodAutoscaler({ spec }: KubernetesObject): FieldProblem[] {
  const { minReplicas, maxReplicas } = recordOf(spec);
  if (maxReplicas === undefined) return [required('spec.maxReplicas')];
  if (Number(minReplicas) < 1)
    return [badValue('spec.minReplicas', minReplicas, 'must be greater than or equal to 1')];
  if (Number(maxReplicas) >= Number(minReplicas ?? 1)) return [];
  return [badValue('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`')];
}

function workload(object: KubernetesObject, previous?: KubernetesObject): FieldProblem[] {
  const spec = recordOf(object.spec);
  const problems: FieldProblem[] = [];
  const labels = asStrings(at(spec, 'template', 'metadata', 'labels'));
  if (spec.selector === undefined) problems.push(required('spec.selector'));
  else if (!matchesSelector(spec.selector, labels)) {
    problems.push(
      badValue('spec.template.metadata.labels', labels, '`selector` does not match template `labels`'),
    );
  }
  if (previous && !sameJson(at(previous, 'spec', 'selector'), spec.selector)) {
    problems.push(badValue('spec.selector', spec.selector, 'field is immutable'));
  }
  if (typeof spec.replicas === 'number' && spec.replicas < 0) {
    problems.push(badValue('spec.replicas', spec.replicas, 'must be greater than or equal to 0'));
  }
  return [...problems, ...podProblems(at(spec, 'template', 'spec'), 'spec.template.spec')];
}

function podProblems(spec: unknown, path: string): FieldProblem[] {
  const containers = recordsOf(at(spec, 'containers'));
  if (containers.length === 0) return [required(`${path}.containers`)];
  return containers.flatMap((container, index) => {
    return ['name', 'image']
      .filter((field) => !container[field])
      .map((field) => required(`${path}.containers[${index}].${field}`));
  });
}

function service(object: KubernetesObject, previous?: KubernetesObject): FieldProblem[] {
  const ports = recordsOf(at(object, 'spec', 'ports'));
  const problems = ports.flatMap((port, index) => {
    const field = `spec.ports[${index}]`;
    const number = port.port;
    const inRange = typeof number === 'number' && number >= 1 && number <= 65535;
    return [
      ...(inRange ? [] : [badValue(`${field}.port`, number, 'must be between 1 and 65535, inclusive')]),
      ...(ports.length > 1 && !port.name ? [required(`${field}.name`)] : []),
      ...(port.name && ports.findIndex(({ name }) => name === port.name) < index
        ? [duplicate(`${field}.name`, port.name)]
        : []),
    ];
  });
  if (ports.length === 0 && at(object, 'spec', 'type') !== 'ExternalName')
    problems.push(required('spec.ports'));
  const before = at(previous, 'spec', 'clusterIP');
  const clusterIP = at(object, 'spec', 'clusterIP');
  if (before !== undefined && before !== clusterIP) {
    problems.push(badValue('spec.clusterIPs[0]', clusterIP, 'may not change once set'));
  }
  return problems;
}

function configuration(object: KubernetesObject, previous?: KubernetesObject): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const size = Object.values(asStrings(object.data)).reduce(
    (sum, value) => sum + dataBytes(object, value),
    0,
  );
  if (size > MAX_DATA_BYTES) {
    problems.push({
      field: 'data',
      reason: 'FieldValueTooLong',
      message: `Too long: may not be more than ${MAX_DATA_BYTES} bytes`,
    });
  }
  if (previous?.immutable === true) {
    if (object.immutable !== true)
      problems.push(forbidden('immutable', 'field is immutable when `immutable` is set'));
    for (const field of ['data', 'binaryData']) {
      if (sameJson(previous[field] ?? {}, object[field] ?? {})) continue;
      problems.push(forbidden(field, 'field is immutable when `immutable` is set'));
    }
  }
  if (previous && object.kind === 'Secret' && previous.type !== object.type) {
    problems.push(badValue('type', object.type, 'field is immutable'));
  }
  return problems;
}

function dataBytes(object: KubernetesObject, value: string): number {
  return object.kind === 'Secret' ? Buffer.from(value, 'base64').length : Buffer.byteLength(value);
}
