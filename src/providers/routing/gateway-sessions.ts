/** Session affinity in an HTTPRoute: rules and filters for the rules of `sessions.ts`. */
import type { SessionAffinity } from '../../api/canary/analysis.ts';
import type { RouteTarget, SessionCookies } from '../../api/observed.ts';
import type { RouteMatch } from './gateway-matches.ts';
import { cookiePattern, sessionRules } from './sessions.ts';

/** One rule of the route: who it is for, the weights, and filters of the two backends. */
export interface Split {
  matches: RouteMatch[];
  primaryWeight: number;
  canaryWeight: number;
  primaryFilter?: object;
  canaryFilter?: object;
}

/** What the splits are made from. `primaryMaxAge`: seconds that a user stays on the primary. */
interface SessionSource {
  matches: RouteMatch[];
  target: RouteTarget;
  settings: SessionAffinity;
  primaryMaxAge: number;
}

/** The rules in order. */
export function sessionSplits(
  { matches, target, ...source }: SessionSource,
  sessions: SessionCookies,
): Split[] {
  return sessionRules(target, source, sessions).map(
    ({ cookie, primarySets, canarySets, primaryWeight, canaryWeight }) => ({
      matches: cookie ? withCookie(matches, cookie) : matches,
      primaryWeight,
      canaryWeight,
      ...(primarySets ? { primaryFilter: setCookie(primarySets) } : {}),
      ...(canarySets ? { canaryFilter: setCookie(canarySets) } : {}),
    }),
  );
}

/** The matches, for requests that carry this cookie (`name=value`). */
function withCookie(matches: readonly RouteMatch[], cookie: string): RouteMatch[] {
  const header = { type: 'RegularExpression', name: 'Cookie', value: cookiePattern(cookie) };
  return matches.map((match) => ({ ...match, headers: [...(match.headers ?? []), header] }));
}

function setCookie(value: string): object {
  return { type: 'ResponseHeaderModifier', responseHeaderModifier: { add: [{ name: 'Set-Cookie', value }] } };
}
