/** What a release under way changes, for people. */
import { commandOn, nameOfKey } from '../../api/kubernetes.ts';
import {
  paint,
  printable,
  type ReleaseChanges,
  type Screen,
  type Tone,
  wrap,
} from '../../terminal/output.ts';
import { commitLine } from './rows.ts';

const tones: Readonly<Record<string, Tone>> = { '+': 'good', '-': 'bad' };

/** All of it, as `holdfast diff` shows it; lines without line feeds. */
export function releaseChangeLines({ from, to, objects, notes }: ReleaseChanges, screen: Screen): string[] {
  const named = ({ commit, subject, digest }: ReleaseChanges['from']) =>
    commitLine(commit, subject) || digest.slice(0, 15);
  const nothing = objects.length + notes.length === 0 ? ['no field of it is otherwise'] : [];
  return [
    paint(screen, 'strong', printable(`Release under way: ${named(to)}`)),
    ...wrap(`changes against the last known good release ${named(from)}:`, screen.columns, ''),
    ...objects.flatMap(({ kind, name, change, diff }) => [
      '',
      paint(screen, 'strong', printable(`${kind} ${name}${change === 'changed' ? '' : ` (${change})`}`)),
      ...diff.map((line) => paint(screen, tones[line[0] ?? ''] ?? 'quiet', `  ${printable(line)}`)),
    ]),
    ...[...nothing, ...notes.map((note) => `note: ${note}`)].flatMap((line) =>
      wrap(line, screen.columns, ''),
    ),
  ];
}

/** What it changes in short, and the command that shows all of it. `canary`: `namespace/name`. */
export function changeSummary({ objects, notes }: ReleaseChanges, canary: string): string {
  const counted = objects.map(({ kind, name, change, diff }) => {
    const of = (mark: string) => diff.filter((line) => line.startsWith(mark)).length;
    return `${kind} ${name} (${change === 'changed' ? `+${of('+')} -${of('-')}` : change})`;
  });
  const what = [...counted, ...notes].join(', ') || 'no field';
  return objects.length === 0 ? what : `${what}; all of it: ${commandOn('diff', nameOfKey(canary))}`;
}
