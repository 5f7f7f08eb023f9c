/** Reads what the cluster says about a move. Writes nothing. */

import { apiVersionOf } from '../api/kinds/kinds.ts';
import {
  describe,
  type KubernetesObject,
  keyOf,
  liveCondition,
  type ObjectReference,
  partOfLabel,
  referenceOf,
} from '../api/kubernetes.ts';
import type { Source } from '../api/source/source.ts';
import type { ClusterClient } from '../cluster/client/client.ts';
import { onApiError } from '../cluster/errors.ts';
import { applySetId } from '../engine/apply-set.ts';
import { inParallel } from '../engine/sync/apply/apply-order.ts';
import { placesOf } from '../engine/sync/apply/members.ts';
import type { Place } from '../engine/sync/context/context.ts';
import { type FormerOwner, isTrackOf } from '../engine/sync/scope/former-owner.ts';
import { inventoryOf } from '../engine/sync/scope/inventory.ts';
import { isMadeByController } from '../engine/sync/scope/prune-plan.ts';
import { tracksOn } from '../engine/tracks.ts';
import { createClusterPort } from '../server/cluster.ts';
import type { Connection } from '../server/connection.ts';
import { prunesByItself, type SyncPolicy } from './argocd/source.ts';
import type { Member, MoveFacts, Parent } from './facts.ts';
import { shellLine } from './kubectl.ts';

/** What is read for a move. */
export interface FactsQuery {
  readonly former: FormerOwner;
  /** The repository of a Kustomization. */
  readonly repository?: ObjectName | undefined;
  /** Sources that the new one depends on. */
  readonly dependsOn: readonly ObjectName[];
}

/** Everything but the comparison. Throws ApiError. */
export async function readFacts(connection: Connection, query: FactsQuery): Promise<MoveFacts> {
  const { client } = connection;
  const { former, repository, dependsOn } = query;
  const owner = await getTool(client, former.kind, former);
  const source = await getSource(client, former);
  const marker = owner ?? source;
  const inventory = owner
    ? former.kind === 'Application'
      ? argoInventory(owner)
      : fluxInventory(owner)
    : [];
  const ownMembers = source ? await membersOf(connection, source) : [];
  const users = repository ? await usersOf(client, repository, former) : [];
  const dependencies = await Promise.all(dependsOn.map((one) => getSource(client, one)));
  return {
    owner,
    source,
    repository: repository ? await getTool(client, 'GitRepository', repository) : undefined,
    parent: marker ? await parentOf(client, marker) : undefined,
    members: await liveOf(client, inventory),
    ownMembers: ownMembers.filter(({ isMember }) => isMember),
    leftBehind: ownMembers
      .filter(({ isMember, live }) => !isMember && tracksOn(live).some((track) => isTrackOf(track, former)))
      .map(({ live }) => describe(live)),
    dependents: former.kind === 'Kustomization' ? await dependentsOf(client, former) : [],
    notifications: former.kind === 'Kustomization' ? await notificationsOf(client) : [],
    sourceDependents: source ? await sourcesNeeding(client, former) : [],
    repositoryUsers: users,
    missingDependencies: dependsOn
      .filter((_, index) => liveCondition(dependencies[index], 'Ready')?.status !== 'True')
      .map(keyOf),
    hasKinds: (await client.find('holdfast.dev', 'Source')) !== undefined,
  };
}

async function liveOf(client: ClusterClient, references: readonly ObjectReference[]): Promise<Member[]> {
  const members: Member[] = new Array(references.length);
  await inParallel([...references.entries()], async ([index, reference]) => {
    const live = await client.get(reference).catch(onApiError(['unknownKind'], () => undefined));
    members[index] = { reference, live };
  });
  return members;
}

interface Found extends Member {
  readonly live: KubernetesObject;
  readonly isMember: boolean;
}

/** Everything of the kinds and namespaces of a Source, controllers' own objects left out. */
async function membersOf({ client }: Connection, source: KubernetesObject): Promise<Found[]> {
  const cluster = createClusterPort(client);
  const places = await placesOf({ cluster }, source as Source, inventoryOf(source), []);
  const kinds = new Map<string, Place[]>();
  for (const place of places) {
    const type = `${place.apiVersion} ${place.kind}`;
    kinds.set(type, [...(kinds.get(type) ?? []), place]);
  }
  const id = applySetId(source);
  const found: Found[] = [];
  await inParallel([...kinds.values()], async (ofKind) => {
    for (const live of await objectsAt(client, ofKind)) {
      if (isMadeByController(live)) continue;
      const isMember = live.metadata.labels?.[partOfLabel] === id;
      found.push({ reference: referenceOf(live), live, isMember });
    }
  });
  return found;
}

