import { withoutDirections } from '../api/limits.ts';
import { writeYaml } from '../render/yaml/values.ts';
import type { OutputBody, OutputKind } from './schemas/output-schemas.ts';

/** What a command has to say: text for standard output and standard error (both end with a line feed unless empty), and the exit code. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  /** As in src/cli/failure.ts. */
  readonly exitCode: 0 | 1 | 2 | 3 | 4;
}

/** The result of a command that did what it was asked for, with this on standard output. */
export function printed(stdout: string): CommandResult {
  return { stdout, stderr: '', exitCode: 0 };
}

// Output for programs: -o json, and -o yaml where a command has it. docs/output.md lists its kinds.

/** Formats for programs. */
export type DataFormat = 'json' | 'yaml';

/** A value as indented JSON or as YAML; ends with a line feed. */
export function formatData(value: unknown, format: DataFormat): string {
  return format === 'json' ? `${JSON.stringify(value, undefined, 2)}\n` : writeYaml(value);
}

/**
 * Kinds whose version is not v1. Within a version fields are added, and never renamed, taken away, made optional or given another type; words are
 * added to lists of words. What is not so gets the next version.
 */
const laterVersions: { readonly [Kind in OutputKind]?: string } = {};

/** What a release under way changes against the last known good one; `diff`, `explain` and `status` show it. */
export type ReleaseChanges = NonNullable<OutputBody<'CanaryDifference'>['underWay']>;

/** What a command has to say as one document for programs; ends with a line feed. */
export function formatOutput<Kind extends OutputKind>(
  kind: Kind,
  body: OutputBody<Kind>,
  format: DataFormat,
): string {
  return formatData({ ...headOf(kind), ...body }, format);
}

/** The same as JSON in one line, for commands that print one after the other. */
export function formatOutputLine<Kind extends OutputKind>(kind: Kind, body: OutputBody<Kind>): string {
  return `${JSON.stringify({ ...headOf(kind), ...body })}\n`;
}

/** What every document of a kind begins with. */
export function headOf(kind: OutputKind): { readonly apiVersion: string; readonly kind: OutputKind } {
  return { apiVersion: `holdfast.dev/${versionOf(kind)}`, kind };
}

/** The version of a kind, as `v1`. */
export function versionOf(kind: OutputKind): string {
  return laterVersions[kind] ?? 'v1';
}

/** Objects as one YAML stream for `kubectl apply -f -`, or as one JSON `List`. */
export function formatObjects(objects: readonly object[], format: DataFormat): string {
  if (format === 'json') return formatData({ apiVersion: 'v1', kind: 'List', items: objects }, 'json');
  return objects.map((object) => `---\n${writeYaml(object)}`).join('');
}

// Text for people.

/** How a terminal wants its text. */
export interface Screen {
  /** Columns, to which texts are cut or wrapped; Infinity: neither. */
  readonly columns: number;
  readonly colour: boolean;
  /** Only the signs of ASCII are drawn; default: others too. */
  readonly isAscii?: boolean | undefined;
}

/** The screen behind a stream: nothing is cut or coloured unless it is a terminal, so that a pipe gets all of it; NO_COLOR (any value but the empty one) wins. */
export function screenOf(
  stream: { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined },
  env: Readonly<Record<string, string | undefined>>,
): Screen {
  const terminal = stream.isTTY === true;
  const plain = Boolean(env.NO_COLOR) || env.TERM === 'dumb';
  return {
    // Read anew each time: a terminal may be made narrower.
    get columns() {
      return terminal ? Math.max(20, stream.columns || 80) : Number.POSITIVE_INFINITY;
    },
    colour: terminal && !plain,
    isAscii: !showsUnicode(env),
  };
}

/** False where the locale says that the terminal cannot show more than ASCII. */
export function showsUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  return /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || 'UTF-8');
}

/** Meanings that have a colour. */
export type Tone = 'good' | 'bad' | 'busy' | 'quiet' | 'strong' | 'none';

const codes: Readonly<Record<Exclude<Tone, 'none'>, number>> = {
  good: 32,
  bad: 31,
  busy: 33,
  quiet: 2,
  strong: 1,
};

/** Text in the colour of its meaning; unchanged on a screen without colours. */
export function paint(screen: Screen, tone: Tone, text: string): string {
  if (!screen.colour || tone === 'none' || text === '') return text;
  return `\u001b[${codes[tone]}m${text}\u001b[0m`;
}

/** Text without what could move the cursor or forge lines: names and messages come from outside. */
export function printable(text: string): string {
  return withoutDirections(text.replace(/\p{Cc}+/gu, ' '));
}

/** The same of a text of several lines, which it keeps. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** East Asian letters, and emoji. */
const twoColumns =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
/** Accents of the letter before, and signs that only join or direct. */
const noColumn = /[\p{Mn}\p{Me}\p{Cf}]/u;

