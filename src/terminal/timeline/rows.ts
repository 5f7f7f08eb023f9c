import type { CheckResult } from '../../api/canary/status.ts';
import {
  fitted,
  onScreen,
  paint,
  printable,
  type Screen,
  showsUnicode,
  type Tone,
  widthOf,
  wrap,
} from '../output.ts';
import type { ServingName } from './news.ts';

/** How rows look. */
export interface TextStyle {
  readonly screen: Screen;
  readonly glyphs: Glyphs;
  /** Width of the column of times. */
  readonly timeColumns: number;
}

/** The widest a line gets, also on wide terminals: long lines are hard to read. */
const widest = 80;

const labelWidth = 12;
const barCells = 20;

/** One event: a gutter, the time, a label and text; further lines stand under the text. `lines` are not wrapped again. */
export function row(
  look: TextStyle,
  entry: { time: string; label: string; tone: Tone; lines: readonly string[] },
): string[] {
  const { screen, glyphs, timeColumns } = look;
  const gutter = paint(screen, 'quiet', glyphs.line);
  const time = paint(screen, 'quiet', entry.time.padStart(timeColumns));
  const label = paint(screen, entry.tone, entry.label.padEnd(labelWidth));
  const [first = '', ...rest] = entry.lines;
  const indent = ' '.repeat(timeColumns + 2 + labelWidth + 2);
  return [`${gutter}${time}  ${label}  ${first}`, ...rest.map((line) => `${gutter}${indent}${line}`)];
}

/** Text wrapped to the columns that time and label leave. */
export function wrapAfterLabel(look: TextStyle, text: string): string[] {
  return wrap(text, textWidth(look), '');
}

/** The headline of a release: its title and short SHA, and a remark below. */
export function headline(
  look: TextStyle,
  { title: text, commit, remark }: { title: string; commit: string; remark?: string },
): string[] {
  const { screen, glyphs } = look;
  const title = printable(text);
  const sha = commit.slice(0, 7);
  const gap = Math.max(2, lineWidth(screen) - 3 - widthOf(title) - sha.length);
  return [
    `${paint(screen, 'strong', `${glyphs.commit}  ${title}`)}${' '.repeat(gap)}${paint(screen, 'quiet', sha)}`,
    ...(remark ? [`${paint(screen, 'quiet', glyphs.line)}  ${paint(screen, 'quiet', remark)}`] : []),
  ];
}

/** Shares of the traffic as a bar, then who answers by name. */
export function trafficLine(
  { screen, glyphs }: TextStyle,
  canaryWeight: number,
  serving: readonly ServingName[],
  releaseOf: (commit: string) => string,
): string {
  const canaryCells = Math.round((canaryWeight * barCells) / 100);
  const bar =
    paint(screen, 'good', glyphs.primary.repeat(barCells - canaryCells)) +
    paint(screen, 'busy', glyphs.canary.repeat(canaryCells));
  const byRole = [...serving].sort((left, right) => right.role.localeCompare(left.role));
  const names = byRole.map(({ role, commit, weight }) => `${role} ${releaseOf(commit)} ${weight} %`);
  return `${bar}  ${names.join(', ')}`;
}

/** Checks with value and bound, as many on a line as fit. */
export function checkLines(look: TextStyle, results: readonly CheckResult[]): string[] {
  const width = textWidth(look);
  const lines: Array<{ text: string; length: number }> = [];
  for (const result of results) {
    const plain = checkText(look.glyphs, result);
    const tone = result.verdict === 'pass' ? 'good' : result.verdict === 'fail' ? 'bad' : 'busy';
    const painted = paint(look.screen, tone, plain.slice(0, 1)) + plain.slice(1);
    const last = lines.at(-1);
    const length = widthOf(plain);
    if (last && last.length + 3 + length <= width) {
      last.text += `   ${painted}`;
      last.length += 3 + length;
    } else lines.push({ text: painted, length });
  }
  return lines.map(({ text }) => text);
}

function checkText(glyphs: Glyphs, { name, value, min, max, verdict, detail }: CheckResult): string {
  const sign = { pass: glyphs.pass, fail: glyphs.fail, inconclusive: glyphs.unknown }[verdict];
  if (value === undefined) return printable(`${sign} ${name}: ${detail ?? 'no value'}`);
  const bounds = [
    min === undefined ? '' : ` ${glyphs.atLeast} ${min}`,
    max === undefined ? '' : ` ${glyphs.atMost} ${max}`,
  ].join('');
  return printable(`${sign} ${name} ${Number(value.toPrecision(4))}${bounds}`);
}

/** Milliseconds as seconds, for the column of times. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)}s`;
}

/** Milliseconds as seconds, for sentences. */
export function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Columns that are used. */
export function lineWidth(screen: Screen): number {
  return Math.min(screen.columns, widest);
}

function textWidth({ screen, timeColumns }: TextStyle): number {
  return lineWidth(screen) - 1 - timeColumns - 2 - labelWidth - 2;
}

/** Spinner, time and what is going on, with `right` at the end of the line. `elapsedMs` turns the spinner. */
export function liveLine(
  look: TextStyle,
  line: { elapsedMs: number; time: string; now: string; right?: string; rightTone?: Tone },
): string {
  const { screen, glyphs, timeColumns } = look;
  const { elapsedMs, time, now, right = '', rightTone = 'none' } = line;
  const spinner = glyphs.spinner[Math.floor(elapsedMs / 100) % glyphs.spinner.length] ?? '';
  // One column stays free: a full line would wrap on some terminals.
  const width = Math.min(lineWidth(screen), screen.columns) - 1;
  const left = `${spinner}${time.padStart(timeColumns)}  `;
  const room = Math.max(0, width - left.length - widthOf(right) - 2);
  const middle = fitted(onScreen(screen, printable(now)), room, screen);
  return `${paint(screen, 'quiet', left)}${middle}  ${paint(screen, rightTone, right)}`;
}

/** Signs of the timeline. */
interface Glyphs {
  readonly commit: string;
  readonly line: string;
  readonly end: string;
  readonly primary: string;
  readonly canary: string;
  readonly pass: string;
  readonly fail: string;
  readonly unknown: string;
  readonly atLeast: string;
  readonly atMost: string;
  readonly spinner: readonly string[];
}

const unicode: Glyphs = {
  commit: '●',
  line: '│',
  end: '└',
  primary: '█',
  canary: '▒',
  pass: '✓',
  fail: '✗',
  unknown: '?',
  atLeast: '≥',
  atMost: '≤',
  spinner: [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'],
};

const ascii: Glyphs = {
  commit: '*',
  line: '|',
  end: '`',
  primary: '#',
  canary: '-',
  pass: '+',
  fail: 'x',
  unknown: '?',
  atLeast: '>=',
  atMost: '<=',
  spinner: [...'|/-\\'],
};

/** Unicode signs, unless the locale says that the terminal cannot show them. */
export function glyphsFor(env: Readonly<Record<string, string | undefined>>): Glyphs {
  return showsUnicode(env) ? unicode : ascii;
}
