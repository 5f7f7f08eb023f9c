import { mergeConditions, promotedCondition } from '../api/canary/conditions.ts';
import type { CanaryStatus } from '../api/canary/status.ts';
import { eventTextOf, lineOf } from '../api/incident.ts';
import { isRecord, present } from '../api/kubernetes.ts';
import { limits, shorten } from '../api/limits.ts';
import { stamp } from '../api/time.ts';
import type { Context } from './context.ts';
import { newIncident, stopOverInMs } from './incident.ts';
import type { Decision, Effects, Note } from './outcome.ts';
import { findingsOf, type Result, servingOf } from './report.ts';
import { type State, statusOf } from './state.ts';
import { keepOtherBackends } from './traffic/other-backends.ts';
import { keepSessions } from './traffic/sessions.ts';
import { runOf, type World } from './world.ts';

/** What another writer undoes for so long is for a person to end; a controller that only starts again is done sooner. */
const LONG_CONTENTION_MS = 60_000;

/** A decision before it is written to the status. `state` undefined: the state in the status stays. */
export interface Decided {
  readonly state: State | undefined;
  readonly effects: Effects;
  readonly intentFirst: boolean;
}

/** Derives the status: weights, commits and records only as read back (S27, S28), and one status line. */
export function finish(context: Context, { state, effects: decided, intentFirst }: Decided): Decision {
  const { world } = context;
  const effects = { ...decided, note: underContention(world, decided.note) };
  const { check } = effects;
  const run = state && 'run' in state ? state.run : undefined;
  const sessions = keepSessions(world, run, effects.actions ?? []);
  const others = keepOtherBackends(context, sessions.actions);
  const traffic = { ...sessions.cookies, otherBackends: others.otherBackends };
  const derived = derive(context, state, { ...effects, status: { ...effects.status, ...traffic } });
  const result = resultOf(context, { ...effects, actions: others.actions }, derived);
  const incident = newIncident(result, derived);
  const incidents = incident
    ? [incident, ...(derived.incidents ?? [])].slice(0, limits.statusIncidents)
    : derived.incidents;
  const reported = present({ ...derived, incidents });
  const findings = [promotedCondition(reported.phase), ...findingsOf(result)].filter(
    (entry) => entry !== undefined,
  );
  const status = present({
    ...reported,
    message: messageOf(result, reported),
    conditions: mergeConditions(reported, findings, world.nowMs, world.canary.metadata.generation),
  });
  const changed = !isSame(status, world.status);
  const wakes = [...(effects.wakesMs ?? []), others.wakeMs, stopOverInMs(result) ?? 0].filter((ms) => ms > 0);
  // Bad news is one event with the whole text of the incident, in place of the short one.
  const events = (effects.events ?? []).map((event) => {
    const isIncident =
      incident && event.type === 'Warning' && [incident.reason, incident.outcome].includes(event.reason);
    return isIncident ? { ...event, message: eventTextOf(incident) } : event;
  });
  return {
    status: changed ? { ...status, lastTransitionTime: context.now } : world.status,
    actions: others.actions,
    intentFirst: intentFirst && others.actions.length > 0,
    check: check && { ...check, facts: { ...check.facts, phase: status.phase ?? '' } },
    events,
    wakeAfterMs: wakes.length > 0 ? Math.max(1, Math.min(...wakes)) : undefined,
  };
}

/** The status line; that of a Canary whose writes are undone says so, unless a person is called for something else already. */
function underContention({ canary, contention, nowMs }: World, note: Note | undefined): Note | undefined {
  const isLong = contention !== undefined && nowMs - contention.sinceMs >= LONG_CONTENTION_MS;
  if (!isLong || note?.stalled || canary.metadata.deletionTimestamp !== undefined) return note;
  return { reason: 'ForeignChange', message: contention.message, stalled: true };
}

function derive(
  { world, good }: Context,
  state: State | undefined,
  { status: patch = {}, note }: Effects,
): CanaryStatus {
  const { generation } = world.canary.metadata;
  const next = note?.stalled ? undefined : note?.next;
  const status: CanaryStatus = {
    ...world.status,
    failedChecks: world.status.failedChecks ?? 0,
    iterations: world.status.iterations ?? 0,
    ...(state ? statusOf(state) : {}),
    // During a switch of providers the status keeps the one in effect.
    ...(world.movesTo === undefined
      ? { provider: world.canary.spec.provider ?? world.options.defaultProvider }
      : {}),
    ...patch,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    canaryWeight: world.route?.canaryWeight ?? 0,
    rejected: (patch.rejected ?? world.status.rejected ?? [])
      .slice(-limits.rejectedDigests)
      .map((entry) => ({ ...entry })),
    next: next && {
      action: shorten(next.action, limits.messageCharacters),
      ...(next.timeMs === undefined ? {} : { time: stamp(next.timeMs) }),
    },
  };
  const named = good ? { ...status, ...lastKnownGoodFields(world, status, good) } : status;
  return { ...named, serving: servingOf(world, runOf(named)) };
}

function resultOf(context: Context, effects: Effects, status: CanaryStatus): Result {
  return {
    ...context,
    status,
    run: runOf(status),
    actions: effects.actions ?? [],
    events: effects.events ?? [],
    note: effects.note,
  };
}

/** The status line; if it repeats the last incident, it is that incident's line, with what people can do. */
function messageOf({ note }: Result, { message, incidents }: CanaryStatus): string | undefined {
  const [last] = incidents ?? [];
  if (!note) return message;
  const isBadNews = last && last.severity !== 'info' && last.message === note.message;
  return isBadNews ? lineOf(last) : shorten(note.message, limits.messageCharacters);
}

/** lastKnownGood and lastPromoted* follow the record that was read back, never an intention. */
function lastKnownGoodFields(
  { status: before }: World,
  status: CanaryStatus,
  good: NonNullable<Context['good']>,
): Pick<CanaryStatus, 'lastPromotedSpec' | 'lastPromotedCommit' | 'lastKnownGood'> {
  const isAsBefore = before.lastKnownGood?.digest === good.digest;
  const commit = isAsBefore ? (status.lastPromotedCommit ?? good.commit.commit) : good.commit.commit;
  const record = { commit, digest: good.digest, promotedTime: good.promotedTime ?? '', record: good.name };
  return { lastPromotedSpec: good.digest, lastPromotedCommit: commit, lastKnownGood: record };
}

/** Whether two statuses are equal: the order of keys, keys without a value, and `lastTransitionTime` do not count. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((entry, index) => isSame(entry, b[index]));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  // Each step compares whole statuses: no set of keys is made for it.
  for (const key in a) if (key !== 'lastTransitionTime' && !isSame(a[key], b[key])) return false;
  for (const key in b)
    if (b[key] !== undefined && a[key] === undefined && key !== 'lastTransitionTime') return false;
  return true;
}
