/** Steps of a move from another tool to Holdfast, or back, and where it stands. Pure. */
import type { FileChange } from './edit.ts';

/** Something that a step depends on, or ends with, as it was read back from the cluster. */
export interface Finding {
  readonly what: string;
  /** Undefined: it was not read. */
  readonly holds: boolean | undefined;
  /** What was found instead, for people. */
  readonly found?: string | undefined;
}

/** One step: at most one commit, and the commands that Git cannot stand in for. */
export interface Step {
  readonly title: string;
  /** What must be true before; one that was not read back as true stops the move. */
  readonly requires: readonly Finding[];
  /** What is true after it. */
  readonly ends: readonly Finding[];
  /** What the commit changes in the tree; none: the tree says so already. */
  readonly changes: readonly FileChange[];
  /** Shell commands for a person. */
  readonly commands: readonly string[];
  /** Shell commands that show whether it has ended. */
  readonly verify: readonly string[];
}

/**
 * `done`: read back. `next`: to be done now. `waits`: everything was done, the cluster does not show it yet. `refused`: something must be true first.
 * `later`: after the one before. `unread`: no cluster was asked.
 */
export type StepState = 'done' | 'next' | 'waits' | 'refused' | 'later' | 'unread';

/** A step and where it stands. */
export interface PlacedStep extends Step {
  readonly state: StepState;
}

/** One Kustomization, Application or Source on its way. */
export interface Move {
  /** `Kustomization flux-system/apps`. */
  readonly name: string;
  /** Why it cannot be moved; steps are empty then. */
  readonly stops: readonly string[];
  /** What is otherwise afterwards, or could not be compared. */
  readonly notes: readonly string[];
  readonly steps: readonly PlacedStep[];
}

/** Where each step stands: the first that has not ended is the one to look at. */
export function placed(steps: readonly Step[]): PlacedStep[] {
  const current = steps.findIndex(({ ends }) => !ends.every(({ holds }) => holds === true));
  const isUnread = steps.every(({ ends }) => ends.every(({ holds }) => holds === undefined));
  return steps.map((step, index) => ({
    ...step,
    state: isUnread ? 'unread' : stateOf(step, index, current),
  }));
}

function stateOf({ ends, requires, changes, commands }: Step, index: number, current: number): StepState {
  if (ends.every(({ holds }) => holds === true)) return 'done';
  if (index !== current) return 'later';
  if (requires.some(({ holds }) => holds !== true)) return 'refused';
  return changes.length + commands.length > 0 ? 'next' : 'waits';
}

/** 0: everything is moved; 1: something is refused; 3: there is a step to do, or one whose effect is not seen yet. */
export function exitCodeOf(moves: readonly Move[]): 0 | 1 | 3 {
  const states = moves.flatMap(({ steps }) => steps.map(({ state }) => state));
  if (moves.some(({ stops }) => stops.length > 0) || states.includes('refused')) return 1;
  return states.every((state) => state === 'done') ? 0 : 3;
}
