import { describe, expect, it } from 'vitest';
import { events } from './matrix/events.ts';
import { expectedOf } from './matrix/expected.ts';
import { play } from './matrix/play.ts';
import { states, UPDATES, type Update } from './matrix/states.ts';

/** DaemonSet takes the same decisions as Recreate: it is played where there is time. */
const runs = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 250);
const updates = UPDATES.slice(0, runs > 400 ? 3 : 2);

function cellsOf(event: (typeof events)[number], update: Update) {
  return states.map((state) => ({ state, ...play(state, event, update) }));
}

describe.each(updates)('every event in every state (%s)', (update) => {
  it.each(events)('%s', (event) => {
    const cells = cellsOf(event, update);
    expect(cells.map(({ state, outcome }) => `${state}: ${outcome}`)).toEqual(
      states.map((state) => `${state}: ${expectedOf(state, event, update)}`),
    );
    const wrong = cells.flatMap(({ state, broken, outages, reverts }) => [
      ...broken.map((detail) => `${state}: ${detail}`),
      ...outages.map((detail) => `${state}: a request failed: ${detail}`),
      ...reverts
        .filter((digest, index) => reverts.indexOf(digest) < index)
        .map((digest) => `${state}: ${digest} again`),
    ]);
    expect(wrong).toEqual([]);
  });
});
