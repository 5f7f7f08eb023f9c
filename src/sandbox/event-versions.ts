import type { KubernetesObject } from '../api/kubernetes.ts';
import type { KindInfo } from './kinds.ts';

/** Fields of a core/v1 Event and their names in events.k8s.io/v1, the form in which events are stored. */
const RENAMED: ReadonlyArray<readonly [core: string, stored: string]> = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['count', 'deprecatedCount'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['reportingComponent', 'reportingController'],
];
const TO_STORED = new Map(RENAMED);
const TO_CORE = new Map(RENAMED.map(([core, stored]) => [stored, core] as const));

function isCoreEvent(kind: KindInfo): boolean {
  return kind.group === '' && kind.kind === 'Event';
}

function rename(object: KubernetesObject, names: ReadonlyMap<string, string>): KubernetesObject {
  const entries = Object.entries(object).map(([field, value]) => [names.get(field) ?? field, value]);
  return Object.fromEntries(entries) as KubernetesObject;
}

/** The object as its kind is stored: both versions of Event are one object. Other kinds come back as they are. */
export function toStored(kind: KindInfo, object: KubernetesObject): KubernetesObject {
  return isCoreEvent(kind) ? { ...rename(object, TO_STORED), apiVersion: 'events.k8s.io/v1' } : object;
}

/** The stored object as this kind shows it. */
export function toServed(kind: KindInfo, object: KubernetesObject): KubernetesObject {
  return isCoreEvent(kind) ? { ...rename(object, TO_CORE), apiVersion: 'v1' } : object;
}
