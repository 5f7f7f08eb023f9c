import { type Canary, targetApiVersion } from '../../api/canary/canary.ts';
import { groupOf, type KubernetesObject, partOfLabel } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import { isApiError } from '../../cluster/errors.ts';
import type {
  CanaryRow,
  CanaryView,
  FleetChange,
  Request,
  SourceRow,
  SourceView,
} from '../../dashboard/views.ts';
import type { Person } from '../http/reviews.ts';
import {
  AccessUnknown,
  type DashboardAccess,
  missingRight,
  ourResources,
  type Rights,
  rightsOf,
} from './access.ts';
import { canaryView, changesOf, podsOf } from './canary-view.ts';
import type { Model } from './model.ts';
import { offers } from './requests.ts';
import { firstOf, groupKindsOf, objectRows, withoutCredentials } from './rows.ts';
import { type Feed, StreamEnd } from './streams.ts';

/** The user of a page, and what decides what it shows. */
export interface Viewer {
  readonly model: Model;
  readonly access: DashboardAccess;
  readonly person: Person;
  /** Throws StreamEnd when the user is no longer authenticated. */
  readonly confirm: () => Promise<void>;
  readonly nowMs: () => number;
  /** The kind as the server names it; undefined where it has no such kind. */
  readonly kindOf: (
    group: string,
    kind: string,
  ) => Promise<{ apiVersion: string; plural: string } | undefined>;
  readonly documentation: string | undefined;
}

/** Rights are looked at so often although nothing changed. */
const recheckMs = 30_000;

/** Makes a feed out of a look that is taken when something changed, and every half a minute; what it says twice is sent once. */
function feedOf(
  { model, confirm, nowMs }: Viewer,
  look: () => Promise<
    ReadonlyArray<{ readonly event: string; readonly data: unknown; readonly key?: string }>
  >,
): Feed {
  const leave = model.enter();
  const sent = { fresh: '', view: '' };
  let version = -1;
  let lookedMs = Number.NEGATIVE_INFINITY;

  /** Compared with what was sent last of all that the page shows in one place: a Canary, or that there is none. */
  function isNew(place: keyof typeof sent, text: string): boolean {
    if (sent[place] === text) return false;
    sent[place] = text;
    return true;
  }

  return {
    close: leave,
    async next() {
      const freshness = model.freshness();
      const changes = isNew('fresh', JSON.stringify(freshness)) ? [{ event: 'fresh', data: freshness }] : [];
      if (!model.isReady()) return changes;
      if (model.version() === version && nowMs() - lookedMs < recheckMs) return changes;
      await confirm();
      version = model.version();
      lookedMs = nowMs();
      const found = await look().catch(endOfStream);
      return [
        ...changes,
        ...found.filter(({ event, data, key }) => isNew('view', `${event} ${key ?? JSON.stringify(data)}`)),
      ];
    },
  };
}

function endOfStream(error: unknown): never {
  // Which kinds there are is asked in between.
  if (isApiError(error)) throw new StreamEnd('the API server cannot be asked at the moment');
  throw error instanceof AccessUnknown ? new StreamEnd(error.message) : error;
}

/** All Canaries and Sources that the user may read. */
export function fleetFeed(viewer: Viewer): Feed {
  const { model, access, person } = viewer;
  const rights = rightsOf(access, person);
  /** The objects as they were sent, by `Kind namespace/name`. */
  let sent: ReadonlyMap<string, KubernetesObject> | undefined;
  let changes = 0;
  return feedOf(viewer, async () => {
    const now = new Map<string, KubernetesObject>();
    for (const kind of ['Canary', 'Source'] as const)
      for (const object of await readable(model.objects(kind), rights, ourResources[kind]))
        now.set(`${object.kind} ${object.metadata.namespace}/${object.metadata.name}`, object);
    const before = sent;
    sent = now;
    changes += 1;
    const key = String(changes);
    const rows = (objects: readonly KubernetesObject[]): { canaries: CanaryRow[]; sources: SourceRow[] } => ({
      canaries: objects.filter(({ kind }) => kind === 'Canary').map(model.canaryRow),
      sources: objects.filter(({ kind }) => kind === 'Source').map(model.sourceRow),
    });
    if (!before) return [{ event: 'fleet', data: rows([...now.values()]), key }];
    const changed = [...now]
      .filter(([name, object]) => before.get(name) !== object)
      .map(([, object]) => object);
    const gone = [...before.keys()].filter((name) => !now.has(name));
    const data: FleetChange = { ...rows(changed), gone };
    return changed.length + gone.length > 0 ? [{ event: 'change', data, key }] : [];
  });
}