/** Objects of one kind: in several namespaces by one list of all, unless only some of them may be read. Metadata alone. */
async function objectsAt(client: ClusterClient, places: readonly Place[]): Promise<KubernetesObject[]> {
  const namespaces = new Set(places.map(({ namespace }) => namespace));
  const list = async ({ apiVersion, kind }: Place, namespace: string | undefined) => {
    const where = namespace === undefined ? {} : { namespace };
    const { items } = await client.list(apiVersion, kind, { ...where, metadataOnly: true });
    return items.map((item) => ({ ...item, apiVersion, kind }));
  };
  const [first] = places;
  if (first && places.length > 1) {
    const all = await list(first, undefined).catch(onApiError(['forbidden'], () => undefined));
    if (all) return all.filter(({ metadata }) => namespaces.has(metadata.namespace));
  }
  const found: KubernetesObject[] = [];
  for (const place of places) found.push(...(await list(place, place.namespace)));
  return found;
}

// The objects that the tools say they applied. Pure.

/** Of a Kustomization: `status.inventory`. Entries that cannot be read are left out. */
function fluxInventory({ status }: KubernetesObject): ObjectReference[] {
  const { inventory } = (status ?? {}) as { inventory?: { entries?: Array<{ id?: unknown; v?: unknown }> } };
  return (inventory?.entries ?? []).flatMap(({ id, v }) => {
    // The only underscores in names are the double ones that stand for a colon; namespaces, groups and kinds have none.
    const [, namespace = '', name = '', group = '', kind = ''] =
      /^([^_]*)_(.+)_([^_]*)_([^_]+)$/.exec(String(id)) ?? [];
    if (!name || !kind) return [];
    return [referenceFor({ group, version: String(v), kind, namespace, name: name.replaceAll('__', ':') })];
  });
}

/** Of an Application: `status.resources`, without hooks, which are no lasting objects. */
function argoInventory({ status }: KubernetesObject): ObjectReference[] {
  const { resources = [] } = (status ?? {}) as {
    resources?: Array<
      Partial<Record<'group' | 'version' | 'kind' | 'namespace' | 'name', string>> & { hook?: boolean }
    >;
  };
  return resources.flatMap(({ group = '', version = 'v1', kind, namespace = '', name, hook }) =>
    kind && name && !hook ? [referenceFor({ group, version, kind, namespace, name })] : [],
  );
}

function referenceFor({
  group,
  version,
  kind,
  namespace,
  name,
}: Record<'group' | 'version' | 'kind' | 'namespace' | 'name', string>): ObjectReference {
  const apiVersion = group ? `${group}/${version}` : version;
  return { apiVersion, kind, name, ...(namespace ? { namespace } : {}) };
}

// Reads who else needs what is moved.

