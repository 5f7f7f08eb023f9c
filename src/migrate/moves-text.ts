import { paint, printable, type Screen, type Tone, wrap } from '../terminal/output.ts';
import { unifiedDiff } from './edit.ts';
import type { Finding, Move, PlacedStep, StepState } from './steps.ts';

const states: Readonly<Record<StepState, { readonly word: string; readonly tone: Tone }>> = {
  done: { word: 'done', tone: 'good' },
  next: { word: 'next', tone: 'busy' },
  waits: { word: 'waits', tone: 'busy' },
  refused: { word: 'refused', tone: 'bad' },
  later: { word: 'later', tone: 'quiet' },
  unread: { word: 'not verified', tone: 'quiet' },
};

const indent = '   ';

/** Moves for terminals; lines without line feeds. Diffs are not wrapped, so that they can be applied. */
export function moveLines(moves: readonly Move[], screen: Screen): string[] {
  if (moves.length === 0) return ['Nothing to migrate in these files.'];
  return moves.flatMap((move, index) => [...(index > 0 ? [''] : []), ...linesOfMove(move, screen)]);
}

function linesOfMove({ name, stops, notes, converted = [], steps }: Move, screen: Screen): string[] {
  const listed = (lines: readonly string[], mark: string) =>
    lines.flatMap((line) => wrap(`${mark} ${line}`, screen.columns, indent));
  const isOver = steps.length > 0 && steps.every(({ state }) => state === 'done');
  return [
    paint(screen, 'strong', printable(name)) + (isOver ? ': migrated' : ''),
    ...(stops.length > 0 ? [paint(screen, 'bad', `${indent}cannot be migrated:`)] : []),
    ...listed(stops, '-'),
    ...listed(isOver ? [] : notes, '! '),
    ...listed(isOver ? [] : converted, '+ '),
    ...steps.flatMap((step, index) => stepLines(step, index + 1, screen)),
  ];
}

function stepLines(step: PlacedStep, number: number, screen: Screen): string[] {
  const { word, tone } = states[step.state];
  const title = `${number}. ${printable(step.title)}: ${paint(screen, tone, word)}`;
  if (step.state === 'done') return [title];
  const isRefused = step.state === 'refused';
  const commands = step.state === 'next' || step.state === 'unread' ? step.commands : [];
  return [
    title,
    ...findingLines('needs', isRefused || step.state === 'unread' ? step.requires : [], screen),
    ...(isRefused || step.changes.length === 0
      ? []
      : [
          `${indent}${step.state === 'later' ? 'will commit' : 'commit'}:`,
          ...step.changes.flatMap(unifiedDiff),
        ]),
    ...(commands.length > 0 ? [`${indent}run:`, ...commands.flatMap(shown)] : []),
    ...findingLines('done when', step.ends, screen),
    ...(isRefused || step.verify.length === 0
      ? []
      : [`${indent}to verify:`, ...step.verify.flatMap(shown).map((line) => `${indent}${indent}${line}`)]),
  ];
}

/** A command is as long as it is: it is copied. */
function shown(command: string): string[] {
  return command.split('\n').map(printable);
}

function findingLines(title: string, findings: readonly Finding[], screen: Screen): string[] {
  return findings.flatMap(({ what, holds, found }) => {
    const [mark, tone] = holds === undefined ? ['?', 'quiet'] : holds ? ['+', 'good'] : ['-', 'bad'];
    const text = found === undefined ? `${title}: ${what}` : `${title}: ${what} (${found})`;
    const [first = '', ...rest] = wrap(text, screen.columns, `${indent}  `);
    return [`${indent}${paint(screen, tone as Tone, mark ?? '')} ${first.trimStart()}`, ...rest];
  });
}
