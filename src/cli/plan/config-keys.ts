/** Keys of ConfigMaps and Secrets that a pod template reads and that a commit takes away. Pure. */
import { describe, type KubernetesObject, type PodTemplate } from '../../api/kubernetes.ts';
import { recordOf, recordsOf, textOf } from '../../release/json.ts';
import { isTracked } from '../../release/refs.ts';
import { type Release, templateOf } from '../../release/release.ts';
import { objectKey } from '../../render/render.ts';
import { formatOrigin, type RenderedObject } from '../../render/types.ts';
import type { OneWayChange } from './one-way.ts';
import { lostKeys } from './one-way-rules.ts';

/** The keys that are read; `all`: whatever it holds, so that nobody can tell which of them are needed. */
interface KeysRead {
  readonly all: boolean;
  readonly keys: ReadonlySet<string>;
}

/**
 * What the template of the release that a revert goes back to would not find in head's configs. Config that is part of releases comes back with
 * them; any other is as head says.
 */
export function lostConfigKeys(
  good: Pick<Release, 'target'>,
  before: readonly RenderedObject[],
  after: readonly RenderedObject[],
): OneWayChange[] {
  const now = new Map(after.map((entry) => [objectKey(entry.object), entry.object]));
  const { namespace } = good.target.metadata;
  return before.flatMap(({ object, origin }) => {
    if (!isConfig(object) || object.metadata.namespace !== namespace) return [];
    const read = keysRead(templateOf(good), object);
    const lost = lostKeys(object, now.get(objectKey(object))).filter((key) => read.all || read.keys.has(key));
    if (lost.length === 0) return [];
    return [asChange(object, lost, formatOrigin(origin))];
  });
}

function asChange(object: KubernetesObject, lost: readonly string[], origin: string): OneWayChange {
  const shown = lost.slice(0, 5).join(', ') + (lost.length > 5 ? ` and ${lost.length - 5} more` : '');
  const what = `${lost.length === 1 ? 'key' : 'keys'} ${shown}, which the last known good release reads`;
  const common = { rule: 'configKeys', object: describe(object), origin } as const;
  if (isTracked(object))
    return {
      ...common,
      severity: 'note',
      message: `it loses ${what}; a revert brings them back, since this config is part of the release`,
    };
  return {
    ...common,
    severity: 'oneWay',
    message: `it loses ${what}; it is no part of releases, so a revert does not bring them back and its pods will not find them`,
  };
}

function isConfig({ apiVersion, kind }: KubernetesObject): boolean {
  return apiVersion === 'v1' && (kind === 'ConfigMap' || kind === 'Secret');
}

function keysRead(template: PodTemplate, { kind, metadata: { name } }: KubernetesObject): KeysRead {
  const spec = recordOf(template.spec);
  const containers = [...recordsOf(spec.containers), ...recordsOf(spec.initContainers)];
  const found = [...fromVariables(containers, kind, name), ...fromVolumes(spec, kind, name)];
  const keys = found.flatMap(({ keys: some }) => [...some]);
  return { all: found.some(({ all }) => all), keys: new Set(keys) };
}

const everything: KeysRead = { all: true, keys: new Set() };

function one(key: unknown): KeysRead {
  return { all: false, keys: new Set(textOf(key) === undefined ? [] : [String(key)]) };
}

function fromVariables(
  containers: ReadonlyArray<Record<string, unknown>>,
  kind: string,
  name: string,
): KeysRead[] {
  const [keyRef, wholeRef] =
    kind === 'Secret' ? ['secretKeyRef', 'secretRef'] : ['configMapKeyRef', 'configMapRef'];
  return containers.flatMap((container) => [
    ...recordsOf(container.env)
      .map((variable) => recordOf(recordOf(variable.valueFrom)[keyRef]))
      .filter((reference) => reference.name === name && reference.optional !== true)
      .map(({ key }) => one(key)),
    ...recordsOf(container.envFrom)
      .filter((from) => recordOf(from[wholeRef]).name === name)
      .map(() => everything),
  ]);
}

function fromVolumes(spec: Record<string, unknown>, kind: string, name: string): KeysRead[] {
  const isSecret = kind === 'Secret';
  const volumes = recordsOf(spec.volumes);
  const plain = volumes
    .map((volume) => recordOf(isSecret ? volume.secret : volume.configMap))
    .filter((held) => (isSecret ? held.secretName : held.name) === name);
  const projected = volumes
    .flatMap((volume) => recordsOf(recordOf(volume.projected).sources))
    .map((source) => recordOf(isSecret ? source.secret : source.configMap))
    .filter((held) => held.name === name);
  return [...plain, ...projected].flatMap((held) => {
    const items = recordsOf(held.items);
    return items.length === 0 ? [everything] : items.map(({ key }) => one(key));
  });
}
