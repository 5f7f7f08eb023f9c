import { mergeConditions, promotedCondition } from '../api/canary/conditions.ts';
import type { CanaryStatus } from '../api/canary/status.ts';
import { eventTextOf, type Incident, lineOf } from '../api/incident.ts';
import { isRecord } from '../api/json.ts';
import { present } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import { shorten } from '../api/text.ts';
import { stamp } from '../api/time.ts';
import type { Decision, RolloutEvent } from './action.ts';
import type { Context } from './context.ts';
import { newIncident } from './incident.ts';
import type { Effects } from './outcome.ts';
import { findingsOf, type Result, servingOf } from './report.ts';
import { runOf } from './run.ts';
import { type State, statusOf } from './state.ts';
import { keepOtherBackends } from './traffic/other-backends.ts';
import { keepSessions } from './traffic/sessions.ts';
import type { World } from './world.ts';

const MAX_INCIDENTS = 5;

/** What was decided, before the status says so. `state` undefined: what the status says of the release stays. */
export interface Decided {
  readonly state: State | undefined;
  readonly effects: Effects;
  readonly intentFirst: boolean;
}

/** Derives the status: weights, commits and records only as read back (S27, S28), and one line for people. */
export function finish(context: Context, { state, effects, intentFirst }: Decided): Decision {
  const { world } = context;
  const { check } = effects;
  const run = state && 'run' in state ? state.run : undefined;
  const sessions = keepSessions(world, run, effects.actions ?? []);
  const others = keepOtherBackends(context, sessions.actions);
  const said = { ...sessions.cookies, otherBackends: others.otherBackends };
  const derived = derive(context, state, { ...effects, status: { ...effects.status, ...said } });
  const result = resultOf(context, { ...effects, actions: others.actions }, derived);
  const incident = newIncident(result, derived);
  const incidents = incident
    ? [incident, ...(derived.incidents ?? [])].slice(0, MAX_INCIDENTS)
    : derived.incidents;
  const told = present({ ...derived, incidents });
  const findings = [promotedCondition(told.phase), ...findingsOf(result)].filter(
    (entry) => entry !== undefined,
  );
  const status = present({
    ...told,
    message: messageOf(result, told),
    conditions: mergeConditions(told, findings, world.nowMs, world.canary.metadata.generation),
  });
  const changed = !isSame(status, world.status);
  const wakes = [...(effects.wakesMs ?? []), others.wakeMs].filter((ms) => ms > 0);
  return {
    status: changed ? { ...status, lastTransitionTime: stamp(world.nowMs) } : world.status,
    actions: others.actions,
    intentFirst: intentFirst && others.actions.length > 0,
    check: check && { ...check, facts: { ...check.facts, phase: status.phase ?? '' } },
    events: incident ? withIncidentText(effects.events ?? [], incident) : [...(effects.events ?? [])],
    wakeAfterMs: wakes.length > 0 ? Math.max(1, Math.min(...wakes)) : undefined,
  };
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
    // Of two sorts of providers the one in effect is kept until it has moved.
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

/** The status line; where it says what people were told last, it says what they can do, too. */
function messageOf({ note }: Result, { message, incidents }: CanaryStatus): string | undefined {
  const [last] = incidents ?? [];
  if (!note) return message;
  const isBadNews = last?.severity !== 'info' && last?.message === note.message;
  return isBadNews && last ? lineOf(last) : shorten(note.message, limits.messageCharacters);
}

/** Bad news is one event with everything in it, in place of the short one. */
function withIncidentText(events: readonly RolloutEvent[], incident: Incident): RolloutEvent[] {
  const isIt = ({ type, reason }: RolloutEvent) =>
    type === 'Warning' && (reason === incident.reason || reason === incident.outcome);
  return events.map((event) => (isIt(event) ? { ...event, message: eventTextOf(incident) } : event));
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

/** The stamp of the last change is no change itself. */
const NO_CHANGE = 'lastTransitionTime';

/** Whether two statuses say the same: the order of keys, keys without a value, and `lastTransitionTime` tell nothing. */
export function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((entry, index) => isSame(entry, b[index]));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  keys.delete(NO_CHANGE);
  return [...keys].every((key) => isSame(a[key], b[key]));
}
