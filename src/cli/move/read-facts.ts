/** Reads what the cluster says about a move. Writes nothing. */
import { partOfLabel } from '../../api/applyset.ts';
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
import type { Member, MoveFacts } from './facts.ts';
import { conditionOf } from './findings.ts';
import { argoInventory, fluxInventory } from './inventories.ts';
import { getSource, getTool, type ObjectName } from './read-objects.ts';
import { parentOf } from './read-parent.ts';
import { dependentsOf, sourcesNeeding, usersOf } from './read-users.ts';

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

async function liveOf(client: ClusterClient, references: readonly ObjectReference[]): Promise<Member[]> {
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
  const cluster = createClusterPort(client);
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

async function notReady(client: ClusterClient, sources: readonly ObjectName[]): Promise<string[]> {
  const found = await Promise.all(sources.map((one) => getSource(client, one)));
  return sources
    .filter((_, index) => conditionOf(found[index], 'Ready')?.status !== 'True')
    .map(({ namespace, name }) => `${namespace}/${name}`);
}
