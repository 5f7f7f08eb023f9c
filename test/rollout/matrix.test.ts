import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { events } from './matrix/events.ts';
import { columnsOf, expectedOf } from './matrix/expected.ts';
import { page } from './matrix/page.ts';
import { play } from './matrix/play.ts';
import { states, UPDATES, type Update } from './matrix/states.ts';

/** Recreate and DaemonSet take the same decisions: as many are played as there is time for. */
const runs = Number(process.env.HOLDFAST_PROPERTY_RUNS ?? 250);
const updates = UPDATES.slice(0, runs < 100 ? 1 : runs > 400 ? 3 : 2);

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

it('the table names no state twice in one row', () => {
  const twice = events.filter((event) => new Set(columnsOf(event)).size < columnsOf(event).length);
  expect(twice).toEqual([]);
});

it('docs/guides/state-by-event.md is this table (UPDATE_DOCS=1 writes it)', () => {
  const path = resolve(import.meta.dirname, '../../docs/guides/state-by-event.md');
  if (process.env.UPDATE_DOCS) writeFileSync(path, page());
  expect(readFileSync(path, 'utf8')).toBe(page());
});
