/** Session affinity in an HTTPRoute (flagger-behaviour.md 3.1 and 3.2): rules for who has a cookie, and Set-Cookie for who has none. */
import type { SessionAffinity } from '../../api/canary/analysis.ts';
import type { RouteTarget, SessionCookies } from '../../api/observed.ts';
import type { RouteMatch } from './gateway-matches.ts';

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

const defaultMaxAgeSeconds = 86_400;

/**
 * The rules in order. Nobody stays with the primary when all traffic is for the canary, as while the primary is written. Flagger takes a
 * cookie back without its Domain and Path, so that browsers keep it; here they are named.
 */
export function sessionSplits(source: SessionSource, sessions: SessionCookies): Split[] {
  const { matches, target, settings } = source;
  const { primaryWeight, canaryWeight } = target;
  const weighted: Split = { matches, primaryWeight, canaryWeight };
  if (sessions.kind === 'end') {
    const filter = setCookie(sessions.previous, -1, settings);
    const had = {
      matches: withCookie(matches, sessions.previous),
      primaryFilter: filter,
      canaryFilter: filter,
    };
    return [{ ...weighted, ...had }, weighted];
  }
  const { canary } = sessions;
  const primary = settings.primaryCookieName === undefined ? undefined : sessions.primary;
  const sticky: Split[] = [{ matches: withCookie(matches, canary), primaryWeight: 0, canaryWeight: 100 }];
  weighted.canaryFilter = setCookie(canary, settings.maxAge ?? defaultMaxAgeSeconds, settings);
  if (primary) {
    sticky.push({ matches: withCookie(matches, primary), primaryWeight: 100, canaryWeight: 0 });
    weighted.primaryFilter = setCookie(primary, source.primaryMaxAge, settings);
  }
  return canaryWeight < 100 ? [...sticky, weighted] : [weighted];
}

/** The matches, for requests that carry this cookie (`name=value`). It is compared whole; Flagger finds it inside others, too. */
function withCookie(matches: readonly RouteMatch[], cookie: string): RouteMatch[] {
  const value = `^(.*; ?)?${cookie.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(;.*)?$`;
  const header = { type: 'RegularExpression', name: 'Cookie', value };
  return matches.map((match) => ({ ...match, headers: [...(match.headers ?? []), header] }));
}

/** Filter of a backend that gives its users this cookie, attributes in Flagger's order. */
function setCookie(cookie: string, maxAgeSeconds: number, settings: SessionAffinity): object {
  const { domain, httpOnly, partitioned, path, sameSite, secure } = settings;
  const attributes = [
    `Max-Age=${maxAgeSeconds}`,
    domain && `Domain=${domain}`,
    httpOnly && 'HttpOnly',
    partitioned && 'Partitioned',
    path && `Path=${path}`,
    sameSite && `SameSite=${sameSite}`,
    secure && 'Secure',
  ];
  const value = [cookie, ...attributes.filter(Boolean)].join('; ');
  return { type: 'ResponseHeaderModifier', responseHeaderModifier: { add: [{ name: 'Set-Cookie', value }] } };
}
