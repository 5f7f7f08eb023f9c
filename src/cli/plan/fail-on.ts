import type { PlanReport } from './report.ts';
import { isEmpty } from './words.ts';

/** What may end the command with exit code 1. `none`: nothing does. */
export const failOnValues = ['changes', 'one-way', 'refused', 'problems', 'none'] as const;

/** One of them. */
export type FailOn = (typeof failOnValues)[number];

/** Whether the plan holds something of what was named. Pure. */
export function failures(report: PlanReport, wanted: readonly FailOn[]): boolean {
  const { oneWay, refused, problems } = report.summary;
  const found: Readonly<Record<FailOn, boolean>> = {
    changes: !isEmpty(report),
    'one-way': oneWay > 0,
    refused: refused > 0,
    problems: problems > 0,
    none: false,
  };
  return wanted.some((kind) => found[kind]);
}
