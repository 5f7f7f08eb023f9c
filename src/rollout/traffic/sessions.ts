import { keepsSessions } from '../../api/canary/canary.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { SessionCookies } from '../../api/observed.ts';
import type { Action } from '../outcome.ts';
import type { Run, World } from '../world.ts';

type Cookies = Pick<
  CanaryStatus,
  'sessionAffinityCookie' | 'primarySessionAffinityCookie' | 'previousSessionAffinityCookie'
>;

/**
 * Session affinity (flagger-behaviour 3.1): while the canary has a share, users stay on the side that answered them; then its cookie is
 * withdrawn. Returns the cookies for the status, and the actions with the cookies in every move of traffic. The cookies are derived from the
 * run, so that a crash before the status was written gives the same ones again.
 */
export function keepSessions(
  world: World,
  run: Run | undefined,
  actions: readonly Action[],
): { actions: readonly Action[]; cookies: Cookies } {
  const { sessions, cookies } = sessionsOf(world, run, actions);
  const kept = actions.map((action) =>
    action.type === 'SetTraffic' && sessions && !action.route.matched
      ? { ...action, route: { ...action.route, sessions } }
      : action,
  );
  return { actions: kept, cookies };
}

const NONE: Cookies = {
  sessionAffinityCookie: undefined,
  primarySessionAffinityCookie: undefined,
  previousSessionAffinityCookie: undefined,
};

function sessionsOf(
  { canary, options, status, route }: World,
  run: Run | undefined,
  actions: readonly Action[],
): { sessions: SessionCookies | undefined; cookies: Cookies } {
  const settings = canary.spec.analysis?.sessionAffinity;
  if (!settings || !keepsSessions(canary.spec.provider ?? options.defaultProvider))
    return { sessions: undefined, cookies: NONE };
  const moves = actions.flatMap((action) => (action.type === 'SetTraffic' ? [action.route] : []));
  const share = (moves.at(-1) ?? route)?.canaryWeight ?? 0;
  const previous = status.sessionAffinityCookie ?? status.previousSessionAffinityCookie;
  if (share === 0) {
    const cookies = { ...NONE, previousSessionAffinityCookie: previous };
    return { sessions: previous ? { kind: 'end', previous } : undefined, cookies };
  }
  const { previousSessionAffinityCookie } = status;
  const canaryCookie = cookie(settings.cookieName, status.sessionAffinityCookie, run);
  const { sessionAffinityCookie, primarySessionAffinityCookie } = status;
  if (canaryCookie === undefined)
    return {
      sessions: undefined,
      cookies: { sessionAffinityCookie, primarySessionAffinityCookie, previousSessionAffinityCookie },
    };
  const name = settings.primaryCookieName;
  const primary = name ? cookie(name, status.primarySessionAffinityCookie, run) : undefined;
  const cookies = {
    sessionAffinityCookie: canaryCookie,
    primarySessionAffinityCookie: primary ?? status.primarySessionAffinityCookie,
    previousSessionAffinityCookie,
  };
  return {
    sessions: { kind: 'keep', canary: canaryCookie, ...(primary === undefined ? {} : { primary }) },
    cookies,
  };
}

/** The cookie from before, or a new one for this run; undefined if there is neither. */
function cookie(name: string, before: string | undefined, run: Run | undefined): string | undefined {
  if (before?.startsWith(`${name}=`)) return before;
  return run && `${name}=${letters(`${name} ${run.digest} ${run.startTime}`)}`;
}

/** Ten letters by FNV-1a (32 bits), in place of Flagger's random ones: they name the run and are no secret. */
function letters(text: string): string {
  return Array.from({ length: 10 }, (_, index) => {
    let hash = 0x811c9dc5;
    for (const character of `${index}${text}`)
      hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    return String.fromCharCode(97 + (hash % 26));
  }).join('');
}
