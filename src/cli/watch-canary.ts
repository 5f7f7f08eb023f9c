/** Watches one Canary: what changes about it, and whether changes arrive. */
import type { CanaryStatus } from '../api/canary/status.ts';
import { canaryStatus } from '../api/canary/summary.ts';
import type { Clock } from '../api/clock.ts';
import { apiVersionOf } from '../api/kinds/kinds.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { CacheHandle } from '../cluster/caches/caches.ts';
import type { Connection } from '../server/connection.ts';
import { newsOf, type RolloutNews } from '../terminal/timeline/news.ts';
import { untilAborted } from './command.ts';
import { readOne } from './objects.ts';
import { commitSubject } from './status/rows.ts';

/** A release began, or the watch did while this one was the newest. */
interface ReleaseSeen {
  readonly type: 'release';
  readonly commit: string;
  readonly subject: string;
}

/** Whether changes arrive; when they do not, why. */
interface Reached {
  readonly type: 'connection';
  readonly ok: boolean;
  readonly message: string;
}

/** What `holdfast watch -o json` prints, one object a line. */
export type WatchEvent = { readonly time: string; readonly canary: string } & WatchBody;

type WatchBody = ReleaseSeen | Reached | RolloutNews | { readonly type: 'deleted' };

/** What is watched, and until when. */
interface WatchOptions {
  readonly namespace: string;
  readonly name: string;
  readonly signal: AbortSignal;
}

/** How long the API server may be silent before that is reported. */
const unreachedMs = 3_000;

const lookMs = 1_000;

/**
 * Reports the changes of one Canary, its state at the start first. Resolves when it was deleted, rejects with the signal's reason when
 * that aborts. Throws ApiError and InputError for a Canary that cannot be read at the beginning.
 */
export async function watchOne(
  { client, caches }: Pick<Connection, 'client' | 'caches'>,
  clock: Clock,
  { namespace, name, signal }: WatchOptions,
  report: (event: WatchEvent) => void,
): Promise<void> {
  // A cache would wait for ever for what is not there or may not be read.
  await readOne(client, 'Canary', { namespace, name });
  const handle = caches.ensure({ apiVersion: apiVersionOf('Canary'), kind: 'Canary', namespace, name });
  const send = (body: WatchBody) =>
    report({ time: new Date(clock.nowMs()).toISOString(), canary: `${namespace}/${name}`, ...body });
  const stopLooking = reportSilence(clock, handle, send);
  let before: CanaryStatus | undefined;
  try {
    const deleted = new Promise<void>((resolve) => {
      handle.store.subscribe((type, object) => {
        if (type === 'deleted') {
          send({ type: 'deleted' });
          return resolve();
        }
        for (const body of changes(before, object)) send(body);
        before = canaryStatus(object);
      });
    });
    await untilAborted(signal, deleted);
  } finally {
    stopLooking();
    await handle.release();
  }
}

function changes(before: CanaryStatus | undefined, object: KubernetesObject): WatchBody[] {
  const after = canaryStatus(object);
  const commit = after.run?.commit ?? after.lastAppliedCommit ?? '';
  const isOther = before === undefined || (after.run && after.run.digest !== before.run?.digest);
  const release = { type: 'release' as const, commit, subject: commitSubject(object, commit) ?? '' };
  // The CRD lets one in that has no spec.
  const { targetRef } = (object.spec ?? {}) as { targetRef?: { name?: string } };
  return [...(isOther ? [release] : []), ...newsOf(before ?? {}, after, targetRef?.name ?? '')];
}

/** Checks once a second whether the watch receives changes; reports when it has not for three seconds, and when it does again. Returns how to stop. */
export function reportSilence(
  clock: Clock,
  handle: Pick<CacheHandle, 'health'>,
  send: (body: Reached) => void,
): () => void {
  let failingSinceMs: number | undefined;
  let isReported = false;
  let cancel = () => {};
  const look = () => {
    const { failures, lastError } = handle.health();
    const nowMs = clock.nowMs();
    if (failures === 0) {
      if (isReported) send({ type: 'connection', ok: true, message: 'the API server answers again' });
      failingSinceMs = undefined;
      isReported = false;
    } else {
      failingSinceMs ??= nowMs;
      if (!isReported && nowMs - failingSinceMs >= unreachedMs) {
        send({ type: 'connection', ok: false, message: `no changes arrive: ${lastError}` });
        isReported = true;
      }
    }
    cancel = clock.after(lookMs, look);
  };
  look();
  return () => cancel();
}
