/** From Flagger's matches to HTTPRoute matches (flagger-behaviour.md 3.2). */
import type { AnalysisMatch } from '../../api/canary/analysis.ts';
import type { ServiceMatch } from '../../api/canary/service.ts';
import type { HeaderMatch, StringMatch } from '../../api/schema.ts';
import type { RouteProblem } from '../../contracts/routing.ts';

/** One match of an HTTPRoute rule. */
export interface RouteMatch {
  path?: { type: string; value: string };
  method?: string;
  headers?: Array<{ type: string; name: string; value: string }>;
  queryParams?: Array<{ type: string; name: string; value: string }>;
}

/** Conditions on a request as Flagger names them; both kinds of match have this shape. */
interface Conditions {
  uri?: StringMatch | undefined;
  method?: StringMatch | undefined;
  headers?: Record<string, HeaderMatch> | undefined;
  queryParams?: Record<string, StringMatch> | undefined;
}

const everything: RouteMatch = { path: { type: 'PathPrefix', value: '/' } };
/** Matches a rule may have (Gateway API). */
const mostMatches = 64;

/** Matches of the rule for ordinary requests; without any, the path prefix `/`. One without a condition would be every request. */
export function serviceMatches(matches: readonly ServiceMatch[] = []): RouteMatch[] {
  const found = matches.map(routeMatch).filter((match) => Object.keys(match).length > 0);
  return found.length > 0 ? found : [everything];
}

/** Matches of the A/B rule: the conditions of each analysis match in each service match. */
export function analysisMatches(
  analysis: readonly AnalysisMatch[],
  service: readonly ServiceMatch[] | undefined,
): RouteMatch[] {
  return serviceMatches(service).flatMap((base) =>
    analysis.map(routeMatch).map(({ headers, queryParams }) => ({
      ...base,
      ...(headers?.length ? { headers: joined(base.headers, headers) } : {}),
      ...(queryParams?.length ? { queryParams: joined(base.queryParams, queryParams) } : {}),
    })),
  );
}

type ValueMatches = NonNullable<RouteMatch['headers']>;

/** All have to match; a name may be there once. */
function joined(base: ValueMatches = [], added: ValueMatches): ValueMatches {
  const names = new Set(added.map(({ name }) => name.toLowerCase()));
  return [...base.filter(({ name }) => !names.has(name.toLowerCase())), ...added];
}

function routeMatch({ uri, method, headers, queryParams }: Conditions): RouteMatch {
  const match: RouteMatch = {};
  const path = uri && pathMatch(uri);
  if (path) match.path = path;
  if (method?.exact) match.method = method.exact;
  const headerList = valueMatches(headers);
  if (headerList.length > 0) match.headers = headerList;
  const parameterList = valueMatches(queryParams);
  if (parameterList.length > 0) match.queryParams = parameterList;
  return match;
}

function pathMatch({ regex, exact, prefix }: StringMatch): RouteMatch['path'] {
  if (regex) return { type: 'RegularExpression', value: regex };
  if (exact) return { type: 'Exact', value: exact };
  return prefix ? { type: 'PathPrefix', value: prefix } : undefined;
}

function valueMatches(
  matches: Record<string, HeaderMatch> | undefined,
): Array<{ type: string; name: string; value: string }> {
  return Object.entries(matches ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, { exact, regex }]) => {
      if (exact) return [{ type: 'Exact', name, value: exact }];
      return regex ? [{ type: 'RegularExpression', name, value: regex }] : [];
    });
}

/** What Gateway API cannot express, by field. */
export function matchProblems(
  service: readonly ServiceMatch[] | undefined,
  analysis: readonly AnalysisMatch[] | undefined,
): RouteProblem[] {
  const problems = [
    ...(service ?? []).flatMap((match, index) => conditionProblems(match, `spec.service.match[${index}]`)),
    ...(analysis ?? []).flatMap((match, index) => analysisProblems(match, `spec.analysis.match[${index}]`)),
  ];
  const count = Math.max(1, service?.length ?? 0) * (analysis?.length ?? 0);
  if (count > mostMatches)
    problems.push({
      severity: 'error',
      path: 'spec.analysis.match',
      message: `with spec.service.match makes ${count} matches; an HTTPRoute rule takes ${mostMatches}`,
    });
  return problems;
}

/** A match without headers and parameters would send every request to the canary. */
function analysisProblems(match: AnalysisMatch, path: string): RouteProblem[] {
  const problems = conditionProblems(match, path);
  if (Object.keys({ ...match.headers, ...match.queryParams }).length === 0)
    problems.push({
      severity: 'error',
      path,
      message: 'needs headers or queryParams: Gateway API has no other A/B condition',
    });
  return problems;
}

function conditionProblems(match: Conditions, path: string): RouteProblem[] {
  const problems: RouteProblem[] = [];
  const refuse = (field: string, message: string): void => {
    problems.push({ severity: 'error', path: `${path}.${field}`, message });
  };
  if (match.uri && !pathMatch(match.uri)) refuse('uri', 'needs exact, prefix or regex');
  if (match.method && !match.method.exact) refuse('method', 'Gateway API compares methods with exact only');
  for (const [name, value] of Object.entries(match.headers ?? {}))
    if (!value.exact && !value.regex)
      refuse(`headers[${name}]`, 'Gateway API compares headers with exact or regex only');
  for (const [name, value] of Object.entries(match.queryParams ?? {}))
    if (!value.exact && !value.regex)
      refuse(`queryParams[${name}]`, 'Gateway API compares query parameters with exact or regex only');
  return problems;
}