interface Reference {
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** Kustomizations that depend on this one. Throws ApiError. */
async function dependentsOf(client: ClusterClient, { namespace, name }: FormerOwner): Promise<string[]> {
  const all = await listTool(client, 'Kustomization');
  return all
    .filter(({ spec, metadata }) => {
      const { dependsOn = [] } = (spec ?? {}) as { dependsOn?: Array<{ name: string; namespace?: string }> };
      return dependsOn.some(
        (one) => one.name === name && (one.namespace ?? metadata.namespace) === namespace,
      );
    })
    .map(describe);
}

/** Sources that depend on the one of this name. Throws ApiError. */
async function sourcesNeeding(client: ClusterClient, { namespace, name }: FormerOwner): Promise<string[]> {
  const { items } = await client.list(apiVersionOf('Source'), 'Source');
  return (items as readonly Source[])
    .filter(({ spec, metadata }) =>
      spec.dependsOn?.some((one) => one.name === name && (one.namespace ?? metadata.namespace) === namespace),
    )
    .map(describe);
}

/** Kustomizations and HelmReleases that read this GitRepository, except the owner. Throws ApiError. */
async function usersOf(
  client: ClusterClient,
  repository: ObjectName,
  { namespace, name }: FormerOwner,
): Promise<string[]> {
  const kinds = await Promise.all(['Kustomization', 'HelmRelease'].map((kind) => listTool(client, kind)));
  const isItself = (object: KubernetesObject) =>
    object.kind === 'Kustomization' &&
    object.metadata.namespace === namespace &&
    object.metadata.name === name;
  return kinds
    .flat()
    .filter((object) => !isItself(object) && names(object, repository))
    .map(describe);
}

/** Alerts and Receivers, which may be in other files than what they name; those that may not be listed are not known. */
async function notificationsOf(client: ClusterClient): Promise<readonly KubernetesObject[]> {
  const lists = ['Alert', 'Receiver'].map((kind) =>
    listTool(client, kind).catch(onApiError(['forbidden'], () => [])),
  );
  return (await Promise.all(lists)).flat();
}

function names({ spec, metadata }: KubernetesObject, repository: ObjectName): boolean {
  const fields = (spec ?? {}) as {
    sourceRef?: Reference;
    chart?: { spec?: { sourceRef?: Reference } };
  };
  return [fields.sourceRef, fields.chart?.spec?.sourceRef].some(
    (one) =>
      one?.kind === 'GitRepository' &&
      one.name === repository.name &&
      (one.namespace ?? metadata.namespace) === repository.namespace,
  );
}

/** What applies the manifest of the owner, as its own marks say; undefined where it has none. Throws ApiError. */
async function parentOf(client: ClusterClient, marked: KubernetesObject): Promise<Parent | undefined> {
  const [track] = tracksOn(marked).filter(({ kind }) => kind === 'Kustomization' || kind === 'Application');
  if (!track) return sourceAbove(client, marked);
  if (track.kind === 'Kustomization') {
    const [namespace = '', name = ''] = track.owner.split('/');
    const found = await getTool(client, 'Kustomization', { namespace, name });
    const { prune, suspend } = (found?.spec ?? {}) as { prune?: boolean; suspend?: boolean };
    const look = shellLine('flux', '-n', namespace, 'reconcile', 'kustomization', name, '--with-source');
    return { name: track.detail, prunes: prune === true && suspend !== true, look };
  }
  const { namespace = '' } = marked.metadata;
  const name = track.owner.includes('_') ? track.owner.slice(track.owner.indexOf('_') + 1) : track.owner;
  const found = await getTool(client, 'Application', { namespace, name });
  const { syncPolicy } = (found?.spec ?? {}) as { syncPolicy?: SyncPolicy };
  return {
    name: track.detail,
    prunes: prunesByItself(syncPolicy),
    look: shellLine('argocd', 'app', 'sync', name),
  };
}

/** The Source that applies it. Throws ApiError. */
async function sourceAbove(
  client: ClusterClient,
  { metadata }: KubernetesObject,
): Promise<Parent | undefined> {
  const id = metadata.labels?.[partOfLabel];
  if (id === undefined || !(await client.find('holdfast.dev', 'Source'))) return undefined;
  const { items } = await client.list(apiVersionOf('Source'), 'Source');
  const found = (items as readonly Source[]).find((one) => applySetId(one) === id);
  if (!found) return undefined;
  const { prune, suspend } = found.spec;
  const { namespace = '', name } = found.metadata;
  return {
    name: describe({ ...found, kind: 'Source' }),
    prunes: prune === true && suspend !== true,
    look: shellLine('holdfast', 'sync', `source/${name}`, '-n', namespace),
  };
}

// Reads objects of the tools and of ours.

/** Which object of a kind. */
interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** API groups of the tools' kinds; the server's preferred version is used. */
const groups: Readonly<Record<string, string>> = {
  Kustomization: 'kustomize.toolkit.fluxcd.io',
  GitRepository: 'source.toolkit.fluxcd.io',
  HelmRelease: 'helm.toolkit.fluxcd.io',
  Alert: 'notification.toolkit.fluxcd.io',
  Receiver: 'notification.toolkit.fluxcd.io',
  Application: 'argoproj.io',
};

/** An object of a kind of the tools; undefined also where the kind is not served. Throws ApiError. */
async function getTool(
  client: ClusterClient,
  kind: string,
  { namespace, name }: ObjectName,
): Promise<KubernetesObject | undefined> {
  const found = await client.find(groups[kind] ?? '', kind);
  return found ? client.get({ apiVersion: found.apiVersion, kind, namespace, name }) : undefined;
}

/** A Source of the cluster; undefined also where the kind is not served. Throws ApiError. */
export async function getSource(
  client: ClusterClient,
  { namespace, name }: ObjectName,
): Promise<KubernetesObject | undefined> {
  if (!(await client.find('holdfast.dev', 'Source'))) return undefined;
  return client.get({ apiVersion: apiVersionOf('Source'), kind: 'Source', namespace, name });
}

/** Every object of a kind of the tools; none where the kind is not served. Throws ApiError. */
async function listTool(client: ClusterClient, kind: string): Promise<readonly KubernetesObject[]> {
  const found = await client.find(groups[kind] ?? '', kind);
  return found ? (await client.list(found.apiVersion, kind)).items : [];
}
