import { keepsSessions } from '../api/effective.ts';
import type { SessionCookies } from '../api/observed.ts';
import type { Draft } from './draft.ts';
import type { Run } from './run.ts';

/**
 * Session affinity (flagger-behaviour 3.1): while the canary has a share, users stay on the side that answered them; once it has none, its
 * cookie is taken back. Says so in the status and in every move of traffic. The cookies follow from the run, so that a crash before the
 * status was written gives the same ones again.
 */
export function keepSessions(draft: Draft): void {
  const sessions = sessionsOf(draft);
  for (const [index, action] of draft.actions.entries()) {
    if (action.type === 'SetTraffic' && sessions && !action.route.matched)
      draft.actions[index] = { ...action, route: { ...action.route, sessions } };
  }
}

function sessionsOf(draft: Draft): SessionCookies | undefined {
  const { world, status } = draft;
  const settings = world.canary.spec.analysis?.sessionAffinity;
  if (!settings || !keepsSessions(world.canary.spec.provider ?? world.options.defaultProvider)) {
    forget(draft);
    delete status.previousSessionAffinityCookie;
    return undefined;
  }
  if (shareOfCanary(draft) > 0) {
    const canary = cookie(settings.cookieName, status.sessionAffinityCookie, draft.run);
    if (canary === undefined) return undefined;
    status.sessionAffinityCookie = canary;
    const primary =
      settings.primaryCookieName === undefined
        ? undefined
        : cookie(settings.primaryCookieName, status.primarySessionAffinityCookie, draft.run);
    if (primary === undefined) return { kind: 'keep', canary };
    status.primarySessionAffinityCookie = primary;
    return { kind: 'keep', canary, primary };
  }
  if (status.sessionAffinityCookie) status.previousSessionAffinityCookie = status.sessionAffinityCookie;
  forget(draft);
  const previous = status.previousSessionAffinityCookie;
  return previous ? { kind: 'end', previous } : undefined;
}

/** What the canary has once the actions are done. */
function shareOfCanary({ actions, world }: Draft): number {
  const moves = actions.flatMap((action) => (action.type === 'SetTraffic' ? [action.route] : []));
  return (moves.at(-1) ?? world.route)?.canaryWeight ?? 0;
}

function forget({ status }: Draft): void {
  delete status.sessionAffinityCookie;
  delete status.primarySessionAffinityCookie;
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
