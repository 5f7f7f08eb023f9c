import type { CanaryStatus } from '../api/canary/status.ts';
import type { RolloutReason } from '../api/reasons.ts';
import type { Action, CheckRequest, RolloutEvent } from './action.ts';
import type { Side } from './run.ts';
import type { State } from './state.ts';

/** The status line; `stalled`: a person must act. */
export interface Note {
  readonly reason: RolloutReason;
  readonly message: string;
  readonly stalled?: boolean;
  /** What happens next automatically, if it is not what the row of the state says. */
  readonly next?: Next | undefined;
}

/** What happens next automatically, and when, if that is known. */
export interface Next {
  readonly action: string;
  readonly timeMs?: number;
}

/** A digest that is rejected from now on. */
export interface NewRejection {
  readonly digest: string;
  readonly commit: string;
  readonly reason: RolloutReason;
  readonly cause?: string | undefined;
}

/** A part of a decision, without the state; `combine` puts parts together. */
export interface Effects {
  readonly actions?: readonly Action[];
  readonly events?: readonly RolloutEvent[];
  readonly note?: Note | undefined;
  readonly check?: CheckRequest | undefined;
  /** Milliseconds after which to step again; 0 and less do not count. */
  readonly wakesMs?: readonly number[];
  /** Fields of the status that are not part of the state. */
  readonly status?: Partial<CanaryStatus>;
  /** Digests rejected from now on: in the status first, and then in their Secret. */
  readonly rejects?: readonly NewRejection[];
  /** Digests whose rejection is lifted. */
  readonly unrejects?: readonly string[];
}

/**
 * What a state's handler returns. `next` of another kind is handled in the same step; such an outcome has no actions, so that no state acts
 * for another one.
 */
export interface Outcome extends Effects {
  readonly next: State;
  /** Which side should serve, if it is not what the row of the state says. */
  readonly prefers?: Preference;
}

/** Stays in the same kind of state. */
export function stay(next: State, ...effects: readonly Effects[]): Outcome {
  return { next, ...combine(...effects) };
}

/** Enters another state. */
export function enter(next: State, effects: Omit<Effects, 'actions' | 'check'> = {}): Outcome {
  return { next, ...effects };
}

/** Puts effects together in this order; of notes, checks and each status field the last one counts. */
export function combine(...all: readonly Effects[]): Effects {
  const note = all.findLast((effects) => effects.note)?.note;
  const check = all.findLast((effects) => effects.check)?.check;
  return {
    actions: all.flatMap((effects) => effects.actions ?? []),
    events: all.flatMap((effects) => effects.events ?? []),
    wakesMs: all.flatMap((effects) => effects.wakesMs ?? []),
    rejects: all.flatMap((effects) => effects.rejects ?? []),
    unrejects: all.flatMap((effects) => effects.unrejects ?? []),
    status: Object.assign({}, ...all.map(({ status }) => status)),
    ...(note ? { note } : {}),
    ...(check ? { check } : {}),
  };
}

/** Actions. */
export function act(...actions: readonly Action[]): Effects {
  return { actions };
}

/** An event; reported once, on a change. */
export function emit(type: RolloutEvent['type'], reason: RolloutReason, message: string): Effects {
  return { events: [{ type, reason, message }] };
}

/** The status line. */
export function note(reason: RolloutReason, message: string, next?: Next): Effects {
  return { note: next ? { reason, message, next } : { reason, message } };
}

/** As note, if only a person can change it. */
export function stall(reason: RolloutReason, message: string): Effects {
  return { note: { reason, message, stalled: true } };
}

/** Steps again after the shortest of these times at the latest. */
export function wake(...wakesMs: readonly number[]): Effects {
  return { wakesMs };
}

/** Which side should serve. */
export type Preference =
  /**
   * All traffic to this side. `evacuate`: the other side failed, and loses at once what this one can carry; `overdue`: its deadline has
   * passed, and it loses everything if this side has a ready pod.
   */
  | {
      readonly kind: 'all';
      readonly side: Side;
      readonly evacuate?: boolean;
      readonly overdue?: boolean;
      /** At rest: the route is written again even if it is reached, since the Canary's settings of it may have changed. */
      readonly reapply?: boolean;
    }
  /** This share of the side under trial; `mirrored`: requests are also copied to it. */
  | { readonly kind: 'share'; readonly side: Side; readonly percent: number; readonly mirrored?: boolean }
  /** Unchanged, as long as the serving side is ready. */
  | { readonly kind: 'stay' }
  /** The allocator does nothing: the state's actions move the traffic, or there is none yet. */
  | { readonly kind: 'none' };

/** All traffic to one side. */
export const ALL: Readonly<Record<Side, Preference>> = {
  primary: { kind: 'all', side: 'primary' },
  canary: { kind: 'all', side: 'canary' },
};

/** Unchanged. */
export const STAY: Preference = { kind: 'stay' };

/** The allocator does nothing. */
export const NONE: Preference = { kind: 'none' };
