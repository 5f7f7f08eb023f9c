import { type KubernetesObject, partOfLabel } from '../../src/api/kubernetes.ts';
import type { Scenario } from './scenario.ts';
import type { World } from './world.ts';

type Json = Record<string, unknown>;

/** Kinds whose objects make up the end, by the key of the sandbox's store. */
const kinds = [
  'apps/deployments',
  'apps/daemonsets',
  'apps/statefulsets',
  'autoscaling/horizontalpodautoscalers',
  '/services',
  '/configmaps',
  '/secrets',
  'gateway.networking.k8s.io/httproutes',
  'projectcontour.io/httpproxies',
  'serving.knative.dev/services',
  'networking.istio.io/virtualservices',
  'networking.istio.io/destinationrules',
  'flagger.app/canaries',
  'holdfast.dev/sources',
];

/** What of a status tells where things stand: no times, no counts of what was tried on the way. */
const ofStatus: Readonly<Record<string, (status: Json) => Json>> = {
  'flagger.app/canaries': (status) => ({
    phase: status.phase,
    canaryWeight: status.canaryWeight,
    conditions: conditionsOfCanary(status),
    run: status.run !== undefined,
    postPromotion: (status.postPromotion as Json | undefined)?.state,
    commit: status.lastAppliedCommit,
    promoted: status.lastPromotedCommit,
    lastKnownGood: pick(status.lastKnownGood, ['commit', 'digest', 'record']),
    rejected: ((status.rejected ?? []) as Json[]).map((each) => pick(each, ['digest', 'reason'])),
  }),
  'holdfast.dev/sources': (status) => ({ conditions: conditionsOf(status), commit: status.appliedCommit }),
  'apps/deployments': (status) => ({ ready: status.readyReplicas ?? 0 }),
  'apps/statefulsets': (status) => ({ ready: status.readyReplicas ?? 0 }),
  'apps/daemonsets': (status) => ({ ready: status.numberReady ?? 0 }),
};

/** What there is in the end by its place: the same for two worlds that ended alike. */
export type End = ReadonlyMap<string, string>;

/** Reads it from the world's store, as far as the scenario says what it is. */
export function endState({ sandbox: { store }, git }: World, scenario: Scenario): End {
  const isHistoryPartOfIt = !scenario.historyMayDiffer;
  const end = new Map<string, string>();
  for (const kind of kinds)
    for (const object of store.list(kind).filter(isOurs))
      if (isHistoryPartOfIt || !isRecord(object))
        flatten(`${kind} ${object.metadata.name}`, shownOf(kind, object, scenario), end);
  for (const told of scenario.tells ? git.hooks.told() : []) end.set(`told ${told}`, 'yes');
  for (const [name, commit] of git.refs()) end.set(`git ${name}`, commit);
  if (scenario.writesGit === 'branch') withoutCommits(end);
  if (!isHistoryPartOfIt) return end;
  for (const { metadata, status } of store.list('flagger.app/canaries')) {
    const ended = ((status as Json | undefined)?.history ?? []) as Json[];
    flatten(
      `history ${metadata.name}`,
      ended.map((each) => pick(each, ['digest', 'result'])),
      end,
    );
  }
  return end;
}

/** The time is in commits that are made meanwhile, and either of two with the same content may be named. Records are packed. */
function withoutCommits(end: Map<string, string>): void {
  for (const [place, value] of end)
    if (place.endsWith('.data.release')) end.delete(place);
    else end.set(place, value.replaceAll(/\b[0-9a-f]{40}\b/g, 'a commit'));
}

/** What is not alike in two ends. */
export function differences(expected: End, seen: End): string[] {
  const places = [...new Set([...expected.keys(), ...seen.keys()])];
  return (
    places
      // A fault may be told besides.
      .filter((place) => !place.startsWith('told ') || expected.has(place))
      .filter((place) => expected.get(place) !== seen.get(place))
      .map(
        (place) => `${place}: ${seen.get(place) ?? 'nothing'} instead of ${expected.get(place) ?? 'nothing'}`,
      )
  );
}

/** Names that Holdfast makes up: cookies of session affinity, and what an approval of deletions is about. */
const chosen = /(side=|prune:)\w+/g;

function flatten(place: string, value: unknown, into: Map<string, string>): void {
  if (typeof value !== 'object' || value === null) {
    if (value !== undefined) into.set(place, JSON.stringify(value).replaceAll(chosen, '$1'));
    return;
  }
  // An empty list or map says what its absence does.
  for (const [key, each] of Object.entries(value)) flatten(`${place}.${key}`, each, into);
}

function isOurs({ metadata }: KubernetesObject): boolean {
  return metadata.namespace === 'shop';
}

/** Of a release; which ones there are depends on which releases there were. What the last-known-good runs is told by its copy. */
function isRecord({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.['holdfast.dev/record'] === 'release';
}

function shownOf(
  kind: string,
  { metadata, status, ...rest }: KubernetesObject,
  { memberMayDiffer }: Scenario,
): Json {
  const { ownerReferences = [], finalizers } = metadata;
  const ofMembers = memberMayDiffer ? [partOfLabel] : [];
  const labels = metadata.labels && without(metadata.labels, ofMembers);
  const annotations = without(metadata.annotations ?? {}, [...volatile, ...ofMembers]);
  const owners = ownerReferences.map((owner) => `${owner.kind}/${owner.name}`);
  const told = ofStatus[kind]?.((status ?? {}) as Json);
  return { labels, annotations, owners, finalizers, ...bodyOf(kind, rest), status: told };
}

/** Times, and seals of the cluster's own key. */
const volatile = [
  // A kind of which nothing is left may still be named.
  'applyset.kubernetes.io/contains-group-kinds',
  // How many templates there were on the way.
  'deployment.kubernetes.io/revision',
  'holdfast.dev/applied',
  'holdfast.dev/promoted-time',
  'holdfast.dev/commit-time',
];

function without(record: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}

function bodyOf(
  kind: string,
  { apiVersion: _a, kind: _k, ...body }: Omit<KubernetesObject, 'metadata' | 'status'>,
): Json {
  if (kind === 'holdfast.dev/sources') return { ...body, spec: without(body.spec as Json, ['url']) };
  const { rejections, ...data } = (body.data ?? {}) as Record<string, string>;
  if (kind !== '/secrets' || rejections === undefined) return body;
  const list = JSON.parse(Buffer.from(rejections, 'base64').toString('utf8')) as Json[];
  return { ...body, data: { ...data, rejections: list.map((each) => without(each, ['time'])) } };
}

/** What was: freezes could not be read for a while, and an object of a Source was put back. */
const ofThePast: ReadonlySet<string> = new Set(['Frozen=False NotFrozen', 'Drifted=False Corrected']);

/** Where something of a Canary was put back, it is in sync. */
function conditionsOfCanary({ conditions = [], ...status }: Json): string[] {
  const inSync = (each: Json) => (each.reason === 'Corrected' ? { ...each, reason: 'InSync' } : each);
  return conditionsOf({ ...status, conditions: (conditions as Json[]).map(inSync) });
}

function conditionsOf(status: Json): string[] {
  return ((status.conditions ?? []) as Json[])
    .map((each) => `${each.type}=${each.status} ${each.reason}`)
    .filter((text) => !ofThePast.has(text))
    .sort();
}

function pick(from: unknown, names: readonly string[]): Json | undefined {
  if (from === undefined) return undefined;
  return Object.fromEntries(names.map((name) => [name, (from as Json)[name]]));
}