/** The columns that a text without control characters takes on a terminal. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  return [...text].reduce((width, letter) => width + lettersWidth(letter), 0);
}

function lettersWidth(letter: string): number {
  return noColumn.test(letter) ? 0 : twoColumns.test(letter) ? 2 : 1;
}

const ellipsis = '…';

/** Text as the screen can show it: of the signs beyond ASCII that messages of Holdfast have, the ellipsis. */
export function onScreen({ isAscii }: Pick<Screen, 'isAscii'>, text: string): string {
  return isAscii ? text.replaceAll(ellipsis, '...') : text;
}

/** Text in exactly these columns, with an ellipsis where something was left out. */
export function fitted(text: string, columns: number, screen: Pick<Screen, 'isAscii'> = {}): string {
  const cut = onScreen(screen, ellipsis);
  let shown = text;
  if (widthOf(text) > columns) {
    let left = columns - cut.length;
    const letters = [...text];
    const end = letters.findIndex((letter) => {
      left -= lettersWidth(letter);
      return left < 0;
    });
    shown = columns >= cut.length ? `${letters.slice(0, end).join('').trimEnd()}${cut}` : '';
  }
  return shown + ' '.repeat(Math.max(0, columns - widthOf(shown)));
}

/** Words wrapped to a width, each line behind the indent; words longer than the line stay whole. */
export function wrap(text: string, width: number, indent: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of printable(text).split(' ').filter(Boolean)) {
    if (line && indent.length + widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(indent + line);
      line = word;
    } else line = line ? `${line} ${word}` : word;
  }
  return line ? [...lines, indent + line] : lines;
}

/** Lines under a heading, an empty line before it; nothing without lines. */
export function section(screen: Screen, heading: string, lines: readonly string[]): string[] {
  return lines.length > 0 ? ['', paint(screen, 'strong', heading), ...lines] : [];
}

/** Orders texts by code unit, the same on every machine. */
export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** `1 rollout`, `2 rollouts`, `0 rollouts`; `2 Canaries` with a plural of its own. */
export function counted(count: number, word: string, plural = `${word}s`): string {
  return `${count} ${count === 1 ? word : plural}`;
}

const units: ReadonlyArray<readonly [letter: string, seconds: number]> = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
];

/** A span of time in at most two units, as `3h12m` or `45s`. Negative ones count as none. */
export function formatSpan(ms: number): string {
  let seconds = Math.max(0, Math.round(ms / 1000));
  const parts: string[] = [];
  for (const [letter, size] of units) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    if (count > 0) parts.push(`${count}${letter}`);
    // After the first unit one more is enough, and a zero there ends it.
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break;
  }
  return parts.join('') || '0s';
}

/** `3h12m ago`, `now` or `in 45s`; empty for a time that cannot be read. */
export function formatAge(time: string | undefined, nowMs: number): string {
  const ms = Date.parse(time ?? '');
  if (Number.isNaN(ms)) return '';
  // Half a second and less is how far clocks differ.
  if (Math.abs(ms - nowMs) < 500) return 'now';
  return ms > nowMs ? `in ${formatSpan(ms - nowMs)}` : `${formatSpan(nowMs - ms)} ago`;
}

/** One column of a table. */
export interface TableColumn<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly tone?: (row: Row) => Tone;
  /** May be cut, down to this many characters, when the table is wider than the screen. Absent: never cut. */
  readonly least?: number;
}

const gap = '  ';

/** Rows under their titles. Columns that may be cut are cut, the widest first, until the table fits; `wide` cuts nothing. */
export function formatTable<Row>(
  columns: ReadonlyArray<TableColumn<Row>>,
  rows: readonly Row[],
  screen: Screen,
  wide: boolean,
): string[] {
  const cells = rows.map((row) => columns.map((column) => onScreen(screen, printable(column.value(row)))));
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((row) => widthOf(row[index] ?? ''))),
  );
  if (!wide) shrink(columns, widths, screen.columns);
  const titles = columns.map(({ title }, index) => fitted(title, widths[index] ?? 0, screen));
  return [
    paint(screen, 'quiet', titles.join(gap).trimEnd()),
    ...rows.map((row, line) => {
      const parts = columns.map(({ tone }, index) => {
        const text = fitted(cells[line]?.[index] ?? '', widths[index] ?? 0, screen);
        return paint(screen, tone?.(row) ?? 'none', text);
      });
      return parts.join(gap).trimEnd();
    }),
  ];
}

function shrink<Row>(columns: ReadonlyArray<TableColumn<Row>>, widths: number[], most: number): void {
  const total = () => widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1);
  while (total() > most) {
    let widest = -1;
    columns.forEach(({ least }, index) => {
      const width = widths[index] ?? 0;
      if (least !== undefined && width > least && width > (widths[widest] ?? 0)) widest = index;
    });
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 1) - 1;
  }
}
