/** Changes that cannot be taken back by going back in Git, and those that the API server cannot make in place. Pure. */
import {
  describe,
  type KubernetesObject,
  objectKey,
  recordOf,
  recordsOf,
  textOf,
} from '../../api/kubernetes.ts';
import { listNames } from '../../api/limits.ts';
import type { Source } from '../../api/source/source.ts';
import { forceAnnotation, mayRecreate } from '../../engine/sync/apply/apply-object.ts';
import { isTracked, type Release, templateOf } from '../../release/release.ts';
import { formatOrigin, type RenderedObject } from '../../render/rendered-object.ts';
import { parseQuantity } from '../../workload/compare/quantity.ts';
import { immutableFields } from './immutable-fields.ts';
import type { Removal } from './removals.ts';
import type { OneWayChange } from './report.ts';

/** Everything they depend on. */
interface OneWayInput {
  /** As head has it; where it leaves Git, as base had it. */
  readonly source: Source;
  readonly before: readonly RenderedObject[];
  readonly after: readonly RenderedObject[];
  /** What of `after` the Source applies itself; rollouts write the others. */
  readonly rest: readonly RenderedObject[];
  readonly removals: ReadonlyMap<string, Removal>;
}

/** All of one Source, in the order of head's objects, removed ones last. */
export function oneWayChanges({ source, before, after, rest, removals }: OneWayInput): OneWayChange[] {
  const older = new Map(before.map((entry) => [objectKey(entry.object), entry]));
  const applied = new Set(rest.map(({ object }) => objectKey(object)));
  const kept = after.flatMap(({ object, origin }) => {
    const old = older.get(objectKey(object))?.object;
    const writer = applied.has(objectKey(object)) ? source : undefined;
    const refused = old ? refusedChanges(writer, old, object) : [];
    const found = rulesByKind[object.kind]?.(old, object) ?? [];
    return [...refused, ...found].map((one) => ({ ...one, ...placeOf({ object, origin }) }));
  });
  const gone = before.flatMap(({ object, origin }) => {
    const removal = removals.get(objectKey(object));
    const loss = losses[object.kind];
    if (!removal || loss === undefined || removal.fate === 'stays') return [];
    const when = removal.fate === 'waitsForApproval' ? ', once a person approves the commit' : '';
    return [{ ...oneWay('deletion', `${loss}${when}`), ...placeOf({ object, origin }) }];
  });
  return [...kept, ...gone];
}

function placeOf({ object, origin }: RenderedObject): Pick<OneWayChange, 'object' | 'origin'> {
  return { object: describe(object), origin: formatOrigin(origin) };
}

/** `source` is what applies the object; undefined: a rollout, which deletes nothing that pods may need. */
function refusedChanges(
  source: Source | undefined,
  before: KubernetesObject,
  after: KubernetesObject,
): OneWayFinding[] {
  const fields = immutableFields(before, after);
  if (fields.length === 0) return [];
  const what = fields.join(', ');
  if (!source) {
    const message = `${what} is immutable: the API server will reject the change, and a rollout deletes and recreates nothing, also with ${forceAnnotation}; rename the object`;
    return [{ rule: 'immutableField', severity: 'refused', message }];
  }
  if (mayRecreate(source, after)) {
    const message = `${what} is immutable: the object is deleted and recreated, because ${forceAnnotation} or spec.force is set`;
    return [{ rule: 'recreated', severity: 'oneWay', message }];
  }
  const message = `${what} is immutable: the API server will reject the change; rename the object, or annotate it with ${forceAnnotation}: "enabled" to delete and recreate it`;
  return [{ rule: 'immutableField', severity: 'refused', message }];
}

/** Kinds whose deletion takes more with it than what stands in Git. */
const losses: Readonly<Record<string, string>> = {
  Namespace: 'everything in the namespace is deleted with it',
  CustomResourceDefinition: 'all objects of this kind, in all namespaces, are deleted with it',
  PersistentVolumeClaim: 'the data of the volume may be deleted with it',
  PersistentVolume: 'the data of the volume may be deleted with it',
};

// What of one object cannot be taken back, by kind: another kind is another line of the table. Pure.

/** One finding about an object. */
type OneWayFinding = Omit<OneWayChange, 'object' | 'origin'>;

type Rule = (before: KubernetesObject | undefined, after: KubernetesObject) => OneWayFinding[];

/** The table. */
const rulesByKind: Readonly<Record<string, Rule | undefined>> = {
  CustomResourceDefinition: (before, after) => (before ? crdVersions(before, after) : []),
  PersistentVolumeClaim: (before, after) => (before ? volumeSize(before, after) : []),
  Job: (before) =>
    before
      ? []
      : [oneWay('jobRuns', 'it runs as soon as it is applied, and a revert does not undo what it did')],
  Service: (before, after) => (before ? serviceType(before, after) : []),
  ConfigMap: frozenConfig,
  Secret: frozenConfig,
};

function oneWay(rule: OneWayChange['rule'], message: string): OneWayFinding {
  return { rule, severity: 'oneWay', message };
}

interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
}

function versionsOf({ spec }: KubernetesObject): CrdVersion[] {
  return recordsOf(recordOf(spec).versions).map(({ name, served, storage }) => ({
    name: String(name),
    served: served === true,
    storage: storage === true,
  }));
}

