/** Reads what the cluster says about the migration of a Rollout. Writes nothing. */
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { type KubernetesObject, type NamespacedName, partOfLabel } from '../../api/kubernetes.ts';
import { tracksOn } from '../../engine/tracks.ts';
import type { Connection } from '../../server/connection.ts';

/** Everything of one Rollout, read at one time. */
export interface RolloutFacts {
  readonly rollout: KubernetesObject | undefined;
  readonly canary: KubernetesObject | undefined;
  /** Of its namespace. */
  readonly services: readonly KubernetesObject[];
  /** Whether the cluster has our kinds. */
  readonly hasKinds: boolean;
  /** Who applies the Rollout; undefined: no tool that is known. */
  readonly appliedBy: string | undefined;
  readonly isInSource: boolean;
  /** The Application of Argo CD that applies the Rollout. */
  readonly application: KubernetesObject | undefined;
}

/** The Rollout as the cluster has it. Throws ApiError. */
export async function readRollout(
  { client }: Connection,
  { namespace, name }: NamespacedName,
): Promise<KubernetesObject | undefined> {
  const found = await client.find('argoproj.io', 'Rollout');
  return found && (await client.get({ apiVersion: found.apiVersion, kind: 'Rollout', namespace, name }));
}

/** The facts of one Rollout. Throws ApiError. */
export async function readRolloutFacts(
  connection: Connection,
  { namespace, name }: NamespacedName,
): Promise<RolloutFacts> {
  const { client } = connection;
  const kinds = await Promise.all(
    ['Canary', 'MetricTemplate'].map((kind) => client.find('flagger.app', kind)),
  );
  const hasKinds = kinds.every((kind) => kind !== undefined);
  const rollout = await readRollout(connection, { namespace, name });
  const reference = { apiVersion: apiVersionOf('Canary'), kind: 'Canary', namespace, name };
  const isInSource = rollout?.metadata.labels?.[partOfLabel] !== undefined;
  const { items } = await client.list('v1', 'Service', { namespace });
  return {
    rollout,
    canary: hasKinds ? await client.get(reference) : undefined,
    services: items.map((item) => ({ ...item, apiVersion: 'v1', kind: 'Service' })),
    hasKinds,
    appliedBy: rollout && (isInSource ? 'a Source' : tracksOn(rollout)[0]?.detail),
    isInSource,
    application: rollout && (await applicationOf(client, rollout)),
  };
}

/** By its name alone: the tracking says no namespace, or the one of the Application before the name. */
async function applicationOf(
  client: Connection['client'],
  rollout: KubernetesObject,
): Promise<KubernetesObject | undefined> {
  const track = tracksOn(rollout).find(({ kind }) => kind === 'Application');
  const found = track && (await client.find('argoproj.io', 'Application'));
  if (!found) return undefined;
  const { items } = await client.list(found.apiVersion, 'Application');
  const names = [track.owner, track.owner.slice(track.owner.indexOf('_') + 1)];
  return items.find(({ metadata }) => names.includes(metadata.name));
}
