import {
  type CommandResult,
  counted,
  type DataFormat,
  formatOutput,
  paint,
  type Screen,
  type Tone,
  wrap,
} from './output.ts';

/** Who has to act: who administers the cluster or Holdfast, who writes the manifests, or nobody (it may pass). */
type Actor = 'administrator' | 'author' | 'nobody';

/** One thing that was looked at. */
export interface CheckLine {
  /** `failed`: Holdfast cannot do its work as it is; `warning`: it can, but someone should look. */
  readonly state: 'ok' | 'warning' | 'failed';
  /** What was looked at, as `Source shop/shop`. */
  readonly subject: string;
  readonly detail: string;
  readonly actor?: Actor;
  /** What to do. */
  readonly act?: string;
}

/** Lines under one heading. */
export interface CheckSection {
  readonly title: string;
  readonly lines: readonly CheckLine[];
}

/** A good line. */
export function ok(subject: string, detail: string): CheckLine {
  return { state: 'ok', subject, detail };
}

/** A line that needs action. */
export function bad(
  state: 'warning' | 'failed',
  subject: string,
  detail: string,
  todo: { readonly actor: Actor; readonly act?: string },
): CheckLine {
  return { state, subject, detail, ...todo };
}

const tones: Readonly<Record<CheckLine['state'], Tone>> = { ok: 'good', warning: 'busy', failed: 'bad' };
const indent = ' '.repeat(11);

/** Sections with a line for each thing; exit code 1 if one failed. */
export function checkReport(
  sections: readonly CheckSection[],
  format: 'text' | DataFormat,
  screen: Screen,
): CommandResult {
  const lines = sections.flatMap((section) => section.lines);
  const exitCode = lines.some(({ state }) => state === 'failed') ? 1 : 0;
  if (format !== 'text')
    return { stdout: formatOutput('Check', { checks: lines }, format), stderr: '', exitCode };
  const shown = sections.filter((section) => section.lines.length > 0);
  const blocks = shown.map(({ title, lines: all }) =>
    [paint(screen, 'strong', title), ...all.flatMap((line) => textOf(line, screen))].join('\n'),
  );
  return { stdout: `${[...blocks, summary(lines)].join('\n\n')}\n`, stderr: '', exitCode };
}

function textOf({ state, subject, detail, actor, act }: CheckLine, screen: Screen): string[] {
  const [first = '', ...rest] = wrap(`${subject}: ${detail}`, screen.columns, indent);
  const word = paint(screen, tones[state], state.padEnd(indent.length - 2));
  const todo = act && actor ? wrap(`${actor}: ${act}`, screen.columns, `${indent}-> `) : [];
  return [`  ${word}${first.slice(indent.length)}`, ...rest, ...todo];
}

function summary(lines: readonly CheckLine[]): string {
  const count = (state: CheckLine['state']) => lines.filter((line) => line.state === state).length;
  return `${count('ok')} ok, ${counted(count('warning'), 'warning')}, ${count('failed')} failed`;
}

/** A check that must not end the others: what it throws becomes a failed line. */
export async function guarded(
  subject: string,
  work: () => Promise<readonly CheckLine[]>,
): Promise<readonly CheckLine[]> {
  try {
    return await work();
  } catch (error) {
    const { message, actor } = error as { message?: string; actor?: string };
    // ApiError and GitError name further actors.
    const who = actor === 'author' || actor === 'nobody' ? actor : 'administrator';
    return [bad('failed', subject, message ?? String(error), { actor: who })];
  }
}
