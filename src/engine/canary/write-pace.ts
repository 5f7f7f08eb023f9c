/** How often what is made for a Canary may be written; its status is not counted. */
import type { Clock } from '../../api/clock.ts';
import { describe, type ObjectReference } from '../../api/kubernetes.ts';
import type { Cluster } from '../../contracts/cluster.ts';
import { isOfHoldfast, managedFieldsOf, newestOf } from '../../workload/compare/managed-fields.ts';
import type { Failure } from '../failure.ts';

/** Rounds that write, at once and then each second. A release with intervals of one second takes up to five a second for a while. */
const burst = 120;
const perSecond = 4;
/** Writes are gathered for so long rather than spread: a round alone may not be enough to come to rest. */
const pauseMs = 5_000;
/** So many may be written at once again before the other writer counts as gone. */
const calm = burst / 2;

/** What a round wrote: in a few words, and the objects that it changed. */
export interface Written {
  readonly what: string;
  readonly objects: readonly ObjectReference[];
}

/** Another writer undoes what is written. */
export interface Contention {
  readonly failure: Failure;
  /** By the clock of the pace. */
  readonly sinceMs: number;
  /** Whose other writer was not looked for yet. */
  readonly unattributed: readonly ObjectReference[];
  /** If nothing is written any more. */
  readonly endsInMs: number;
}

interface Spent {
  left: number;
  atMs: number;
  pausedAtMs: number | undefined;
  undone: Undone | undefined;
}

interface Undone extends Written {
  readonly writer?: string | undefined;
  readonly isAttributed?: boolean;
  readonly sinceMs: number;
}

/**
 * Another controller, or a webhook, may undo each write at once. It would be answered as fast as the API server allows, at the cost of all other
 * Canaries, and nobody would know.
 */
interface WritePace {
  /** A round wrote this. */
  wrote(key: string, written: Written): void;
  /** Who wrote what is undone last beside Holdfast; undefined: nobody is known. */
  attribute(key: string, writer: string | undefined): void;
  /** For so long nothing is done. */
  pauseMs(key: string): number;
  /** Undefined once the other writer has been gone for a while. */
  contention(key: string): Contention | undefined;
  delete(key: string): void;
}

/** Nothing was written yet. */
export function createWritePace(clock: Clock): WritePace {
  const known = new Map<string, Spent>();

  /** On a clock that was set back, what was written before counts no more. */
  function sinceMs(ms: number): number {
    const elapsedMs = clock.nowMs() - ms;
    return elapsedMs < 0 ? Number.POSITIVE_INFINITY : elapsedMs;
  }

  function of(key: string): Spent {
    const nowMs = clock.nowMs();
    const { left, atMs, pausedAtMs, undone } = known.get(key) ?? { left: burst, atMs: nowMs };
    const refilled = Math.min(burst, left + (sinceMs(atMs) * perSecond) / 1000);
    return { left: refilled, atMs: nowMs, pausedAtMs, undone: refilled >= calm ? undefined : undone };
  }

  return {
    wrote(key, written) {
      const spent = of(key);
      known.set(key, spent);
      spent.left -= 1;
      if (spent.left >= 1) return;
      spent.pausedAtMs = spent.atMs;
      spent.undone ??= { ...written, sinceMs: spent.atMs };
    },
    attribute(key, writer) {
      const spent = known.get(key);
      if (spent?.undone) spent.undone = { ...spent.undone, writer, isAttributed: true };
    },
    pauseMs(key) {
      const { pausedAtMs } = of(key);
      return pausedAtMs === undefined ? 0 : Math.max(0, pauseMs - sinceMs(pausedAtMs));
    },
    contention(key) {
      const { undone, left } = of(key);
      if (!undone) return undefined;
      const failure = { reason: 'ForeignChange', message: describeUndone(undone), transient: true };
      const unattributed = undone.isAttributed ? [] : undone.objects;
      return {
        failure,
        sinceMs: undone.sinceMs,
        unattributed,
        endsInMs: Math.ceil(((calm - left) * 1000) / perSecond),
      };
    },
    delete: (key) => void known.delete(key),
  };
}

function describeUndone({ what, objects, writer }: Undone): string {
  const names = objects.length > 0 ? ` to ${objects.map(describe).join(', ')}` : '';
  const who = writer === undefined ? '' : `; the last other writer of that is ${writer}`;
  return `another controller or a webhook undoes what Holdfast writes${names} (${what})${who}; Holdfast now writes every ${pauseMs / 1000} s. Stop the other writer: the managedFields of the object name it`;
}

/** Who undoes what is written, looked for once. */
export async function contentionOf(
  cluster: Pick<Cluster, 'get'>,
  pace: WritePace,
  key: string,
): Promise<Contention | undefined> {
  const { unattributed = [] } = pace.contention(key) ?? {};
  if (unattributed.length > 0) pace.attribute(key, await otherWriter(cluster, unattributed));
  return pace.contention(key);
}

/** The field manager beside ours that wrote one of these objects last. */
async function otherWriter(
  cluster: Pick<Cluster, 'get'>,
  objects: readonly ObjectReference[],
): Promise<string | undefined> {
  const found = await Promise.all(objects.map((one) => cluster.get(one).catch(() => undefined)));
  const entries = found.flatMap((live) => (live ? managedFieldsOf(live) : []));
  const others = entries.filter(
    (entry) => entry.manager !== undefined && !isOfHoldfast(entry) && !entry.subresource,
  );
  return newestOf(others)?.manager;
}
