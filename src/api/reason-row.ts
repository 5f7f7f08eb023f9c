/** One row of the closed table of reasons: what a word in a condition, an event or the status line means. */
export interface ReasonRow {
  /** What happened. */
  meaning: string;
  /** Who answers requests meanwhile. */
  serves: string;
  /** What comes next by itself. */
  next: string;
  /** What a person can do. */
  act: string;
}

/** For rows that ask nothing of anybody. */
export const nothing = 'nothing to do';

/** One row: what happened, who serves, what comes next by itself, what a person can do. */
export function row(meaning: string, serves: string, next: string, act = nothing): ReasonRow {
  return { meaning, serves, next, act };
}
