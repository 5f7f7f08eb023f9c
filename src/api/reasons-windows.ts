import { type ReasonRow, row } from './reason-row.ts';

/** Reasons of the windows of a Source. */
export const windowReasons = {
  WaitingForWindow: row(
    'a window of the Source keeps the release from starting',
    'primary',
    'starts at the next opening, which status.next names',
    'wait, ask ignore-window, or revert it in Git',
  ),
  WindowOpened: row('the window opened, or a person let the release through', 'primary', 'the rollout'),
} as const satisfies Record<string, ReasonRow>;
