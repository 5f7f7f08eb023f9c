/** Filters of an HTTPRoute rule in Flagger's order: headers, rewrite, mirrors, CORS (flagger-behaviour.md 3.2). */
import type { CanaryService, CorsPolicy } from '../../api/canary/service.ts';
import { parseDurationMs } from '../../api/time.ts';
import type { RouteProblem } from '../../contracts/routing.ts';

type Filter = Record<string, unknown> & { type: string };
type HeaderOperations = NonNullable<NonNullable<CanaryService['headers']>['request']>;

/** Filters of the rule as the Canary asks for them; the analysis' own mirror is not among them. */
export function routeFilters(service: CanaryService | undefined): Filter[] {
  if (!service) return [];
  const { headers, rewrite, mirror, corsPolicy } = service;
  const filters: Filter[] = [];
  if (headers?.request)
    filters.push({ type: 'RequestHeaderModifier', requestHeaderModifier: headerModifier(headers.request) });
  if (headers?.response)
    filters.push({
      type: 'ResponseHeaderModifier',
      responseHeaderModifier: headerModifier(headers.response),
    });
  if (rewrite) filters.push({ type: 'URLRewrite', urlRewrite: urlRewrite(rewrite) });
  for (const one of mirror ?? []) filters.push({ type: 'RequestMirror', requestMirror: one });
  if (corsPolicy) filters.push({ type: 'CORS', cors: cors(corsPolicy) });
  return filters;
}

/** What the filters cannot say, by field. */
export function filterProblems({ allowOrigins, maxAge }: CorsPolicy = {}): RouteProblem[] {
  const path = 'spec.service.corsPolicy';
  const problems: RouteProblem[] = [];
  if (allowOrigins?.length)
    problems.push({
      severity: 'warning',
      path: `${path}.allowOrigins`,
      message: 'is ignored, as in Flagger; use allowOrigin',
    });
  if (maxAge && parseDurationMs(maxAge) === undefined)
    problems.push({ severity: 'error', path: `${path}.maxAge`, message: 'must be a duration such as 24h' });
  return problems;
}

function headerModifier({ add, set, remove }: HeaderOperations): Record<string, unknown> {
  const list = (headers: Readonly<Record<string, string>>) =>
    Object.entries(headers)
      .map(([name, value]) => ({ name, value }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    ...(add ? { add: list(add) } : {}),
    ...(set ? { set: list(set) } : {}),
    ...(remove?.length ? { remove } : {}),
  };
}

function urlRewrite({
  authority,
  uri,
  type,
}: NonNullable<CanaryService['rewrite']>): Record<string, unknown> {
  const path =
    type === 'ReplacePrefixMatch'
      ? { type: 'ReplacePrefixMatch', replacePrefixMatch: uri }
      : { type: 'ReplaceFullPath', replaceFullPath: uri };
  return { ...(authority ? { hostname: authority } : {}), ...(uri ? { path } : {}) };
}

function cors(policy: CorsPolicy): Record<string, unknown> {
  const { allowOrigin, allowMethods, allowHeaders, exposeHeaders, allowCredentials, maxAge } = policy;
  const maxAgeSeconds = Math.floor((parseDurationMs(maxAge ?? '') ?? 0) / 1_000);
  return {
    ...(allowOrigin?.length ? { allowOrigins: allowOrigin } : {}),
    ...(allowMethods?.length ? { allowMethods } : {}),
    ...(allowHeaders?.length ? { allowHeaders } : {}),
    ...(exposeHeaders?.length ? { exposeHeaders } : {}),
    ...(allowCredentials ? { allowCredentials } : {}),
    // The Gateway API has no 0; without it the answer is kept for 5 seconds, as with Flagger.
    ...(maxAgeSeconds > 0 ? { maxAge: maxAgeSeconds } : {}),
  };
}
