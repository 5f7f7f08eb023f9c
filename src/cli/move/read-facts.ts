/** Reads what the cluster says about a move. Writes nothing. */
import { partOfLabel } from '../../api/applyset.ts';
import { apiVersionOf } from '../../api/kinds.ts';
import { describe, type KubernetesObject, type ObjectReference, referenceOf } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source.ts';
import { createClusterPort } from '../../app/cluster-port.ts';
import type { Connection } from '../../app/connection.ts';
import type { ClusterClient } from '../../cluster/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import { applySetId } from '../../engine/source/apply-set.ts';
import { type FormerOwner, isTrackOf } from '../../engine/source/former-owner.ts';
import { inParallel } from '../../engine/source/in-parallel.ts';
import { inventoryOf } from '../../engine/source/prune/inventory.ts';
import { placesOf } from '../../engine/source/prune/parent.ts';
import { isMadeByController } from '../../engine/source/prune/prune-rules.ts';
import { tracksOn } from '../../engine/source/tracks.ts';
import type { Member, MoveFacts, Parent } from './facts.ts';
import { conditionOf } from './findings.ts';
import { argoInventory, fluxInventory } from './inventories.ts';
import { shellLine } from './shell.ts';

type Client = ClusterClient;

/** Kinds of the tools, in whatever version the server prefers. */
const groups: Readonly<Record<string, string>> = {
  Kustomization: 'kustomize.toolkit.fluxcd.io',
  GitRepository: 'source.toolkit.fluxcd.io',
  HelmRelease: 'helm.toolkit.fluxcd.io',
  Application: 'argoproj.io',
};

/** What is read for a move. */
export interface FactsQuery {
  readonly former: FormerOwner;
  /** The repository of a Kustomization. */
  readonly repository?: { readonly namespace: string; readonly name: string } | undefined;
  /** Sources that the new one depends on. */
  readonly dependsOn: ReadonlyArray<{ readonly namespace: string; readonly name: string }>;
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
    sourceDependents: source ? await sourcesNeeding(client, former) : [],
    repositoryUsers: users,
    missingDependencies: await notReady(client, dependsOn),
    hasKinds: (await client.find('holdfast.dev', 'Source')) !== undefined,
  };
}

/** Undefined also where the kind is not served. */
export async function getTool(
  client: Client,
  kind: string,
  { namespace, name }: { namespace: string; name: string },
): Promise<KubernetesObject | undefined> {
  const found = await client.find(groups[kind] ?? '', kind);
  return found ? client.get({ apiVersion: found.apiVersion, kind, namespace, name }) : undefined;
}

/** A Source of the cluster; undefined also where the kind is not served. */
export async function getSource(
  client: Client,
  { namespace, name }: { namespace: string; name: string },
): Promise<KubernetesObject | undefined> {
  if (!(await client.find('holdfast.dev', 'Source'))) return undefined;
  return client.get({ apiVersion: apiVersionOf('Source'), kind: 'Source', namespace, name });
}

async function listTool(client: Client, kind: string): Promise<readonly KubernetesObject[]> {
  const found = await client.find(groups[kind] ?? '', kind);
  return found ? (await client.list(found.apiVersion, kind)).items : [];
}

async function liveOf(client: Client, references: readonly ObjectReference[]): Promise<Member[]> {
  const members: Member[] = new Array(references.length);
  await inParallel([...references.entries()], async ([index, reference]) => {
    const live = await client.get(reference).catch((error: unknown) => {
      if (isApiError(error, 'unknownKind')) return undefined;
      throw error;
    });
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
  const cluster = createClusterPort(client, () => false);
  const places = await placesOf({ cluster }, source as Source, inventoryOf(source), []);
  const id = applySetId(source);
  const found: Found[] = [];
  await inParallel(places, async ({ apiVersion, kind, namespace }) => {
    const { items } = await client.list(apiVersion, kind, {
      ...(namespace === undefined ? {} : { namespace }),
      metadataOnly: true,
    });
    for (const item of items) {
      const live = { ...item, apiVersion, kind };
      if (isMadeByController(live)) continue;
      found.push({
        reference: referenceOf(live),
        live,
        isMember: item.metadata.labels?.[partOfLabel] === id,
      });
    }
  });
  return found;
}

/** What applies the manifest of the owner, as its own marks say. */
async function parentOf(client: Client, marked: KubernetesObject): Promise<Parent | undefined> {
  const [track] = tracksOn(marked).filter(({ kind }) => kind === 'Kustomization' || kind === 'Application');
  if (!track) return undefined;
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
  const { syncPolicy } = (found?.spec ?? {}) as { syncPolicy?: { automated?: { prune?: boolean } } };
  return {
    name: track.detail,
    prunes: syncPolicy?.automated?.prune === true,
    look: shellLine('argocd', 'app', 'sync', name),
  };
}

async function dependentsOf(client: Client, { namespace, name }: FormerOwner): Promise<string[]> {
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

async function sourcesNeeding(client: Client, { namespace, name }: FormerOwner): Promise<string[]> {
  const { items } = await client.list(apiVersionOf('Source'), 'Source');
  return (items as readonly Source[])
    .filter(({ spec, metadata }) =>
      spec.dependsOn?.some((one) => one.name === name && (one.namespace ?? metadata.namespace) === namespace),
    )
    .map(describe);
}

async function usersOf(
  client: Client,
  repository: { namespace: string; name: string },
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

function names(
  { spec, metadata }: KubernetesObject,
  repository: { namespace: string; name: string },
): boolean {
  const said = (spec ?? {}) as {
    sourceRef?: Reference;
    chart?: { spec?: { sourceRef?: Reference } };
  };
  return [said.sourceRef, said.chart?.spec?.sourceRef].some(
    (one) =>
      one?.kind === 'GitRepository' &&
      one.name === repository.name &&
      (one.namespace ?? metadata.namespace) === repository.namespace,
  );
}

interface Reference {
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
}

async function notReady(
  client: Client,
  sources: ReadonlyArray<{ readonly namespace: string; readonly name: string }>,
): Promise<string[]> {
  const found = await Promise.all(sources.map((one) => getSource(client, one)));
  return sources
    .filter((_, index) => conditionOf(found[index], 'Ready')?.status !== 'True')
    .map(({ namespace, name }) => `${namespace}/${name}`);
}

/** Name of the Secret in which Argo CD keeps what it logs in with at this address; undefined where there is none, or none may be seen. */
export async function readCredentials(
  client: Client,
  namespace: string,
  url: string,
): Promise<string | undefined> {
  const found: Array<{ name: string; url: string }> = [];
  for (const type of ['repository', 'repo-creds']) {
    const labelSelector = `argocd.argoproj.io/secret-type=${type}`;
    const { items } = await client
      .list('v1', 'Secret', { namespace, labelSelector })
      .catch((error: unknown) => {
        if (isApiError(error, 'forbidden')) return { items: [] };
        throw error;
      });
    for (const { metadata, data } of items) {
      const { url: encoded = '', password } = (data ?? {}) as { url?: string; password?: string };
      if (password) found.push({ name: metadata.name, url: Buffer.from(encoded, 'base64').toString('utf8') });
    }
  }
  const fitting = found.filter((one) => one.url !== '' && url.startsWith(one.url));
  return fitting.sort((left, right) => right.url.length - left.url.length)[0]?.name;
}
