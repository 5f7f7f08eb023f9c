import { randomBytes } from 'node:crypto';
import { clusterKeySecret, type KubernetesObject, secretBytes } from '../api/kubernetes.ts';
import type { Cluster } from '../contracts/cluster.ts';
import { EngineError } from '../engine/failure.ts';

const name = clusterKeySecret;
const keyBytes = 32;

/**
 * The HMAC key by which Secrets enter digests, from the Secret `holdfast-key` in Holdfast's namespace; created once (design section 3).
 * Throws EngineError KeyDamaged: a new key would make every record unreadable, so a person must decide.
 */
export async function loadClusterKey(
  cluster: Pick<Cluster, 'get' | 'create'>,
  namespace: string,
): Promise<Uint8Array> {
  const reference = { apiVersion: 'v1', kind: 'Secret', namespace, name };
  const live = await cluster.get(reference);
  if (live) return keyFromSecret(live, namespace);
  const { apiVersion, kind } = reference;
  const data = { key: randomBytes(keyBytes).toString('base64') };
  try {
    const metadata = { name, namespace, labels: { 'app.kubernetes.io/managed-by': 'holdfast' } };
    return keyFromSecret(
      await cluster.create({ apiVersion, kind, metadata, type: 'Opaque', data }),
      namespace,
    );
  } catch (error) {
    // Another copy was faster: its key is the key.
    const theirs =
      (error as { kind?: unknown }).kind === 'alreadyExists' ? await cluster.get(reference) : undefined;
    if (theirs) return keyFromSecret(theirs, namespace);
    throw error;
  }
}

/** The key as it is, for who only looks: undefined where Holdfast has never run. Throws EngineError KeyDamaged. */
export async function readClusterKey(
  cluster: Pick<Cluster, 'get'>,
  namespace: string,
): Promise<Uint8Array | undefined> {
  const live = await cluster.get({ apiVersion: 'v1', kind: 'Secret', namespace, name });
  return live && keyFromSecret(live, namespace);
}

function keyFromSecret(secret: KubernetesObject, namespace: string): Uint8Array {
  const { key } = secretBytes(secret);
  if (key && key.length >= keyBytes) return key;
  throw new EngineError(
    'KeyDamaged',
    `Secret ${namespace}/${name}: data.key must hold at least ${keyBytes} bytes; restore it from a backup, or delete the Secret to start with a new key (records of earlier releases are lost then)`,
  );
}
