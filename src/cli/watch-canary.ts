/** Watches one Canary: what changes about it, and whether changes arrive. */
import type { CanaryStatus } from '../api/canary/status.ts';
import { canaryStatus } from '../api/canary/summary.ts';
import type { Clock } from '../api/clock.ts';
import { apiVersionOf } from '../api/kinds/kinds.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { CacheHandle } from '../cluster/caches/caches.ts';
import type { Connection } from '../server/connection.ts';
import { newsOf, type RolloutNews } from '../terminal/timeline/news.ts';
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
export type WatchEvent = { readonly time: string; readonly canary: string } & (
  | ReleaseSeen
  | Reached
  | RolloutNews
  | { readonly type: 'deleted' }
);

type WatchBody = ReleaseSeen | Reached | RolloutNews | { readonly type: 'deleted' };

/** What is watched, and until when. */
interface WatchOptions {
  readonly namespace: string;
  readonly name: string;
  readonly signal: AbortSignal;
}

/** So long may the API server be silent before that is told. */
const unreachedMs = 3_000;

const lookMs = 1_000;

/**
 * Tells what is news about one Canary, what is known already first. Resolves when it was deleted, rejects with the signal's reason when
 * that aborts. Throws ApiError and InputError for a Canary that cannot be read at the beginning.
 */
export async function watchOne(
  { client, caches }: Pick<Connection, 'client' | 'caches'>,
  clock: Clock,
  { namespace, name, signal }: WatchOptions,
  tell: (event: WatchEvent) => void,
): Promise<void> {
  signal.throwIfAborted();
  // A cache would wait for ever for what is not there or may not be read.
  await readOne(client, 'Canary', { namespace, name });
  const handle = caches.ensure({ apiVersion: apiVersionOf('Canary'), kind: 'Canary', namespace, name });
  const say = (body: WatchBody) =>
    tell({ time: new Date(clock.nowMs()).toISOString(), canary: `${namespace}/${name}`, ...body });
  const stopLooking = tellOfSilence(clock, handle, say);
  let before: CanaryStatus | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      handle.store.subscribe((type, object) => {
        if (type === 'deleted') {
          say({ type: 'deleted' });
          return resolve();
        }
        const after = canaryStatus(object);
        for (const body of changes(before, object)) say(body);
        before = after;
      });
    });
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
  const { targetRef } = object.spec as { targetRef?: { name?: string } };
  return [...(isOther ? [release] : []), ...newsOf(before ?? {}, after, targetRef?.name ?? '')];
}

/** Looks once a second whether the watch hears from the API server, and says when it does not for three, or does again. Returns how to stop. */
export function tellOfSilence(
  clock: Clock,
  handle: Pick<CacheHandle, 'health'>,
  say: (body: Reached) => void,
): () => void {
  let failingSinceMs: number | undefined;
  let told = false;
  let cancel = () => {};
  const look = () => {
    const { failures, lastError } = handle.health();
    const nowMs = clock.nowMs();
    if (failures === 0) {
      if (told) say({ type: 'connection', ok: true, message: 'the API server answers again' });
      failingSinceMs = undefined;
      told = false;
    } else {
      failingSinceMs ??= nowMs;
      if (!told && nowMs - failingSinceMs >= unreachedMs) {
        say({ type: 'connection', ok: false, message: `no changes arrive: ${lastError}` });
        told = true;
      }
    }
    cancel = clock.after(lookMs, look);
  };
  look();
  return () => cancel();
}