async function readable(
  objects: readonly KubernetesObject[],
  rights: Rights,
  resource: { group: string; resource: string },
): Promise<KubernetesObject[]> {
  const namespaces = new Set(objects.map(({ metadata }) => metadata.namespace ?? ''));
  const allowed = await rights.readable(resource, namespaces);
  return objects.filter(({ metadata }) => allowed.has(metadata.namespace ?? ''));
}

/** One Canary. */
export function canaryFeed(person: Viewer, namespace: string, name: string): Feed {
  const viewer = rememberingKinds(person);
  const { model, documentation } = viewer;
  return objectFeed(viewer, { kind: 'Canary', namespace, name }, async (stored, rights) => {
    // The CRD lets a Canary in that has no spec; its status says what is wrong with it.
    const spec = { targetRef: { name: '' }, ...(stored.spec as Partial<Canary['spec']>) };
    const canary = { ...stored, spec };
    const [requests, pods, changes] = await Promise.all([
      requestsFor(viewer, canary),
      podSection(viewer, rights, canary),
      changeSection(viewer, rights, canary),
    ]);
    const timeline = model.journal.timelineOf(canary);
    const view = canaryView(canary, {
      sourceOf: model.sourceOf,
      timeline,
      requests,
      pods,
      changes,
      documentation,
    });
    // The last moment of the timeline is now, which alone is no change.
    const { timesSeconds, ...rest } = timeline;
    return {
      event: 'canary',
      data: view,
      key: JSON.stringify({ ...view, timeline: [timesSeconds.slice(0, -1), rest] }),
    };
  });
}

/** One Source. */
export function sourceFeed(person: Viewer, namespace: string, name: string): Feed {
  const viewer = rememberingKinds(person);
  const { model } = viewer;
  return objectFeed(viewer, { kind: 'Source', namespace, name }, async (source, rights) => {
    const own = `${namespace}/${name}`;
    const canaries = await readable(
      model
        .objects('Canary')
        .filter(({ metadata }) => model.sourceOf(metadata.labels?.[partOfLabel] ?? '') === own),
      rights,
      ourResources.Canary,
    );
    const {
      url = '',
      ref = {},
      path = '',
    } = source.spec as { url?: string; ref?: Record<string, string>; path?: string };
    const {
      head,
      appliedCommit,
      appliedTime,
      counts,
      answers,
      conditions = [],
    } = (source.status ?? {}) as SourceView['status'] & Pick<Partial<SourceView>, 'conditions'>;
    const { rewrite: _, ...reference } = ref;
    const data: SourceView = {
      row: model.sourceRow(source),
      url: withoutCredentials(url),
      reference: Object.entries(reference)
        .map((one) => one.join(' '))
        .join(', '),
      path,
      status: { head, appliedCommit, appliedTime, counts, answers },
      conditions,
      canaries: canaries.map(model.canaryRow),
      requests: await requestsFor(viewer, source),
      objects: await objectSection(viewer, rights, source),
    };
    return { event: 'source', data };
  });
}

/** About a kind that is not served, the API server would be asked for all its kinds with each look. */
function rememberingKinds(viewer: Viewer): Viewer {
  const known = new Map<string, ReturnType<Viewer['kindOf']>>();
  return {
    ...viewer,
    kindOf(group, kind) {
      const key = `${kind}.${group}`;
      const found = known.get(key);
      if (found) return found;
      const asked = viewer.kindOf(group, kind);
      known.set(key, asked);
      asked.catch(() => known.delete(key));
      return asked;
    },
  };
}

