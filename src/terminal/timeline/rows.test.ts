import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { screenOf } from '../output.ts';
import { createLivePage } from './live-screen.ts';
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

/** What a page of these lines is drawn with, on a terminal of 20 columns and 10 rows. */
function drawn(...lines: string[]): string {
  let text = '';
  const write = (part: string) => {
    text = part;
    return true;
  };
  createLivePage({ write, rows: 10, columns: 20 } as unknown as NodeJS.WriteStream).draw(lines);
  return text;
}

it('a page with lines longer than the terminal takes no more rows than there are, and says how many lines are left out', () => {
  const coloured = `\u001b[31m${'x'.repeat(30)}\u001b[0m`;

  const text = drawn(...Array(5).fill(coloured));

  const lines = stripVTControlCharacters(text).trimEnd().split('\n');
  expect(lines).toEqual([...Array(4).fill('x'.repeat(30)), '… 1 more line']);
});

it('a line that fills its row keeps its last character, which clearing the rest of the row would take', () => {
  expect(drawn('y'.repeat(20), 'z')).toContain(`${'y'.repeat(20)}\nz\u001b[K\n`);
});
