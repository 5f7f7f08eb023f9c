/** Arithmetic of a Deployment's rolling update, rounded as Kubernetes rounds. */

/** Most pods above and below the wanted number during an update. */
export interface Fenceposts {
  maxSurge: number;
  maxUnavailable: number;
}

/** maxSurge rounds up, maxUnavailable down; both 0 means one pod may be missing. Default 25 % each. */
export function fenceposts(
  replicas: number,
  rollingUpdate: Readonly<Record<string, unknown>> | null | undefined,
): Fenceposts {
  const maxSurge = Math.ceil(share(rollingUpdate?.maxSurge, replicas));
  const maxUnavailable = Math.floor(share(rollingUpdate?.maxUnavailable, replicas));
  return { maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable };
}

/** Whether a change of the template leaves a ready pod at every moment, given that all pods are ready before it. */
export function keepsReadyPod(
  replicas: number,
  strategy: Readonly<Record<string, unknown>> | undefined,
): boolean {
  if (strategy?.type === 'Recreate') return false;
  const { maxUnavailable } = fenceposts(
    replicas,
    strategy?.rollingUpdate as Record<string, unknown> | undefined,
  );
  return replicas - maxUnavailable >= 1;
}

function share(value: unknown, replicas: number): number {
  if (typeof value === 'number') return value;
  const percent = /^(\d{1,5})%$/.exec(typeof value === 'string' ? value : '25%')?.[1];
  return percent === undefined ? Number(value) || 0 : (Number(percent) * replicas) / 100;
}
