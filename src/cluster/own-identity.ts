import type { ClusterClient } from './client.ts';
import { isApiError } from './errors.ts';
import { identityInPod, type PodName } from './lease-holder.ts';

/** Who this process is, and where. */
export interface OwnIdentityOptions {
  readonly client: Pick<ClusterClient, 'get'>;
  readonly namespace: string;
  readonly identity: string;
  readonly pod?: PodName | undefined;
}

/**
 * The identity with the pod in it, if the API server knows this very pod in the namespace of the Lease. Read, since a wrong one would make others
 * believe that we are gone: the variables may come from a pod of another cluster or namespace. Waits while the server does not answer.
 */
export async function ownIdentity(
  { client, namespace, identity, pod }: OwnIdentityOptions,
  { pause, signal }: { readonly pause: () => Promise<void>; readonly signal: AbortSignal },
): Promise<string> {
  while (pod && !signal.aborted) {
    try {
      const seen = await client.get({ apiVersion: 'v1', kind: 'Pod', namespace, name: pod.name }, { signal });
      return seen?.metadata.uid === pod.uid ? identityInPod(pod, identity) : identity;
    } catch (error) {
      if (!isApiError(error, 'transient', 'timeout', 'tooManyRequests', 'aborted')) return identity;
      await pause();
    }
  }
  return identity;
}
