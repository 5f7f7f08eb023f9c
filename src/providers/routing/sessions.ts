/** Session affinity (flagger-behaviour.md 3.1 and 3.2): rules for requests with a cookie, and Set-Cookie for those without. */
import type { SessionAffinity } from '../../api/canary/analysis.ts';
import type { RouteTarget, SessionCookies } from '../../api/observed.ts';
import { durationOr } from '../../api/time.ts';

/** One rule of a route, in order: its matches, the weights, and the Set-Cookie headers that answers of each side get. */
export interface SessionRule {
  readonly primaryWeight: number;
  readonly canaryWeight: number;
  /** Only for requests with this cookie (`name=value`). */
  readonly cookie?: string;
  readonly primarySets?: string;
  readonly canarySets?: string;
}

/** `interval`: that of the analysis, for which a user stays on the primary. */
interface SessionSettings {
  readonly settings: SessionAffinity;
  readonly interval: string | undefined;
}

const defaultMaxAgeSeconds = 86_400;

/**
 * The rules in order. No session stays on the primary when all traffic is for the canary, as while the primary is written. Flagger deletes
 * a cookie without its Domain and Path, so that browsers ignore it; here both are set.
 */
export function sessionRules(
  { primaryWeight, canaryWeight }: Pick<RouteTarget, 'primaryWeight' | 'canaryWeight'>,
  { settings, interval }: SessionSettings,
  sessions: SessionCookies,
): SessionRule[] {
  const byWeight = { primaryWeight, canaryWeight };
  if (sessions.kind === 'end') {
    const sets = setCookie(sessions.previous, -1, settings);
    return [{ ...byWeight, cookie: sessions.previous, primarySets: sets, canarySets: sets }, byWeight];
  }
  const { canary } = sessions;
  const primary = settings.primaryCookieName === undefined ? undefined : sessions.primary;
  const weighted: SessionRule = {
    ...byWeight,
    canarySets: setCookie(canary, settings.maxAge || defaultMaxAgeSeconds, settings),
    ...(primary
      ? { primarySets: setCookie(primary, Math.round(durationOr(interval, 60_000) / 1_000), settings) }
      : {}),
  };
  if (canaryWeight === 100) return [weighted];
  return [
    { primaryWeight: 0, canaryWeight: 100, cookie: canary },
    ...(primary ? [{ primaryWeight: 100, canaryWeight: 0, cookie: primary }] : []),
    weighted,
  ];
}

/** RE2 of a Cookie header with this cookie. It is compared whole; Flagger finds it inside others, too. */
export function cookiePattern(cookie: string): string {
  return `^(.*; ?)?${cookie.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(;.*)?$`;
}

/** The value of Set-Cookie, attributes in Flagger's order. */
function setCookie(cookie: string, maxAgeSeconds: number, settings: SessionAffinity): string {
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
  return [cookie, ...attributes.filter(Boolean)].join('; ');
}
