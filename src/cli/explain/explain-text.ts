import type { Comparison } from '../../health/comparison.ts';
import { paint, printable, type Screen, wrap } from '../output.ts';
import { commitLine } from '../status-rows.ts';
import { formatTable, type TableColumn } from '../table.ts';
import { formatSpan } from '../time.ts';
import type { Explanation } from './explanation.ts';
import type { Forecast, Moment } from './forecast.ts';
import type { Judgement } from './judge.ts';

const indent = '  ';

/** An explanation for people; lines without line feeds. */
export function explanationLines(explanation: Explanation, screen: Screen, nowMs: number): string[] {
  const { canary, assumed, phase, state, release, primary, judgement } = explanation;
  const standing = [phase || 'not looked at yet', state && `(${state})`].filter(Boolean).join(' ');
  const what = commitLine(release.commit, release.subject) || release.digest.slice(0, 15) || 'none yet';
  return [
    paint(screen, 'strong', printable(`Canary ${canary}: ${standing}`)),
    ...(assumed.length > 0
      ? wrap(`assumed: ${assumed.join(', ')}; nothing of it is written`, screen.columns, '')
      : []),
    ...section(screen, 'Expected on the primary', [
      indent + printable(what),
      ...comparisons(primary, screen),
    ]),
    ...(judgement ? judged(judgement, screen) : []),
    ...section(
      screen,
      'What comes next, if the cluster stays as it is',
      foreseen(explanation.forecast, screen, nowMs),
    ),
  ];
}

function section(screen: Screen, title: string, lines: readonly string[]): string[] {
  return ['', paint(screen, 'strong', title), ...lines];
}

function comparisons(rows: readonly Comparison[], screen: Screen): string[] {
  const columns: ReadonlyArray<TableColumn<Comparison>> = [
    {
      title: '',
      value: mark,
      tone: ({ met, severity }) => (met ? 'good' : severity === 'tells' ? 'busy' : 'bad'),
    },
    { title: 'WHAT', value: ({ name }) => name },
    { title: 'EXPECTED', value: ({ expected }) => expected, least: 12 },
    { title: 'ACTUAL', value: ({ actual }) => actual, least: 12 },
  ];
  const narrower = { ...screen, columns: screen.columns - indent.length };
  return formatTable(columns, rows, narrower, false).map((line) => indent + line);
}

function mark({ met, severity }: Comparison): string {
  if (met) return 'ok';
  return severity === 'tells' ? 'note' : 'differs';
}

function judged(judgement: Judgement, screen: Screen): string[] {
  const { cause, title, fix, evidence, onCanaryToo, action, why } = judgement;
  const canary = onCanaryToo ? '; the canary shows it too' : '; the canary does not show it';
  const what = `${cause}: ${title}${onCanaryToo === undefined ? '' : canary}`;
  return [
    ...section(screen, 'Cause', wrap(what, screen.columns, indent)),
    ...evidence.flatMap((line) => wrap(`- ${line}`, screen.columns, indent + indent)),
    ...wrap(`what helps: ${fix}`, screen.columns, indent),
    ...section(screen, 'Decision', wrap(`${action} (${why})`, screen.columns, indent)),
  ];
}

function foreseen({ moments, end }: Forecast, screen: Screen, nowMs: number): string[] {
  return [
    ...moments.flatMap((moment) => momentLines(moment, screen, nowMs)),
    ...wrap(end, screen.columns, indent),
  ];
}

function momentLines(
  { timeMs, phase, state, message, actions }: Moment,
  screen: Screen,
  nowMs: number,
): string[] {
  const when = timeMs <= nowMs ? 'now' : `in ${formatSpan(timeMs - nowMs)}`;
  const standing = state ? `${phase} (${state})` : phase;
  return [
    ...wrap(`${when}: ${standing}: ${message}`, screen.columns, indent),
    ...actions.flatMap((action) => wrap(`- ${action}`, screen.columns, indent + indent)),
  ];
}
