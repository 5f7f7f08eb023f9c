import type { CheckLine } from '../check-report.ts';
import { paint, printable, type Screen, type Tone, wrap } from '../output.ts';
import type { AdoptionPlan, AdoptionRow } from './plan.ts';
import type { Outcome } from './verdict.ts';

const words: Readonly<Record<Outcome, { readonly word: string; readonly tone: Tone }>> = {
  takenOver: { word: 'taken over', tone: 'good' },
  carriedOn: { word: 'carried on', tone: 'good' },
  ours: { word: "Holdfast's", tone: 'quiet' },
  waits: { word: 'waits', tone: 'busy' },
  rolledOut: { word: 'rolled out', tone: 'busy' },
  refused: { word: 'refused', tone: 'bad' },
};

const indent = '    ';

/** A plan for people; lines without line feeds. */
export function planLines(plan: AdoptionPlan, screen: Screen): string[] {
  const acting = [...new Set(plan.canaries.flatMap(({ waitsFor }) => waitsFor ?? []))];
  return [
    ...acting.flatMap((who) =>
      wrap(`${who}: Holdfast does nothing until that ends, and then:`, screen.columns, ''),
    ),
    ...plan.canaries.flatMap((row) => rowLines(row, screen)),
    ...plan.cluster.flatMap((line) => clusterLines(line, screen)),
    summaryOf(plan),
  ];
}

function rowLines(
  { canary, outcome, what, why, differences, notActedOn }: AdoptionRow,
  screen: Screen,
): string[] {
  const { word, tone } = words[outcome];
  const fields = differences.map(
    ({ path, expected, actual }) =>
      `- ${path}: ${expected} on the target, ${actual ?? '(absent)'} on the primary`,
  );
  const ignored = notActedOn.length > 0 ? [`- without effect here: ${notActedOn.join(', ')}`] : [];
  return [
    `${printable(canary)}: ${paint(screen, tone, word)}`,
    ...wrap(outcome === 'refused' ? why : `${what}: ${why}`, screen.columns, indent),
    ...[...fields, ...ignored].flatMap((line) => wrap(line, screen.columns, indent)),
  ];
}

function clusterLines({ state, subject, detail, act }: CheckLine, screen: Screen): string[] {
  const word = paint(screen, state === 'failed' ? 'bad' : 'busy', state);
  return [
    `${printable(subject)}: ${word}`,
    ...wrap(act ? `${detail}; ${act}` : detail, screen.columns, indent),
  ];
}

function summaryOf({ canaries }: AdoptionPlan): string {
  if (canaries.length === 0) return 'There is no Canary here.';
  const counted = Object.entries(words).flatMap(([outcome, { word }]) => {
    const count = canaries.filter((row) => row.outcome === outcome).length;
    return count > 0 ? [`${count} ${word}`] : [];
  });
  const all = canaries.length === 1 ? '1 Canary' : `${canaries.length} Canaries`;
  return `${all}: ${counted.join(', ')}`;
}
