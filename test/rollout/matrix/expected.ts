import type { EventName } from './events.ts';
import { CLUSTER } from './expected/cluster.ts';
import type { Column, Row } from './expected/columns.ts';
import { GIT } from './expected/git.ts';
import { PEOPLE } from './expected/people.ts';
import type { State, Update } from './states.ts';

/** The whole matrix: for each event, the states whose end it changes. */
export const EXPECTED: Readonly<Record<EventName, Row>> = { ...GIT, ...PEOPLE, ...CLUSTER };

/** How a cell is to end. Throws when the table does not say. */
export function expectedOf(state: State, event: EventName, update: Update): string {
  const found =
    outcomeIn(EXPECTED[event], state, update) ?? outcomeIn(EXPECTED['nothing happens'], state, update);
  if (found === undefined) throw new Error(`the table does not say how ${state} ends when ${event}`);
  return found;
}

/** The columns of all rows, for the check that none stands in a row twice. */
export function columnsOf(event: EventName): Column[] {
  return Object.values(EXPECTED[event].changes).flat();
}

function outcomeIn({ changes }: Row, state: State, update: Update): string | undefined {
  const variant = update === 'RollingUpdate' ? '(RollingUpdate)' : '(Recreate, DaemonSet)';
  const names: readonly string[] = [state, `${state} ${variant}`];
  return Object.entries(changes).find(([, columns]) => columns.some((column) => names.includes(column)))?.[0];
}