function objectFeed(
  viewer: Viewer,
  { kind, namespace, name }: { kind: 'Canary' | 'Source'; namespace: string; name: string },
  view: (object: KubernetesObject, rights: Rights) => Promise<{ event: string; data: unknown; key?: string }>,
): Feed {
  const rights = rightsOf(viewer.access, viewer.person);
  return feedOf(viewer, async () => {
    // The same answer for missing and forbidden objects, so that it does not reveal what exists.
    const mayGet = await rights.mayRead({ verb: 'get', ...ourResources[kind], namespace, name });
    const object = mayGet ? viewer.model.object(kind, namespace, name) : undefined;
    if (!object)
      return [
        {
          event: 'missing',
          data: { message: `There is no ${kind} ${namespace}/${name}, or you may not read it.` },
        },
      ];
    return [await view(object, rights)];
  });
}

/** What can be asked for now, and by this person. */
async function requestsFor({ access, person }: Viewer, object: KubernetesObject): Promise<Request[]> {
  const { namespace = '', name } = object.metadata;
  const resource = ourResources[object.kind as 'Canary' | 'Source'];
  return Promise.all(
    offers(object).map(async ({ verb, ...offered }) => {
      const target = { ...resource, namespace, name };
      const missing = await missingRight(access, person, target, verb).catch((error: unknown) => {
        if (error instanceof AccessUnknown) return error.message;
        throw error;
      });
      return missing === undefined ? offered : { ...offered, forbidden: missing };
    }),
  );
}

const notRead = { missing: 'These objects are not read yet.' };

async function podSection(
  { model }: Viewer,
  rights: Rights,
  canary: KubernetesObject,
): Promise<CanaryView['pods']> {
  const { namespace = '' } = canary.metadata;
  const mayList = await rights.mayRead({ group: '', resource: 'pods', namespace });
  if (!mayList) return { missing: `You may not list pods of namespace ${namespace}.` };
  const pods = model.pods(namespace);
  const sides = model.sides(canary);
  return pods && sides ? firstOf(podsOf(pods, sides), limits.dashboardPods) : notRead;
}

async function changeSection(
  { model, kindOf }: Viewer,
  rights: Rights,
  canary: KubernetesObject,
): Promise<CanaryView['changes']> {
  const { namespace = '', name } = canary.metadata;
  const { targetRef } = canary.spec as { targetRef: { apiVersion?: string; kind?: string } };
  const { kind = 'Deployment' } = targetRef;
  const apiVersion = targetApiVersion(targetRef) ?? 'apps/v1';
  const group = groupOf(apiVersion);
  const found = await kindOf(group, kind);
  const mayGet = found && (await rights.mayRead({ verb: 'get', group, resource: found.plural, namespace }));
  if (!mayGet)
    return { missing: `You may not read ${kind}s of namespace ${namespace}, which ${name} is about.` };
  const sides = model.sides(canary);
  return sides ? changesOf(canary, sides) : notRead;
}

/** Without Secrets, and without what this person may not list. */
async function objectSection(
  { model, kindOf }: Viewer,
  rights: Rights,
  source: KubernetesObject,
): Promise<SourceView['objects']> {
  const wanted = groupKindsOf(source).filter(({ kind, group }) => !(kind === 'Secret' && group === ''));
  const kinds = await Promise.all(
    wanted.map(async ({ group, kind }) => {
      const found = await kindOf(group, kind);
      return found ? [{ apiVersion: found.apiVersion, kind, group, resource: found.plural }] : [];
    }),
  );
  const known = kinds.flat();
  const members = model.membersOf(
    source,
    known.map(({ apiVersion, kind }) => ({ apiVersion, kind })),
  );
  if (!members) return notRead;
  const visible = await Promise.all(
    known.map(({ apiVersion, kind, group, resource }) =>
      readable(
        members.filter((member) => member.apiVersion === apiVersion && member.kind === kind),
        rights,
        { group, resource },
      ),
    ),
  );
  return firstOf(objectRows(visible.flat()), limits.dashboardObjects);
}
