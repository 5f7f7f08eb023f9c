import type { KubernetesObject, PodTemplate } from '../api/kubernetes.ts';
import { recordOf, recordsOf, textOf } from './json.ts';

/** A ConfigMap or Secret that a pod template names. */
export interface ConfigReference {
  kind: 'ConfigMap' | 'Secret';
  name: string;
  /** Every place that names it can do without it. */
  optional: boolean;
  /** Named by a volume, so that running pods see a change of its data. */
  mounted: boolean;
}

/** Annotation by which an object of several workloads opts out of tracking: any value that starts with `disable`, as in Flagger. */
const trackingAnnotation = 'flagger.app/config-tracking';

/** Our own annotation: the primary's copy of a config outside Git is updated at once, and a change starts no release. */
const followAnnotation = 'holdfast.dev/config-tracking';

/** Secret types that are tracked, as in Flagger; others belong to their own controllers (service account tokens, Helm, ...). */
const trackedSecretTypes = new Set([
  'Opaque',
  'kubernetes.io/basic-auth',
  'kubernetes.io/ssh-auth',
  'kubernetes.io/tls',
]);

/**
 * ConfigMaps and Secrets of volumes, projected volumes, env and envFrom of containers and init containers, sorted by kind and name (as
 * Flagger). A name that is optional in one place and required in another is required.
 */
export function configReferences(template: PodTemplate): ConfigReference[] {
  const spec = recordOf(template.spec);
  const containers = [...recordsOf(spec.containers), ...recordsOf(spec.initContainers)];
  const found = [...recordsOf(spec.volumes).flatMap(volumeReferences), ...containers.flatMap(envReferences)];
  const byName = new Map<string, ConfigReference>();
  for (const reference of found) {
    const key = `${reference.kind}/${reference.name}`;
    const known = byName.get(key) ?? reference;
    byName.set(key, {
      ...reference,
      optional: known.optional && reference.optional,
      mounted: known.mounted || reference.mounted,
    });
  }
  return [...byName.keys()].sort().flatMap((key) => byName.get(key) ?? []);
}

/** Whether changes of this ConfigMap or Secret are part of a release. */
export function isTracked(object: KubernetesObject): boolean {
  const optOut = recordOf(object.metadata.annotations)[trackingAnnotation];
  if (typeof optOut === 'string' && optOut.startsWith('disable')) return false;
  if (object.kind === 'ConfigMap') return true;
  return object.kind === 'Secret' && trackedSecretTypes.has(textOf(object.type) ?? 'Opaque');
}

/** Whether the primary's copy follows this object at once. */
export function isFollowed({ metadata }: Pick<KubernetesObject, 'metadata'>): boolean {
  return recordOf(metadata.annotations)[followAnnotation] === 'follow';
}

function volumeReferences(volume: Record<string, unknown>): ConfigReference[] {
  const projected = recordsOf(recordOf(volume.projected).sources);
  return [
    reference('ConfigMap', volume.configMap, 'name', true),
    reference('Secret', volume.secret, 'secretName', true),
    ...projected.flatMap((source) => [
      reference('ConfigMap', source.configMap, 'name', true),
      reference('Secret', source.secret, 'name', true),
    ]),
  ].flat();
}

function envReferences(container: Record<string, unknown>): ConfigReference[] {
  const values = recordsOf(container.env).map((variable) => recordOf(variable.valueFrom));
  return [
    ...values.flatMap((value) => [
      ...reference('ConfigMap', value.configMapKeyRef, 'name', false),
      ...reference('Secret', value.secretKeyRef, 'name', false),
    ]),
    ...recordsOf(container.envFrom).flatMap((from) => [
      ...reference('ConfigMap', from.configMapRef, 'name', false),
      ...reference('Secret', from.secretRef, 'name', false),
    ]),
  ];
}

function reference(
  kind: ConfigReference['kind'],
  source: unknown,
  nameField: string,
  mounted: boolean,
): ConfigReference[] {
  const fields = recordOf(source);
  const name = textOf(fields[nameField]);
  return name === undefined ? [] : [{ kind, name, optional: fields.optional === true, mounted }];
}
