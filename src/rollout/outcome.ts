import type { CanaryStatus } from '../api/canary/status.ts';
import type { RolloutReason } from '../api/reasons.ts';
import type { Action, CheckRequest, RolloutEvent } from './action.ts';
import type { Side } from './run.ts';
import type { State } from './state.ts';

/** What is going on, for the status line; `stalled`: a person must act. */
export interface Note {
  readonly reason: RolloutReason;
  readonly message: string;
  readonly stalled?: boolean;
  /** What comes next by itself, where the state alone does not tell. */
  readonly next?: Next | undefined;
}

/** What comes next by itself, and when, if that is known. */
export interface Next {
  readonly action: string;
  readonly timeMs?: number;
}

/** A digest that is barred from now on. */
export interface NewRejection {
  readonly digest: string;
  readonly commit: string;
  readonly reason: RolloutReason;
  readonly cause?: string | undefined;
}

/** Things to do and to say, without a state: what parts of a decision give, to be put together. */
export interface Effects {
  readonly actions?: readonly Action[];
  readonly events?: readonly RolloutEvent[];
  readonly note?: Note | undefined;
  readonly check?: CheckRequest | undefined;
  /** Milliseconds after which to look again; 0 and less are no wish. */
  readonly wakesMs?: readonly number[];
  /** Fields of the status that are no part of the state. */
  readonly status?: Partial<CanaryStatus>;
  /** Digests barred from now on: in the status first, and then in their Secret. */
  readonly rejects?: readonly NewRejection[];
  /** Digests whose rejection is lifted. */
  readonly unrejects?: readonly string[];
}

/**
 * What a state gives back. `next` of another kind is entered and handled in the same step; then nothing but words, stamps and rejections may come
 * with it, so that no state acts for another one.
 */
export interface Outcome extends Effects {
  readonly next: State;
  /** Who should serve, where it is not what the row of the state says. */
  readonly prefers?: Preference;
}

/** Stays in its kind of state, with its bookkeeping as given. */
export function stay(next: State, ...effects: readonly Effects[]): Outcome {
  return { next, ...combine(...effects) };
}

/** Enters another state. */
export function enter(next: State, effects: Omit<Effects, 'actions' | 'check'> = {}): Outcome {
  return { next, ...effects };
}

/** Puts effects together, in this order; of notes, checks and status fields the last one counts. */
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

/** An action to do. */
export function act(...actions: readonly Action[]): Effects {
  return { actions };
}

/** An event, reported once; only on a change. */
export function say(type: RolloutEvent['type'], reason: RolloutReason, message: string): Effects {
  return { events: [{ type, reason, message }] };
}

/** The status line. */
export function note(reason: RolloutReason, message: string, next?: Next): Effects {
  return { note: next ? { reason, message, next } : { reason, message } };
}

/** As note, for what only a person can change. */
export function stall(reason: RolloutReason, message: string): Effects {
  return { note: { reason, message, stalled: true } };
}

/** Looks again after this time at the latest. */
export function wake(...wakesMs: readonly number[]): Effects {
  return { wakesMs };
}

/** Who should serve. */
export type Preference =
  /**
   * All traffic to this side. `leaves`: the other side is bad, and loses what this one carries; `overdue`: it had its time, and loses
   * everything to whoever answers here.
   */
  | {
      readonly kind: 'all';
      readonly side: Side;
      readonly evacuate?: boolean;
      readonly overdue?: boolean;
      /** At rest: written again where it is there, since what the Canary says of the route may have changed. */
      readonly reapply?: boolean;
    }
  /** This share of the side under trial; `mirrored`: requests are also copied to it. */
  | { readonly kind: 'share'; readonly side: Side; readonly percent: number; readonly mirrored?: boolean }
  /** As it is, as long as whoever serves is ready. */
  | { readonly kind: 'stay' }
  /** Nobody looks: what is done moves traffic by itself, or there is none yet. */
  | { readonly kind: 'none' };

/** All traffic to one side. */
export const ALL: Readonly<Record<Side, Preference>> = {
  primary: { kind: 'all', side: 'primary' },
  canary: { kind: 'all', side: 'canary' },
};

/** As it is. */
export const STAY: Preference = { kind: 'stay' };

/** Nobody looks. */
export const NONE: Preference = { kind: 'none' };
