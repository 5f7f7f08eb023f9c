import { paint, printable, type Screen, type Tone, wrap } from '../../terminal/output.ts';
import type { PlanReport, SourcePlanned } from './report.ts';
import {
  canaryWords,
  dryRunWords,
  objectWords,
  sideWords,
  sourceChangeWords,
  summaryWords,
} from './report-sentences.ts';

/** A plan for terminals; ends with a line feed. Pure. */
export function planText(report: PlanReport, screen: Screen): string {
  const { base, head, sources, notes } = report;
  const lines = [
    paint(screen, 'strong', printable(`From ${sideWords(base)} to ${sideWords(head)}`)),
    ...wrap(summaryWords(report), screen.columns, ''),
    ...notes.flatMap((note) => wrap(`note: ${note}`, screen.columns, '')),
    ...sources.flatMap((source) => sourceLines(source, screen)),
  ];
  return `${lines.join('\n')}\n`;
}

const severities = { oneWay: 'one-way', refused: 'refused', note: 'note' } as const;
const tones: Readonly<Record<string, Tone>> = { oneWay: 'bad', refused: 'bad', note: 'quiet' };

const diffTones: Readonly<Record<string, Tone>> = { '+': 'good', '-': 'bad' };

function sourceLines(source: SourcePlanned, screen: Screen): string[] {
  const { columns } = screen;
  const body = [
    ...source.problems.map((problem) => paint(screen, 'bad', `  ${printable(problem)}`)),
    ...source.oneWay.flatMap(({ severity, object, origin, message }) =>
      wrap(`${severities[severity]}: ${object} (${origin}): ${message}`, columns, '  ').map((line) =>
        paint(screen, tones[severity] ?? 'none', line),
      ),
    ),
    ...source.canaries.flatMap((canary) => [
      ...wrap(`Canary ${canary.canary}: ${canary.summary}`, columns, '  ').map((line) =>
        paint(screen, 'strong', line),
      ),
      ...canaryWords(canary).flatMap((line) => hanging(line, columns)),
    ]),
    ...(source.dryRun ?? []).flatMap((finding) => hanging(`dry run: ${dryRunWords(finding)}`, columns)),
    ...source.objects.flatMap((object) => [
      paint(screen, 'strong', `  ${printable(objectWords(object))}`),
      ...object.diff.map((line) =>
        paint(screen, diffTones[line[0] ?? ''] ?? 'quiet', `    ${printable(line)}`),
      ),
    ]),
    ...source.notes.flatMap((note) => wrap(`note: ${note}`, columns, '  ')),
  ];
  if (body.length === 0 && source.change === 'same') return [];
  return [
    '',
    paint(
      screen,
      'strong',
      printable(`Source ${source.source} (${source.path})${sourceChangeWords(source)}`),
    ),
    ...body,
  ];
}

function hanging(text: string, columns: number): string[] {
  return wrap(text, columns, '      ').map((line, index) =>
    index === 0 ? line.replace('      ', '    - ') : line,
  );
}
