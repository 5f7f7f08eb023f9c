import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { fitted, formatTable, screenOf, widthOf, wrap } from '../output.ts';
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

const japanese = '初回リリースの配送料を修正🎉';

it('the live line of a commit in Japanese, whose letters take two columns, does not scroll with each drawing either', () => {
  const screen = screenOf({ isTTY: true, columns: 60 }, { NO_COLOR: '1' });
  const look = { screen, glyphs: glyphsFor({}), timeColumns: 8 };

  const line = liveLine(look, { elapsedMs: 0, time: '14:03:21', now: japanese.repeat(4) });

  expect(widthOf(line)).toBeLessThan(60);
});

it('tables, wrapped lines and pages count letters that take two columns, or none, as a terminal does', () => {
  const rows = [{ subject: japanese }, { subject: 'Sell mo\u0301re' }];
  const columns = [
    { title: 'SUBJECT', value: (row: { subject: string }) => row.subject, least: 8 },
    { title: 'STATE', value: () => 'Ready' },
  ];
  const table = formatTable(columns, rows, { columns: 24, colour: false }, false);

  expect(table.map((line) => widthOf(line.slice(0, line.search(/STATE|Ready/))))).toEqual([19, 19, 19]);
  expect(fitted(japanese, 8)).toBe('初回リ… ');
  expect(wrap('修正 修正 修正', 10, '')).toEqual(['修正 修正', '修正']);
  expect(drawn(...Array(12).fill('修正'.repeat(8)))).toContain('… 8 more lines');
});

it('what is cut says so with signs of ASCII where the locale has no others', () => {
  const screen = { columns: 20, colour: false, isAscii: true } as const;
  const columns = [{ title: 'MESSAGE', value: (row: { message: string }) => row.message, least: 8 }];
  const messages = ['cut by the server…', 'a message that is longer than the screen'];

  const table = formatTable(
    columns,
    messages.map((message) => ({ message })),
    screen,
    false,
  );

  expect(table).toEqual(['MESSAGE', 'cut by the server...', 'a message that is...']);
  expect(fitted('abcdef', 2, screen)).toBe('  ');
});
