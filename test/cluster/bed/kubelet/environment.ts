import type { Container, KubernetesObject } from '../../../../src/api/kubernetes.ts';

/** Reads a ConfigMap or Secret of the pod's namespace; undefined when there is none. */
export type ReadConfig = (
  kind: 'ConfigMap' | 'Secret',
  name: string,
) => Promise<KubernetesObject | undefined>;

/** A reference that cannot be resolved: the container waits with CreateContainerConfigError and this message. */
export class ConfigMissing extends Error {}

interface KeyReference {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}
interface NamedReference {
  readonly name: string;
  readonly optional?: boolean;
}
interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly configMapKeyRef?: KeyReference;
    readonly secretKeyRef?: KeyReference;
  };
}
interface VariableSource {
  readonly prefix?: string;
  readonly configMapRef?: NamedReference;
  readonly secretRef?: NamedReference;
}
type Values = Record<string, string>;

/**
 * The environment of a container as the kubelet resolves it: `envFrom`, then `env`, `$(NAME)` expanded.
 * `base` are the variables the kubelet itself sets. Throws ConfigMissing.
 */
export async function resolveEnvironment(
  pod: KubernetesObject,
  container: Container,
  base: Values,
  read: ReadConfig,
): Promise<Values> {
  const result: Values = { ...base };
  for (const source of (container.envFrom ?? []) as VariableSource[]) {
    for (const [kind, reference] of kindsOf(source.configMapRef, source.secretRef)) {
      for (const [key, value] of Object.entries(await readAll(read, kind, reference))) {
        result[`${source.prefix ?? ''}${key}`] = value;
      }
    }
  }
  for (const variable of (container.env ?? []) as unknown as Variable[]) {
    const value = await variableValue(pod, variable, base, read);
    if (value !== undefined) result[variable.name] = expand(value, result);
  }
  return result;
}

/** Names of the volumes' ConfigMaps and Secrets that do not exist: the container waits for them in ContainerCreating. */
export async function missingVolumes(pod: KubernetesObject, read: ReadConfig): Promise<readonly string[]> {
  const spec = pod.spec as { volumes?: Array<Record<string, unknown>> };
  const missing: string[] = [];
  for (const volume of spec.volumes ?? []) {
    const configMap = volume.configMap as NamedReference | undefined;
    const secret = volume.secret as { secretName: string; optional?: boolean } | undefined;
    const reference = secret && { name: secret.secretName, optional: secret.optional ?? false };
    for (const [kind, { name, optional }] of kindsOf(configMap, reference)) {
      if (!optional && !(await read(kind, name))) missing.push(`${kind} ${name}`);
    }
  }
  return missing;
}

function kindsOf<T>(configMap: T | undefined, secret: T | undefined): Array<['ConfigMap' | 'Secret', T]> {
  const result: Array<['ConfigMap' | 'Secret', T]> = [];
  if (configMap) result.push(['ConfigMap', configMap]);
  if (secret) result.push(['Secret', secret]);
  return result;
}

async function readAll(
  read: ReadConfig,
  kind: 'ConfigMap' | 'Secret',
  reference: NamedReference,
): Promise<Values> {
  const object = await read(kind, reference.name);
  if (!object && !reference.optional) {
    throw new ConfigMissing(`${kind.toLowerCase()} "${reference.name}" not found`);
  }
  const data = (object?.data ?? {}) as Values;
  return kind === 'ConfigMap'
    ? data
    : Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
      );
}

async function variableValue(
  pod: KubernetesObject,
  variable: Variable,
  base: Values,
  read: ReadConfig,
): Promise<string | undefined> {
  const from = variable.valueFrom;
  if (!from) return variable.value ?? '';
  if (from.fieldRef) return fieldOf(pod, from.fieldRef.fieldPath, base);
  for (const [kind, reference] of kindsOf(from.configMapKeyRef, from.secretKeyRef)) {
    const value = (await readAll(read, kind, reference))[reference.key];
    if (value === undefined && !reference.optional) {
      throw new ConfigMissing(
        `couldn't find key ${reference.key} in ${kind} ${pod.metadata.namespace}/${reference.name}`,
      );
    }
    return value;
  }
  return '';
}

function fieldOf(pod: KubernetesObject, path: string, base: Values): string {
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (keyed) return pod.metadata[keyed[1] as 'labels' | 'annotations']?.[keyed[2] ?? ''] ?? '';
  const known: Values = {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace ?? '',
    'metadata.uid': pod.metadata.uid ?? '',
    'spec.nodeName': base.NODE_NAME ?? '',
    'status.podIP': base.POD_IP ?? '',
    'status.podIPs': base.POD_IP ?? '',
    'status.hostIP': '10.244.0.1',
  };
  return known[path] ?? '';
}

function expand(value: string, values: Values): string {
  return value.replace(/\$\(([A-Za-z_][A-Za-z0-9_]*)\)/g, (whole, name: string) => values[name] ?? whole);
}
