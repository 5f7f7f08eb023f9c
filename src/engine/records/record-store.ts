/** The Secrets of one release record: read, written anew and deleted whole, over direct requests. */
import { describe, type KubernetesObject, type ObjectReference, referenceOf } from '../../api/kubernetes.ts';
import type { Cluster } from '../../contracts/cluster.ts';
import {
  encodeRecord,
  type RecordStamp,
  recordAnnotations,
  recordName,
  recordType,
} from '../../release/record.ts';
import type { Release } from '../../release/release.ts';
import { EngineError } from '../failure.ts';

/** More parts than a record of the largest size has. */
const mostParts = 16;

type Requests = Pick<Cluster, 'get' | 'create' | 'delete'>;

/** The first Secret of a record and its parts, as far as they exist; empty when there is no first one. */
export async function readParts(
  cluster: Pick<Cluster, 'get'>,
  namespace: string,
  name: string,
): Promise<KubernetesObject[]> {
  const first = await cluster.get(secretReference(namespace, name));
  if (!first) return [];
  const count = Number(first.metadata.annotations?.[recordAnnotations.parts] ?? 1);
  const others = Array.from({ length: Math.max(0, Math.min(mostParts, count || 1) - 1) }, (_, index) =>
    cluster.get(secretReference(namespace, `${name}.part-${index + 1}`)),
  );
  return [first, ...(await Promise.all(others)).filter((part) => part !== undefined)];
}

/**
 * Writes the Secrets of a release; what was left of a damaged record of the same release is replaced. The first Secret comes last: a
 * record without it does not exist, so a crash in between leaves nothing half. Throws EngineError RecordTooLarge, or RecordNameTaken
 * when a Secret of that name is not ours.
 */
export async function writeParts(
  cluster: Requests,
  release: Release,
  stamp: Pick<RecordStamp, 'promotedTime' | 'sequence'>,
): Promise<void> {
  const encoded = encodeRecord(release, stamp);
  if (encoded.problem !== undefined) throw new EngineError('RecordTooLarge', encoded.problem);
  const [first, ...rest] = encoded.ok;
  if (!first) return;
  // One Secret by itself is replaced as it is written.
  if (rest.length > 0) await removeOld(cluster, referenceOf(first));
  for (const part of [...rest, first]) await createAnew(cluster, part);
}

/** Deletes a record, its first Secret last of all, and tells whether there was one. What is not ours stays. */
export async function removeParts(cluster: Requests, namespace: string, name: string): Promise<boolean> {
  const parts = await readParts(cluster, namespace, name);
  const ours = parts.filter(({ type }) => type === recordType).reverse();
  for (const part of ours) await remove(cluster, part);
  return ours.length > 0;
}

/** Reference of the record of a digest. */
export function recordReference(
  canary: { readonly namespace: string; readonly name: string },
  digest: string,
): ObjectReference {
  return secretReference(canary.namespace, recordName(canary, digest));
}

function secretReference(namespace: string, name: string): ObjectReference {
  return { apiVersion: 'v1', kind: 'Secret', namespace, name };
}

async function removeOld(cluster: Requests, reference: ObjectReference): Promise<void> {
  const old = await cluster.get(reference);
  if (!old) return;
  if (old.type === recordType) return remove(cluster, old);
  throw new EngineError(
    'RecordNameTaken',
    `${describe(old)} is of type ${old.type ?? 'Opaque'} and has the name of a release record; delete or rename it`,
  );
}

async function createAnew(cluster: Requests, part: KubernetesObject): Promise<void> {
  try {
    await cluster.create(part);
  } catch (error) {
    if ((error as { kind?: unknown }).kind !== 'alreadyExists') throw error;
    await removeOld(cluster, referenceOf(part));
    await cluster.create(part);
  }
}

async function remove(cluster: Requests, part: KubernetesObject): Promise<void> {
  const { uid } = part.metadata;
  await cluster.delete(referenceOf(part), uid ? { uid } : {});
}
