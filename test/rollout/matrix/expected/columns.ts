import type { State, Update } from '../states.ts';

/** A column, or what it is for one way of replacing pods. Recreate and DaemonSet are alike: the primary is cleared before it is written. */
export type Column =
  | State
  | `${State} (${Extract<Update, 'RollingUpdate'>})`
  | `${State} (Recreate, DaemonSet)`;

/** One row: what the event means, and the columns whose end it changes. In all others it ends as if nothing had happened. */
export interface Row {
  says: string;
  /** By outcome: `phase | who serves | what the primary is written with after the event | what is rejected at the end`. */
  changes: Readonly<Record<string, readonly Column[]>>;
}

/** A release is on its canary, and everything is still open. */
export const ANALYSED = [
  'Progressing, no traffic yet',
  'Progressing by weights',
  'Progressing by A/B',
  'Progressing by blue/green',
  'Progressing, provider kubernetes',
] as const satisfies readonly State[];

/** The primary was written with a release that is good so far. */
export const PROMOTED = [
  'Promoting, the primary comes up',
  'Promoting with skipAnalysis',
  'Promoting, traffic goes back by steps',
  'Finalising: Verifying',
] as const satisfies readonly State[];

/** Held with the primary written. */
export const HELD = [
  'Held',
  'Held, onFailure hold',
  'Held, checks failed',
  'Held, checks unavailable',
] as const satisfies readonly State[];

/** `new` was rejected, and the last-known-good is on the primary and can serve. */
export const TAKEN_BACK = [
  'Failed, traffic on its way back',
  'Reverting, the canary serves',
  'Reverting after failed checks',
  'Failed, reverted',
] as const satisfies readonly State[];

/** `new` proved itself. */
export const PROVEN = [
  'Finalising: good, the canary still there',
  'Succeeded',
] as const satisfies readonly State[];