function crdVersions(before: KubernetesObject, after: KubernetesObject): OneWayFinding[] {
  const [old, now] = [versionsOf(before), versionsOf(after)];
  const stored = (versions: readonly CrdVersion[]) => versions.find(({ storage }) => storage)?.name;
  const found: OneWayFinding[] = [];
  if (stored(old) !== undefined && stored(old) !== stored(now))
    found.push(
      oneWay(
        'crdVersion',
        `objects are stored as ${stored(now) ?? 'no version'} and no longer as ${stored(old)}: objects written in the meantime may be unreadable after a revert`,
      ),
    );
  const gone = old
    .filter(({ name }) => !now.some((version) => version.name === name))
    .map(({ name }) => name);
  if (gone.length > 0)
    found.push(
      oneWay(
        'crdVersion',
        `version ${gone.join(', ')} is removed: the API server rejects this while objects are stored in it, and clients that use it get an error`,
      ),
    );
  const unserved = old.filter(
    ({ name, served }) => served && now.some((version) => version.name === name && !version.served),
  );
  if (unserved.length > 0)
    found.push({
      rule: 'crdVersion',
      severity: 'note',
      message: `version ${unserved.map(({ name }) => name).join(', ')} is no longer served: clients that use it get an error`,
    });
  return found;
}

function volumeSize(before: KubernetesObject, after: KubernetesObject): OneWayFinding[] {
  const size = ({ spec }: KubernetesObject) =>
    textOf(recordOf(recordOf(recordOf(spec).resources).requests).storage);
  const [old, now] = [size(before), size(after)];
  const [from, to] = [parseQuantity(old), parseQuantity(now)];
  if (from === undefined || to === undefined || from === to) return [];
  if (to < from)
    return [
      {
        rule: 'volumeSize',
        severity: 'refused',
        message: `a volume cannot shrink (${old} to ${now}): the API server will reject it`,
      },
    ];
  return [oneWay('volumeSize', `the volume grows from ${old} to ${now} and cannot shrink again`)];
}

function serviceType(before: KubernetesObject, after: KubernetesObject): OneWayFinding[] {
  const type = ({ spec }: KubernetesObject) => textOf(recordOf(spec).type) ?? 'ClusterIP';
  const [old, now] = [type(before), type(after)];
  if (old === now) return [];
  if (old === 'LoadBalancer')
    return [
      oneWay(
        'serviceType',
        `type ${old} becomes ${now}: its external address is released and may differ after a revert`,
      ),
    ];
  if (old === 'ExternalName' || now === 'ExternalName')
    return [oneWay('serviceType', `type ${old} becomes ${now}: its cluster IP changes, also after a revert`)];
  if (now === 'ClusterIP')
    return [
      oneWay(
        'serviceType',
        `type ${old} becomes ${now}: its node ports are released and may differ after a revert`,
      ),
    ];
  return [{ rule: 'serviceType', severity: 'note', message: `type ${old} becomes ${now}` }];
}

function frozenConfig(before: KubernetesObject | undefined, after: KubernetesObject): OneWayFinding[] {
  if (!before || before.immutable === true || after.immutable !== true) return [];
  return [
    oneWay('frozenConfig', 'immutable: true cannot be undone: the object can only be deleted and recreated'),
  ];
}

// Keys of ConfigMaps and Secrets that a pod template reads and that a commit removes. Pure.

/** The keys that are read; `all`: whatever it holds, since any key may be needed. */
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
  const spec = recordOf(templateOf(good).spec);
  const containers = [...recordsOf(spec.containers), ...recordsOf(spec.initContainers)];
  return before.flatMap(({ object, origin }) => {
    const isConfig = object.apiVersion === 'v1' && ['ConfigMap', 'Secret'].includes(object.kind);
    if (!isConfig || object.metadata.namespace !== namespace) return [];
    const { kind, metadata } = object;
    const read = [
      ...fromVariables(containers, kind, metadata.name),
      ...fromVolumes(spec, kind, metadata.name),
    ];
    const left = new Set(keysOf(now.get(objectKey(object))));
    const lost = keysOf(object).filter(
      (key) => !left.has(key) && read.some(({ all, keys }) => all || keys.has(key)),
    );
    return lost.length === 0 ? [] : [asChange({ object, origin }, lost)];
  });
}

function keysOf(config: KubernetesObject | undefined): string[] {
  return ['data', 'stringData', 'binaryData'].flatMap((field) => Object.keys(recordOf(config?.[field])));
}

function asChange(entry: RenderedObject, lost: readonly string[]): OneWayChange {
  const what = `${lost.length === 1 ? 'key' : 'keys'} ${listNames(lost)}, which the last known good release reads`;
  const common = { rule: 'configKeys', ...placeOf(entry) } as const;
  if (isTracked(entry.object))
    return {
      ...common,
      severity: 'note',
      message: `it loses ${what}; a revert restores them, because this config is part of the release`,
    };
  return {
    ...common,
    severity: 'oneWay',
    message: `it loses ${what}; it is not part of a release, so a revert does not restore them and its pods will not find them`,
  };
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
