import type { CanaryStatus } from '../../../src/api/canary/status.ts';
import { canaryStatus } from '../../../src/api/canary/summary.ts';
import { type BedClient, waitFor } from '../bed/client.ts';

/**
 * Every status that was written of one Canary, in the order of the writes. Who asks the API server now and then misses a state that lasts
 * a second whenever the machine is busy for two; here it is found however late one looks.
 */
export interface StatusTrail {
  /** The first status that holds, from the one that was found last onwards; that one is looked at again. Throws when the time is over. */
  until(what: string, holds: (status: CanaryStatus) => boolean, timeoutMs?: number): Promise<CanaryStatus>;
  /** Another reader of the same trail, which begins where this one is. */
  fork(): StatusTrail;
  /** Nothing more is heard of the Canary. */
  close(): void;
}

/** Begins with what there is of the Canary `podinfo` now; it need not be there yet. */
export function followStatus(bed: BedClient, namespace: string): StatusTrail {
  const seen: CanaryStatus[] = [{}];
  const stopped = new AbortController();
  const path = `/apis/flagger.app/v1beta1/namespaces/${namespace}/canaries?fieldSelector=metadata.name%3Dpodinfo`;
  const following = bed.api.follow(
    path,
    ({ type, object }) => void seen.push(type === 'DELETED' ? {} : canaryStatus(object)),
    stopped.signal,
  );
  void following.catch(() => undefined);
  return reader(seen, 0, namespace, () => stopped.abort());
}

function reader(
  seen: readonly CanaryStatus[],
  from: number,
  namespace: string,
  close: () => void,
): StatusTrail {
  let at = from;
  return {
    close,
    fork: () => reader(seen, at, namespace, close),
    until: (what, holds, timeoutMs = 180_000) => {
      let next = at;
      const look = async () => {
        // The newest one is looked at again and again: what holds may be about more than the status.
        for (next = Math.min(next, seen.length - 1); next < seen.length; next += 1) {
          const status = seen[next];
          if (!status || !holds(status)) continue;
          at = Math.max(at, next);
          return status;
        }
        return undefined;
      };
      const describe = async () => seen.at(-1);
      return waitFor(look, { timeoutMs, intervalMs: 50, what: `${namespace}: ${what}`, describe });
    },
  };
}
