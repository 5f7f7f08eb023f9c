import type { CheckResult } from '../../src/api/canary/status.ts';
import { paint, printable, type Screen, type Tone, wrap } from '../../src/terminal/output.ts';
import type { ServingName } from './events.ts';

/** How rows look. */
export interface TextStyle {
  readonly screen: Screen;
  readonly glyphs: Glyphs;
}

/** The widest a line gets, also on wide terminals: long lines are hard to read. */
const widest = 80;

const timeWidth = 7;
const labelWidth = 12;
const barCells = 20;

/** One event: a gutter, the time, a label and text; further lines stand under the text. `lines` are not wrapped again. */
export function row(
  look: TextStyle,
  entry: { elapsedMs: number; label: string; tone: Tone; lines: readonly string[] },
): string[] {
  const { screen, glyphs } = look;
  const gutter = paint(screen, 'quiet', glyphs.line);
  const time = paint(screen, 'quiet', seconds(entry.elapsedMs).padStart(timeWidth));
  const label = paint(screen, entry.tone, entry.label.padEnd(labelWidth));
  const [first = '', ...rest] = entry.lines;
  const indent = ' '.repeat(timeWidth + 2 + labelWidth + 2);
  return [`${gutter}${time}  ${label}  ${first}`, ...rest.map((line) => `${gutter}${indent}${line}`)];
}

/** Text wrapped to what is left of the line beside time and label. */
export function besideLabel({ screen }: TextStyle, text: string): string[] {
  return wrap(text, textWidth(screen), '');
}

/** The headline of a commit: its release, subject and short SHA, and what it is about. */
export function headline(
  look: TextStyle,
  { name, subject, commit, intent }: { name: string; subject: string; commit: string; intent: string },
): string[] {
  const { screen, glyphs } = look;
  const title = printable(name === 'revert' ? subject : `${name}  ${subject}`);
  const sha = commit.slice(0, 7);
  const gap = Math.max(2, lineWidth(screen) - 3 - title.length - sha.length);
  return [
    `${paint(screen, 'strong', `${glyphs.commit}  ${title}`)}${' '.repeat(gap)}${paint(screen, 'quiet', sha)}`,
    `${paint(screen, 'quiet', glyphs.line)}  ${paint(screen, 'quiet', intent)}`,
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
  const width = textWidth(look.screen);
  const lines: Array<{ text: string; length: number }> = [];
  for (const result of results) {
    const plain = checkText(look.glyphs, result);
    const tone = result.verdict === 'pass' ? 'good' : result.verdict === 'fail' ? 'bad' : 'busy';
    const painted = paint(look.screen, tone, plain.slice(0, 1)) + plain.slice(1);
    const last = lines.at(-1);
    if (last && last.length + 3 + plain.length <= width) {
      last.text += `   ${painted}`;
      last.length += 3 + plain.length;
    } else lines.push({ text: painted, length: plain.length });
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

function textWidth(screen: Screen): number {
  return lineWidth(screen) - 1 - timeWidth - 2 - labelWidth - 2;
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
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || 'UTF-8';
  return /utf-?8/i.test(locale) ? unicode : ascii;
}
