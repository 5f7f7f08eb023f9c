import type { CanaryStatus } from '../../api/canary/status.ts';
import { keepsSessions } from '../../api/defaults.ts';
import type { SessionCookies } from '../../api/observed.ts';
import type { Action } from '../action.ts';
import type { Run } from '../run.ts';
import type { World } from '../world.ts';

type Cookies = Pick<
  CanaryStatus,
  'sessionAffinityCookie' | 'primarySessionAffinityCookie' | 'previousSessionAffinityCookie'
>;

/**
 * Session affinity (flagger-behaviour 3.1): while the canary has a share, users stay on the side that answered them; once it has none, its
 * cookie is taken back. Gives what the status says of it, and every move of traffic with it. The cookies follow from the run, so that a crash
 * before the status was written gives the same ones again.
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
  if (canaryCookie === undefined) return { sessions: undefined, cookies: cookiesOf(status) };
  const name = settings.primaryCookieName;
  const primary = name === undefined ? undefined : cookie(name, status.primarySessionAffinityCookie, run);
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

function cookiesOf({
  sessionAffinityCookie,
  primarySessionAffinityCookie,
  previousSessionAffinityCookie,
}: CanaryStatus): Cookies {
  return { sessionAffinityCookie, primarySessionAffinityCookie, previousSessionAffinityCookie };
}

/** The cookie as it was given out before, or a new one of this run; undefined when there is no run that it could be of. */
function cookie(name: string, before: string | undefined, run: Run | undefined): string | undefined {
  if (before?.startsWith(`${name}=`)) return before;
  return run && `${name}=${letters(`${name} ${run.digest} ${run.startTime}`)}`;
}

/** Ten letters that differ for different texts, as Flagger's random ones do: no secret, only a name of this run. */
function letters(text: string): string {
  return Array.from({ length: 10 }, (_, index) =>
    String.fromCharCode(97 + (hash(`${index}${text}`) % 26)),
  ).join('');
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return value;
}
