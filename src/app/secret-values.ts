import type { Cluster } from '../engine/ports/ports.ts';

/** Decoded values of a Secret, read now and kept nowhere; undefined when none is named or it does not exist. */
export async function secretValues(
  cluster: Pick<Cluster, 'get'>,
  namespace: string | undefined,
  name: string | undefined,
): Promise<Record<string, string> | undefined> {
  if (!name) return undefined;
  const secret = await cluster.get({ apiVersion: 'v1', kind: 'Secret', namespace: namespace ?? '', name });
  if (!secret) return undefined;
  const data = (secret.data ?? {}) as Record<string, string>;
  const decoded = Object.entries(data).map(([key, value]) => [
    key,
    Buffer.from(value, 'base64').toString('utf8'),
  ]);
  return Object.fromEntries(decoded);
}
