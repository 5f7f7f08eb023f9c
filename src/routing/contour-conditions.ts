/** From Flagger's matches to HTTPProxy conditions (flagger-behaviour.md 3.5). */
import type { Canary } from '../api/canary.ts';
import type { AnalysisMatch } from '../api/canary-analysis.ts';
import type { HeaderMatch } from '../api/string-match.ts';
import type { RouteProblem } from './router.ts';

type Condition = Record<string, unknown>;

/** The path prefix of the route: that of the first match, or `/`. */
export function routePrefix(canary: Canary): string {
  return canary.spec.service?.match?.[0]?.uri?.prefix || '/';
}

/**
 * Conditions of one A/B match, all of which must hold. Contour compares headers with exact, contains and regex: a prefix or suffix becomes
 * `contains`, as in Flagger.
 */
export function abConditions(prefix: string, match: AnalysisMatch): Condition[] {
  return [
    { prefix },
    ...sorted(match.headers).map(([name, value]) => ({ header: { name, ...headerComparison(value) } })),
    ...sorted(match.queryParams).map(([name, value]) => ({
      queryParameter: { name, ...parameterComparison(value) },
    })),
  ];
}

function headerComparison({ exact, regex, prefix, suffix }: HeaderMatch): Condition {
  if (exact) return { exact };
  if (regex) return { regex };
  return { contains: prefix ?? suffix };
}

function parameterComparison({ exact, regex, prefix }: HeaderMatch): Condition {
  if (exact) return { exact };
  return regex ? { regex } : { prefix };
}

function sorted<T>(entries: Readonly<Record<string, T>> | undefined): Array<[string, T]> {
  return Object.entries(entries ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** What HTTPProxy cannot express, by field. */
export function conditionProblems({ spec }: Canary): RouteProblem[] {
  const problems: RouteProblem[] = [];
  const report = (severity: RouteProblem['severity'], path: string, message: string): void => {
    problems.push({ severity, path, message });
  };
  const [first, ...others] = spec.service?.match ?? [];
  if (others.length > 0)
    report('warning', 'spec.service.match', 'only the first match counts with provider contour');
  if (first && !first.uri?.prefix)
    report(
      'warning',
      'spec.service.match[0].uri',
      'provider contour takes the prefix only; the route gets all paths',
    );
  (spec.analysis?.match ?? []).forEach((match, index) => {
    const path = `spec.analysis.match[${index}]`;
    const values = [...Object.values(match.headers ?? {}), ...Object.values(match.queryParams ?? {})];
    if (values.length === 0)
      report('error', path, 'needs headers or queryParams: Contour has no other A/B condition');
    if (values.some((value: HeaderMatch) => !value.exact && !value.regex && !value.prefix && !value.suffix))
      report('error', path, 'every header and query parameter needs a text to compare with');
    for (const [name, { prefix, suffix }] of Object.entries(match.headers ?? {}))
      if (prefix || suffix)
        report(
          'warning',
          `${path}.headers[${name}]`,
          'is compared with "contains": Contour has no prefix or suffix',
        );
  });
  return problems;
}
