/** An explanation for people; lines without line feeds. */
import type { Comparison } from '../../health/comparison.ts';
import type { Explanation, Moment } from '../../review/explain/explanation.ts';
import {
  formatSpan,
  formatTable,
  paint,
  printable,
  type ReleaseChanges,
  type Screen,
  section,
  type TableColumn,
  wrap,
} from '../../terminal/output.ts';
import { changeSummary } from '../status/release-changes.ts';
import { commitLine } from '../status/rows.ts';

const indent = '  ';

/** An explanation for people; lines without line feeds. */
export function explanationLines(
  explanation: Explanation & {
    readonly underWay: ReleaseChanges | undefined;
    readonly stops: string | undefined;
    /** What the status says; shown where it has no phase. */
    readonly said: string;
  },
  screen: Screen,
  nowMs: number,
): string[] {
  const { canary, assumed, phase, state, release, primary, judgement, underWay, stops, said, forecast } =
    explanation;
  const current = phase ? [phase, state && `(${state})`].filter(Boolean).join(' ') : said;
  const what = commitLine(release.commit, release.subject) || release.digest.slice(0, 15) || 'none yet';
  return [
    ...wrap(`Canary ${canary}: ${current}`, screen.columns, '').map((line) => paint(screen, 'strong', line)),
    ...(assumed.length > 0
      ? wrap(`assumed: ${assumed.join(', ')}; nothing is written`, screen.columns, '')
      : []),
    ...section(screen, 'Expected on the primary', [
      indent + printable(what),
      ...comparisons(primary, screen),
    ]),
    ...(judgement ? judgementLines(judgement, screen) : []),
    ...section(
      screen,
      'What the release under way changes',
      underWay ? wrap(changeSummary(underWay, canary), screen.columns, indent) : [],
    ),
    ...section(screen, 'What stops it', wrap(stops ?? '', screen.columns, indent)),
    ...section(screen, 'What comes next, if the cluster does not change', [
      ...forecast.moments.flatMap((moment) => momentLines(moment, screen, nowMs)),
      ...wrap(forecast.end, screen.columns, indent),
    ]),
  ];
}

function comparisons(rows: readonly Comparison[], screen: Screen): string[] {
  const columns: ReadonlyArray<TableColumn<Comparison>> = [
    {
      title: '',
      value: ({ met, severity }) => (met ? 'ok' : severity === 'tells' ? 'note' : 'differs'),
      tone: ({ met, severity }) => (met ? 'good' : severity === 'tells' ? 'busy' : 'bad'),
    },
    { title: 'WHAT', value: ({ name }) => name },
    { title: 'EXPECTED', value: ({ expected }) => expected, least: 12 },
    { title: 'ACTUAL', value: ({ actual }) => actual, least: 12 },
  ];
  const narrower = { ...screen, columns: screen.columns - indent.length };
  return formatTable(columns, rows, narrower, false).map((line) => indent + line);
}

function judgementLines(judgement: NonNullable<Explanation['judgement']>, screen: Screen): string[] {
  const { cause, title, fix, evidence, onCanaryToo, action, why } = judgement;
  const canary = onCanaryToo ? '; the canary has the same fault' : '; the canary does not have it';
  const what = `${cause}: ${title}${onCanaryToo === undefined ? '' : canary}`;
  return [
    ...section(screen, 'Cause', wrap(what, screen.columns, indent)),
    ...evidence.flatMap((line) => wrap(`- ${line}`, screen.columns, indent + indent)),
    ...wrap(`fix: ${fix}`, screen.columns, indent),
    ...section(screen, 'Decision', wrap(`${action} (${why})`, screen.columns, indent)),
  ];
}

function momentLines(
  { timeMs, phase, state, message, actions }: Moment,
  screen: Screen,
  nowMs: number,
): string[] {
  const when = timeMs <= nowMs ? 'now' : `in ${formatSpan(timeMs - nowMs)}`;
  const phaseAndState = state ? `${phase} (${state})` : phase;
  // A Canary that was never acted on has no phase.
  const what = [when, phaseAndState, message].filter(Boolean).join(': ');
  return [
    ...wrap(what, screen.columns, indent),
    ...actions.flatMap((action) => wrap(`- ${action}`, screen.columns, indent + indent)),
  ];
}
