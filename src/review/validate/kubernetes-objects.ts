/** What the API server would refuse in objects of Kubernetes' own kinds, as far as it can be known from files. */

import { apiVersionOf, kindNames } from '../../api/kinds/kinds.ts';
import { groupOf, isRecord, type KubernetesObject, podTemplatePath, valueAt } from '../../api/kubernetes.ts';
import { describeType, fieldPath, nearest, type Problem } from '../../api/problems.ts';
import { fieldsOfModel, modelOfKind } from './kubernetes-fields.ts';

/** Wrong kinds, fields, types and names; none for objects of other people's kinds. */
export function kubernetesProblems(object: KubernetesObject): Problem[] {
  const model = modelOfKind[`${object.apiVersion} ${object.kind}`];
  if (model === undefined) return kindProblems(object);
  const { status: _, ...written } = object;
  return [
    ...valueProblems(model, written, []),
    ...nameProblems(object),
    ...labelProblems(object),
    ...selectorProblems(object),
    ...containerProblems(object),
  ];
}

const known: ReadonlyArray<readonly [apiVersion: string, kind: string]> = [
  ...Object.keys(modelOfKind).map((id) => id.split(' ') as [string, string]),
  ...kindNames.map((name) => [apiVersionOf(name), name] as const),
];

/** Groups of which every kind is known here. */
const closedGroups: ReadonlySet<string> = new Set(['flagger.app', 'holdfast.dev']);

/** Kinds that Kubernetes has in these groups and that are not looked into. */
const unchecked =
  /^(ControllerRevision|Node|Event|Binding|ComponentStatus|List|ClusterTrustBundle|IPAddress|ServiceCIDR|CSI(Driver|Node|StorageCapacity)|VolumeAttachment|VolumeAttributesClass)$/;

/** A kind or version that does not exist. */
function kindProblems({ apiVersion, kind }: KubernetesObject): Problem[] {
  const group = groupOf(apiVersion);
  const inGroup = known.filter(([version]) => groupOf(version) === group);
  const named = known.filter(([, name]) => name === kind);
  const groups = named.map(([version]) => groupOf(version));
  // Groups with a dot are not Kubernetes' own, unless one letter is off.
  if (inGroup.length === 0 && group.includes('.') && !nearest(group, groups)) return [];
  const [served] = named.findLast(([version]) => groupOf(version) === group) ?? named.at(-1) ?? [];
  if (served)
    return [{ path: 'apiVersion', message: `${apiVersion} has no ${kind}; did you mean ${served}?` }];
  const kinds = [...new Set(inGroup.map(([, name]) => name))];
  const near = nearest(kind, kinds);
  if (unchecked.test(kind) || !(near || closedGroups.has(group))) return [];
  const hint = near ? `did you mean ${near}?` : `there are ${kinds.join(', ')}`;
  return [{ path: 'kind', message: `${apiVersion} has no kind ${kind}; ${hint}` }];
}

type Path = readonly PropertyKey[];

/** Null stands for a field that is left out. */
function valueProblems(type: string, value: unknown, path: Path): Problem[] {
  if (value === null || value === undefined) return [];
  if (type.startsWith('[]')) {
    if (!Array.isArray(value)) return [wrongType(path, 'a list', value)];
    return value.flatMap((item, index) => valueProblems(type.slice(2), item, [...path, index]));
  }
  if (type.startsWith('{}')) {
    if (!isRecord(value)) return [wrongType(path, 'a mapping', value)];
    return Object.entries(value).flatMap(([key, item]) => valueProblems(type.slice(2), item, [...path, key]));
  }
  const scalar = scalars[type];
  if (scalar) {
    const message = scalar(value);
    return message === undefined ? [] : [{ path: fieldPath(path), message }];
  }
  const fields = fieldsOfModel[type];
  if (!fields) return [];
  if (!isRecord(value)) return [wrongType(path, 'a mapping', value)];
  return fieldProblems(type, fields, value, path);
}

function fieldProblems(
  model: string,
  fields: Readonly<Record<string, string>>,
  value: Readonly<Record<string, unknown>>,
  path: Path,
): Problem[] {
  const names = Object.keys(fields).map((name) => name.replace('!', ''));
  const missing = Object.keys(fields)
    .filter((name) => name.endsWith('!') && (value[name.slice(0, -1)] ?? undefined) === undefined)
    .map((name) => ({ path: fieldPath([...path, name.slice(0, -1)]), message: 'is missing' }));
  const found = Object.entries(value).flatMap(([name, child]) => {
    const type = fields[name] ?? fields[`${name}!`];
    if (type !== undefined && Object.hasOwn(fields, fields[name] === undefined ? `${name}!` : name))
      return valueProblems(type, child, [...path, name]);
    const near = nearest(name, names);
    const message = `is not a field of ${model.replace(/^(Core|Rbac)?V\d/, '')}${near ? `; did you mean ${near}?` : ''}`;
    return [{ path: fieldPath([...path, name]), message }];
  });
  return [...missing, ...found];
}

function wrongType(path: Path, wanted: string, value: unknown): Problem {
  return { path: fieldPath(path), message: `must be ${wanted}, is ${describeType(value)}` };
}

const quantity = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+|[KMGTPE]i|[numkMGTPE])?$/;

