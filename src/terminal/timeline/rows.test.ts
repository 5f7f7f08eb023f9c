import { expect, it } from 'vitest';
import { screenOf } from '../output.ts';
import { glyphsFor, liveLine } from './rows.ts';

it.each([100, 60, 30])(
  'the live line fits a terminal that is made %d columns wide, where it would scroll with each drawing',
  (columns) => {
    const terminal = { isTTY: true, columns: 120 };
    const look = { screen: screenOf(terminal, { NO_COLOR: '1' }), glyphs: glyphsFor({}), timeColumns: 8 };
    const now = 'Progressing; in 12.0 s: the next check, then the next step of the rollout of the shop';

    terminal.columns = columns;
    const line = liveLine(look, { elapsedMs: 0, time: '14:03:21', now });

    expect(line.length).toBeLessThan(columns);
  },
);
