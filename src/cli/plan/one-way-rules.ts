/** What of one object cannot be taken back, by kind: a further kind is one more line of the table. Pure. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { recordOf, recordsOf, textOf } from '../../release/json.ts';
import { parseQuantity } from '../../workload/quantity.ts';

/** Names of the rules, for programs. */
export type OneWayRule =
  | 'immutableField'
  | 'recreated'
  | 'deletion'
  | 'crdVersion'
  | 'volumeSize'
  | 'jobRuns'
  | 'serviceType'
  | 'frozenConfig'
  | 'configKeys';

/** One finding about an object. */
export interface Found {
  readonly rule: OneWayRule;
  readonly severity: 'oneWay' | 'refused' | 'note';
  readonly message: string;
}

type Rule = (before: KubernetesObject | undefined, after: KubernetesObject) => Found[];

/** The table. */
export const byKind: Readonly<Record<string, Rule | undefined>> = {
  CustomResourceDefinition: (before, after) => (before ? crdVersions(before, after) : []),
  PersistentVolumeClaim: (before, after) => (before ? volumeSize(before, after) : []),
  Job: jobRuns,
  Service: (before, after) => (before ? serviceType(before, after) : []),
  ConfigMap: frozenConfig,
  Secret: frozenConfig,
};

function oneWay(rule: OneWayRule, message: string): Found {
  return { rule, severity: 'oneWay', message };
}

interface CrdVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
}

function versionsOf({ spec }: KubernetesObject): CrdVersion[] {
  return recordsOf(recordOf(spec).versions).map(({ name, served, storage }) => ({
    ...{ name: String(name), served: served === true, storage: storage === true },
  }));
}

function crdVersions(before: KubernetesObject, after: KubernetesObject): Found[] {
  const [old, now] = [versionsOf(before), versionsOf(after)];
  const stored = (versions: readonly CrdVersion[]) => versions.find(({ storage }) => storage)?.name;
  const found: Found[] = [];
  if (stored(old) !== undefined && stored(old) !== stored(now))
    found.push(
      oneWay(
        'crdVersion',
        `objects are stored as ${stored(now) ?? 'no version'} and no more as ${stored(old)}: those written meanwhile may not be readable after going back`,
      ),
    );
  const gone = old
    .filter(({ name }) => !now.some((version) => version.name === name))
    .map(({ name }) => name);
  if (gone.length > 0)
    found.push(
      oneWay(
        'crdVersion',
        `version ${gone.join(', ')} is taken out: the API server refuses it while objects are stored in it, and who asks for it gets an error`,
      ),
    );
  const unserved = old.filter(
    ({ name, served }) => served && now.some((version) => version.name === name && !version.served),
  );
  if (unserved.length > 0)
    found.push({
      rule: 'crdVersion',
      severity: 'note',
      message: `version ${unserved.map(({ name }) => name).join(', ')} is served no more: who asks for it gets an error`,
    });
  return found;
}

function volumeSize(before: KubernetesObject, after: KubernetesObject): Found[] {
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
        message: `a volume cannot shrink (${old} to ${now}): the API server will refuse it`,
      },
    ];
  return [oneWay('volumeSize', `the volume grows from ${old} to ${now} and cannot shrink again`)];
}

function jobRuns(before: KubernetesObject | undefined): Found[] {
  if (before) return [];
  const message =
    'it runs as soon as it is applied, and what it did stays: a revert does not run it backwards';
  return [oneWay('jobRuns', message)];
}

function serviceType(before: KubernetesObject, after: KubernetesObject): Found[] {
  const type = ({ spec }: KubernetesObject) => textOf(recordOf(spec).type) ?? 'ClusterIP';
  const [old, now] = [type(before), type(after)];
  if (old === now) return [];
  if (old === 'LoadBalancer')
    return [
      oneWay(
        'serviceType',
        `type ${old} becomes ${now}: its external address is given up, and may be another one after going back`,
      ),
    ];
  if (old === 'ExternalName' || now === 'ExternalName')
    return [
      oneWay('serviceType', `type ${old} becomes ${now}: its cluster address changes, also after going back`),
    ];
  if (now === 'ClusterIP')
    return [
      oneWay(
        'serviceType',
        `type ${old} becomes ${now}: its node ports are given up, and may be others after going back`,
      ),
    ];
  return [{ rule: 'serviceType', severity: 'note', message: `type ${old} becomes ${now}` }];
}

function frozenConfig(before: KubernetesObject | undefined, after: KubernetesObject): Found[] {
  if (!before || before.immutable === true || after.immutable !== true) return [];
  return [
    oneWay(
      'frozenConfig',
      'immutable: true cannot be taken back: only deleting it and making it anew changes it',
    ),
  ];
}

/** Keys that a ConfigMap or Secret loses. */
export function lostKeys(before: KubernetesObject, after: KubernetesObject | undefined): string[] {
  const keys = (object: KubernetesObject | undefined) =>
    ['data', 'stringData', 'binaryData'].flatMap((field) => Object.keys(recordOf(object?.[field])));
  const left = new Set(keys(after));
  return keys(before).filter((key) => !left.has(key));
}