/** What is wrong with a value of each simple type; undefined: nothing. */
const scalars: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  any: () => undefined,
  string(value) {
    if (typeof value === 'string') return undefined;
    const isPlain = typeof value === 'number' || typeof value === 'boolean';
    return isPlain ? 'must be a string: quote it' : `must be a string, is ${describeType(value)}`;
  },
  boolean: (value) =>
    typeof value === 'boolean' ? undefined : `must be true or false, is ${describeType(value)}`,
  integer: (value) =>
    Number.isInteger(value)
      ? undefined
      : `must be a whole number, is ${typeof value === 'number' ? 'a fraction' : describeType(value)}`,
  number: (value) => (typeof value === 'number' ? undefined : `must be a number, is ${describeType(value)}`),
  IntOrString: (value) =>
    typeof value === 'string' || Number.isInteger(value)
      ? undefined
      : `must be a whole number or a string, is ${describeType(value)}`,
  Quantity: (value) =>
    typeof value === 'number' || (typeof value === 'string' && quantity.test(value))
      ? undefined
      : 'must be a quantity such as 500m, 2, 128Mi or 1Gi',
};

const label = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function nameProblems({ apiVersion, kind, metadata }: KubernetesObject): Problem[] {
  const { name } = metadata;
  // Roles may have colons and capitals in their names.
  if (typeof name !== 'string' || groupOf(apiVersion) === 'rbac.authorization.k8s.io') return [];
  const path = 'metadata.name';
  if (kind === 'Service' && (!dnsLabel.test(name) || name.length > 63))
    return [{ path, message: 'must be lower-case letters, digits and -, at most 63 characters' }];
  if (subdomain.test(name) && name.length <= 253) return [];
  return [{ path, message: 'must be lower-case letters, digits, - and ., at most 253 characters' }];
}

function labelProblems({ metadata, spec }: KubernetesObject): Problem[] {
  const template = isRecord(spec) && isRecord(spec.template) ? spec.template.metadata : undefined;
  const places: Array<[Path, unknown]> = [
    [['metadata', 'labels'], metadata.labels],
    [['spec', 'template', 'metadata', 'labels'], isRecord(template) ? template.labels : undefined],
  ];
  return places.flatMap(([path, labels]) =>
    Object.entries(isRecord(labels) ? labels : {})
      .filter(([, value]) => typeof value === 'string' && (value.length > 63 || !label.test(value)))
      .map(([key]) => ({
        path: fieldPath([...path, key]),
        message:
          'must be a label value: letters, digits, -, _ and ., at most 63 characters, a letter or digit at both ends',
      })),
  );
}

/** A selector that does not select the pods of its own template. */
function selectorProblems({ spec }: KubernetesObject): Problem[] {
  const { selector, template } = (spec ?? {}) as {
    selector?: { matchLabels?: unknown };
    template?: { metadata?: { labels?: unknown } };
  };
  const wanted = selector?.matchLabels;
  if (!isRecord(wanted) || !isRecord(template)) return [];
  const labels = isRecord(template.metadata?.labels) ? template.metadata.labels : {};
  return Object.entries(wanted)
    .filter(([key, value]) => labels[key] !== value)
    .map(([key]) => ({
      path: fieldPath(['spec', 'selector', 'matchLabels', key]),
      message: 'is not a label of spec.template, so no pod would be selected',
    }));
}

interface Container {
  readonly name?: unknown;
  readonly image?: unknown;
  readonly ports?: unknown;
}

/** The containers of a pod or of a workload's template. */
function containersOf({ kind, spec }: KubernetesObject): Array<[Path, Container]> {
  const at = kind === 'Pod' ? ['spec'] : [...podTemplatePath(kind), 'spec'];
  const pod = valueAt({ spec }, at);
  if (!isRecord(pod)) return [];
  return ['initContainers', 'containers'].flatMap((list) => {
    const items = pod[list];
    if (!Array.isArray(items)) return [];
    return items.flatMap(
      (item, index): Array<[Path, Container]> => (isRecord(item) ? [[[...at, list, index], item]] : []),
    );
  });
}

function containerProblems(object: KubernetesObject): Problem[] {
  const names = new Set<unknown>();
  const problems: Problem[] = [];
  for (const [path, { name, image, ports }] of containersOf(object)) {
    const report = (field: Path, message: string) =>
      problems.push({ path: fieldPath([...path, ...field]), message });
    if (name !== undefined && names.has(name)) report(['name'], 'is the name of another container, too');
    names.add(name);
    if (image === undefined || image === null || image === '') report(['image'], 'is missing');
    else if (typeof image === 'string' && /\s|^$/.test(image)) report(['image'], 'must not contain spaces');
    if (!Array.isArray(ports)) continue;
    ports.forEach((port, index) => {
      const number = isRecord(port) ? port.containerPort : undefined;
      if (Number.isInteger(number) && !(Number(number) >= 1 && Number(number) <= 65_535))
        report(['ports', index, 'containerPort'], 'must be between 1 and 65535');
    });
  }
  const { replicas } = (object.spec ?? {}) as { replicas?: unknown };
  if (Number.isInteger(replicas) && Number(replicas) < 0)
    problems.push({ path: 'spec.replicas', message: 'must be at least 0' });
  return problems;
}
