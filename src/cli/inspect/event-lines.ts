import { describe, type KubernetesObject, type ObjectReference } from '../../api/kubernetes.ts';
import { cutPodNames, madeLetters } from '../../api/pod-names.ts';
import { objectsOf } from './canary-objects.ts';

/** One thing that was reported, however often. */
export interface EventLine {
  /** RFC 3339. */
  readonly firstTime: string;
  readonly lastTime: string;
  readonly count: number;
  readonly type: string;
  readonly reason: string;
  /** `Kind namespace/name`. */
  readonly object: string;
  readonly message: string;
  /** The controller that reported it. */
  readonly source: string;
}

interface EventFields extends KubernetesObject {
  readonly involvedObject?: { kind?: string; namespace?: string; name?: string };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string } | null;
  readonly source?: { readonly component?: string };
  readonly reportingComponent?: string;
}

/** An Event (v1) as a line; what its writer left out is empty. */
export function eventLine(event: KubernetesObject): EventLine {
  const fields = event as EventFields;
  const { involvedObject: about = {}, series, source, metadata } = fields;
  const created = metadata.creationTimestamp ?? '';
  const firstTime = fields.firstTimestamp || fields.eventTime || created;
  return {
    firstTime,
    lastTime: series?.lastObservedTime || fields.lastTimestamp || fields.eventTime || created,
    count: series?.count ?? fields.count ?? 1,
    type: fields.type ?? '',
    reason: fields.reason ?? '',
    object: describe({ kind: about.kind ?? '', namespace: about.namespace, name: about.name ?? '' }),
    message: fields.message ?? '',
    source: fields.reportingComponent || source?.component || '',
  };
}

/** The oldest first; what was reported of one object in the same words is one line. */
export function inOrder(lines: readonly EventLine[]): EventLine[] {
  const byText = new Map<string, EventLine>();
  for (const line of lines) {
    const key = JSON.stringify([line.object, line.type, line.reason, line.message, line.source]);
    const before = byText.get(key);
    byText.set(key, before ? joined(before, line) : line);
  }
  const all = [...byText.values()];
  return all.sort((left, right) => Date.parse(left.lastTime) - Date.parse(right.lastTime) || 0);
}

function joined(left: EventLine, right: EventLine): EventLine {
  const earlier = (one: string, other: string) => (Date.parse(one) <= Date.parse(other) ? one : other);
  const firstTime = earlier(left.firstTime, right.firstTime);
  const lastTime = earlier(left.lastTime, right.lastTime) === left.lastTime ? right.lastTime : left.lastTime;
  return { ...left, firstTime, lastTime, count: left.count + right.count };
}

/** Whether an Event is about one of these objects, or about what belongs to it. */
export type Concern = (event: KubernetesObject) => boolean;

/** The Events of Sources, and of Canaries with their workloads, Services, scalers and routes, and of the ReplicaSets and pods of these, also of those that are gone. */
export function concernOf(objects: readonly KubernetesObject[]): Concern {
  const exact = new Set(objects.map(describe));
  const pods: RegExp[] = [];
  for (const canary of objects.filter(({ kind }) => kind === 'Canary')) {
    for (const { reference, role } of objectsOf(canary)) {
      exact.add(describe(reference));
      if (role === 'canary' || role === 'primary') pods.push(madeFrom(reference));
    }
  }
  return (event) => {
    const { involvedObject: about = {} } = event as EventFields;
    const { kind = '', namespace = '', name = '' } = about;
    if (exact.has(describe({ kind, namespace, name }))) return true;
    return madeKinds.has(kind) && pods.some((pattern) => pattern.test(` ${namespace}/${name}`));
  };
}

const madeKinds: ReadonlySet<string> = new Set(['ReplicaSet', 'Pod', 'Revision']);

/** What follows a workload's name in the names that its controller makes, by its kind: of a ReplicaSet and its pods, of pods, of Knative's. */
const madeNames: Readonly<Record<string, string>> = {
  // Not eight digits: these are the minute of a CronJob's run.
  Deployment: `(?!\\d{8}-)${madeLetters}{6,10}(-${madeLetters}{5})?`,
  DaemonSet: `${madeLetters}{5}`,
  StatefulSet: '\\d+',
  Service: `\\d{5}(-deployment-${madeLetters}+-${madeLetters}{5})?`,
};

/** Names that controllers make, such as web-6d5b2448f9-x7k2p; web-shop is none of them. */
function madeFrom(workload: ObjectReference): RegExp {
  const literal = (name: string) => describe({ ...workload, kind: '', name }).replaceAll('.', '\\.');
  const cut = cutPodNames(workload.name, workload.kind);
  const cutNames = cut ? `|${literal(cut.beginning)}${madeLetters}{${cut.letters}}` : '';
  return new RegExp(`^(${literal(workload.name)}-(${madeNames[workload.kind] ?? '(?!)'})${cutNames})$`);
}
