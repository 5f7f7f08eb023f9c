import type { CheckResult } from '../../api/canary-status.ts';
import { shorten } from '../units.ts';
import type { Comparison } from './comparison.ts';

/** Longest detail that a status holds, in characters. */
const mostCharacters = 512;

/**
 * Comparisons as results of a check after promotion: every count with its bound, and every difference. What only tells something passes,
 * with its detail.
 */
export function checkResults(comparisons: readonly Comparison[], time: string): CheckResult[] {
  return comparisons
    .filter(({ met, value }) => !met || value !== undefined)
    .map(({ name, met, severity, detail, value, min, max }) => ({
      name,
      ...(value === undefined ? {} : { value }),
      ...(min === undefined ? {} : { min }),
      ...(max === undefined ? {} : { max }),
      verdict: met || severity === 'tells' ? ('pass' as const) : ('fail' as const),
      ...(detail === undefined ? {} : { detail: shorten(detail, mostCharacters) }),
      time,
    }));
}
