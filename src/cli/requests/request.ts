import type { Clock } from '../../api/clock.ts';
import { sleep } from '../../api/clock.ts';
import { apiVersionOf, type KindName } from '../../api/kinds.ts';
import { describe, type KubernetesObject, type ObjectReference } from '../../api/kubernetes.ts';
import { annotationPrefix } from '../../api/verbs.ts';
import { InputError } from '../../app/options.ts';
import type { ClusterClient } from '../../cluster/client.ts';
import { isApiError } from '../../cluster/errors.ts';

/** The part of the client that requests take. */
export type RequestClient = Pick<ClusterClient, 'get' | 'list' | 'patch'>;

const manager = 'holdfast-cli';
const lookEveryMs = 500;

/** The object a command is about. Throws InputError when it does not exist. */
export async function readOne(
  client: Pick<RequestClient, 'get'>,
  kind: KindName,
  { namespace, name }: { namespace: string; name: string },
): Promise<KubernetesObject> {
  const reference = { apiVersion: apiVersionOf(kind), kind, namespace, name };
  const object = await client.get(reference);
  if (object) return object;
  throw new InputError(`${describe(reference)} does not exist; -n NAMESPACE looks elsewhere`);
}

/** Sets one annotation of ours, or takes it away with null, and touches nothing else. */
export async function annotate(
  client: Pick<RequestClient, 'patch'>,
  { apiVersion, kind, metadata }: KubernetesObject,
  verb: string,
  value: string | null,
): Promise<void> {
  const reference: ObjectReference = {
    apiVersion,
    kind,
    name: metadata.name,
    ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
  };
  const body = { metadata: { annotations: { [annotationPrefix + verb]: value } } };
  await client.patch(reference, body, { type: 'merge', manager });
}

/** `<revision>@<time>`: a new request even if the same was asked before. */
export function tokenFor(revision: string, nowMs: number): string {
  return `${revision}@${new Date(nowMs).toISOString()}`;
}

/**
 * Looks again until the look gives something; undefined when the time is up. An API server that does not answer for a while is waited for,
 * too: throws its ApiError when it does not answer at the end either, and any other error at once.
 */
export async function lookUntil<T>(
  clock: Clock,
  timeoutMs: number,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const endMs = clock.nowMs() + timeoutMs;
  for (;;) {
    const isLast = clock.nowMs() >= endMs;
    const found = await look().catch((error: unknown) => {
      if (!isLast && isApiError(error) && error.retryable) return undefined;
      throw error;
    });
    if (found !== undefined || isLast) return found;
    await sleep(clock, lookEveryMs);
  }
}
