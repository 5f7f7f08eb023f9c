/** How often an action may write for a Canary; its status is not counted. */
import type { Clock } from '../../api/clock.ts';
import { describe, type ObjectReference } from '../../api/kubernetes.ts';
import { soonest } from '../../api/time.ts';
import type { Cluster } from '../../contracts/cluster.ts';
import type { Action } from '../../rollout/outcome.ts';
import { type Failure, joinFailures } from '../failure.ts';
import { otherWriter } from './perform/put-back.ts';

/** Writes of one type of action, at once and then each second. A release with intervals of one second moves its traffic once a second. */
const burst = 120;
const perSecond = 1;
/** Writes are gathered for so long rather than spread: a round alone may not be enough to come to rest. */
const pauseMs = 5_000;
/** So many may be written at once again before the other writer counts as gone; more than a pause brings. */
const calm = 15;

type ActionType = Action['type'];

/** What an action wrote: in a few words, and the objects that it changed. */
export interface Written {
  readonly type: ActionType;
  readonly what: string;
  readonly objects: readonly ObjectReference[];
}

/** Another writer undoes what is written. */
export interface Contention {
  readonly failure: Failure;
  /** By the clock of the pace. */
  readonly sinceMs: number;
  /** Whose other writer was not looked for yet. */
  readonly unattributed: readonly Written[];
  /** If nothing is written any more. */
  readonly endsInMs: number;
}

interface Undone extends Written {
  readonly writer?: string | undefined;
  readonly isAttributed?: boolean;
  readonly sinceMs: number;
}

/** Actions that are left out for now. */
export interface Pause {
  readonly types: ReadonlySet<ActionType>;
  /** Until the first of them may be tried again; undefined: none is left out. */
  readonly endsInMs: number | undefined;
}

interface Spent {
  left: number;
  atMs: number;
  pausedAtMs: number | undefined;
  undone: Undone | undefined;
}

/**
 * Another controller, or a webhook, may undo each write at once. It would be answered as fast as the API server allows, at the cost of all other
 * Canaries, and nobody would know. Only what is undone waits: a fight over a Service holds up no revert.
 */
interface WritePace {
  /** A round wrote this. */
  wrote(key: string, written: readonly Written[]): void;
  /** Who wrote what is undone last beside Holdfast; undefined: nobody is known. */
  attribute(key: string, type: ActionType, writer: string | undefined): void;
  pause(key: string): Pause;
  /** Undefined once the other writer has been gone for a while. */
  contention(key: string): Contention | undefined;
  delete(key: string): void;
}

/** Nothing was written yet. */
export function createWritePace(clock: Clock): WritePace {
  const known = new Map<string, Map<ActionType, Spent>>();

  /** On a clock that was set back, what was written before counts no more. */
  function sinceMs(ms: number): number {
    const elapsedMs = clock.nowMs() - ms;
    return elapsedMs < 0 ? Number.POSITIVE_INFINITY : elapsedMs;
  }

  function of(key: string, type: ActionType): Spent {
    const nowMs = clock.nowMs();
    const before = known.get(key)?.get(type);
    const { left, atMs, pausedAtMs, undone } = before ?? { left: burst, atMs: nowMs };
    const refilled = Math.min(burst, left + (sinceMs(atMs) * perSecond) / 1000);
    return { left: refilled, atMs: nowMs, pausedAtMs, undone: refilled >= calm ? undefined : undone };
  }

  const typesOf = (key: string) => [...(known.get(key)?.keys() ?? [])];

  return {
    wrote(key, written) {
      const ofKey = known.get(key) ?? new Map<ActionType, Spent>();
      for (const one of written) {
        const spent = of(key, one.type);
        known.set(key, ofKey.set(one.type, spent));
        spent.left -= 1;
        if (spent.left >= 1) continue;
        spent.pausedAtMs = spent.atMs;
        spent.undone ??= { ...one, sinceMs: spent.atMs };
      }
    },
    attribute(key, type, writer) {
      const spent = known.get(key)?.get(type);
      if (spent?.undone) spent.undone = { ...spent.undone, writer, isAttributed: true };
    },
    pause(key) {
      const left = typesOf(key).map((type) => {
        const { pausedAtMs } = of(key, type);
        return { type, endsInMs: pausedAtMs === undefined ? 0 : pauseMs - sinceMs(pausedAtMs) };
      });
      const paused = left.filter(({ endsInMs }) => endsInMs > 0);
      return {
        types: new Set(paused.map(({ type }) => type)),
        endsInMs: soonest(...paused.map(({ endsInMs }) => endsInMs)),
      };
    },
    contention(key) {
      const contested = typesOf(key).flatMap((type) => {
        const { undone, left } = of(key, type);
        return undone ? [{ undone, left }] : [];
      });
      const undone = contested.map((one) => one.undone);
      const failure = joinFailures(undone.map(foreignChange));
      return (
        failure && {
          failure,
          sinceMs: Math.min(...undone.map((one) => one.sinceMs)),
          unattributed: undone.filter(({ isAttributed }) => !isAttributed),
          endsInMs: Math.min(...contested.map(({ left }) => Math.ceil(((calm - left) * 1000) / perSecond))),
        }
      );
    },
    delete: (key) => void known.delete(key),
  };
}

function foreignChange({ what, objects, writer }: Undone): Failure {
  const names = objects.length > 0 ? ` to ${objects.map(describe).join(', ')}` : '';
  const who = writer === undefined ? '' : `; the last other writer of that is ${writer}`;
  const message = `another controller or a webhook undoes what Holdfast writes${names} (${what})${who}; Holdfast now writes it every ${pauseMs / 1000} s. Stop the other writer: the managedFields of the object name it`;
  return { reason: 'ForeignChange', message, transient: true };
}

/** Who undoes what is written, looked for once. */
export async function contentionOf(
  cluster: Pick<Cluster, 'get'>,
  pace: WritePace,
  key: string,
): Promise<Contention | undefined> {
  for (const { type, objects } of pace.contention(key)?.unattributed ?? [])
    pace.attribute(key, type, await otherWriter(cluster, objects));
  return pace.contention(key);
}
