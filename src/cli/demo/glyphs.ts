/** Signs of the timeline. */
export interface Glyphs {
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
