/** ConfigMaps and Secrets without which pods of a template cannot start, and the keys that the template names. */
import type { KubernetesObject, PodTemplate } from '../../api/kubernetes.ts';

/** One thing that must be there. */
export interface NeededKey {
  readonly kind: 'ConfigMap' | 'Secret';
  readonly name: string;
  /** Undefined: the object itself is enough. */
  readonly key: string | undefined;
}

type Fields = Record<string, unknown>;

/** Everything the template needs, each once; what is optional is left out. */
export function neededKeys({ spec }: PodTemplate): NeededKey[] {
  const containers = [...spec.containers, ...list(spec.initContainers)];
  const found = [...list(spec.volumes).flatMap(keysOfVolume), ...containers.flatMap(keysOfContainer)];
  const byId = new Map(found.map((need) => [`${need.kind}/${need.name}/${need.key ?? ''}`, need]));
  return [...byId.values()];
}

/** Whether a ConfigMap or Secret has this key. */
export function holdsKey(object: KubernetesObject, key: string): boolean {
  return [object.data, object.binaryData, object.stringData].some((part) => Object.hasOwn(fields(part), key));
}

function keysOfVolume(volume: Fields): NeededKey[] {
  const projected = list(fields(volume.projected).sources);
  return [
    ...keysOfItems('ConfigMap', fields(volume.configMap), 'name'),
    ...keysOfItems('Secret', fields(volume.secret), 'secretName'),
    ...projected.flatMap((source) => [
      ...keysOfItems('ConfigMap', fields(source.configMap), 'name'),
      ...keysOfItems('Secret', fields(source.secret), 'name'),
    ]),
  ];
}

function keysOfItems(kind: NeededKey['kind'], source: Fields, nameField: string): NeededKey[] {
  const name = source[nameField];
  if (typeof name !== 'string' || source.optional === true) return [];
  const keys = list(source.items).map(({ key }) => key);
  return [undefined, ...keys.filter((key) => typeof key === 'string')].map((key) => ({ kind, name, key }));
}

function keysOfContainer(container: Fields): NeededKey[] {
  const values = list(container.env).map(({ valueFrom }) => fields(valueFrom));
  return [
    ...values.flatMap((value) => [
      ...keysOfReference('ConfigMap', fields(value.configMapKeyRef)),
      ...keysOfReference('Secret', fields(value.secretKeyRef)),
    ]),
    ...list(container.envFrom).flatMap((from) => [
      ...keysOfReference('ConfigMap', fields(from.configMapRef)),
      ...keysOfReference('Secret', fields(from.secretRef)),
    ]),
  ];
}

function keysOfReference(kind: NeededKey['kind'], { name, key, optional }: Fields): NeededKey[] {
  if (typeof name !== 'string' || optional === true) return [];
  return [{ kind, name, key: typeof key === 'string' ? key : undefined }];
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fields) : [];
}
