import type { CanaryStatus } from '../api/canary-status.ts';
import type { Incident } from '../api/incident.ts';
import { eventTextOf, lineOf } from '../api/incident-text.ts';
import type { Decision, RolloutEvent } from './action.ts';
import { mergeConditions, promotedCondition } from './conditions.ts';
import type { Draft } from './draft.ts';
import { newIncident, remembered } from './incident.ts';
import { keepOthers } from './other-backends.ts';
import { findingsOf, servingOf } from './report.ts';
import { lastKnownGood } from './run.ts';
import { isSame } from './same.ts';
import { keepSessions } from './sessions.ts';
import { shorten, stamp } from './units.ts';
import type { World } from './world.ts';

const MAX_LINE_CHARACTERS = 160;
const MAX_REJECTED = 100;

/** Derives the status from the draft: weights, commits and records only as read back (S27, S28), and one line for people. */
export function finish(draft: Draft): Decision {
  const { world } = draft;
  if (draft.leavesStatus) return untouched(world);
  keepSessions(draft);
  keepOthers(draft);
  const status = derive(draft);
  const incident = newIncident(draft, status);
  if (incident) status.incidents = remembered(status.incidents, incident);
  status.message = messageOf(draft, status);
  if (status.message === undefined) delete status.message;
  const findings = [promotedCondition(status.phase), ...findingsOf(draft)].filter(
    (entry) => entry !== undefined,
  );
  status.conditions = mergeConditions(status, findings, world.nowMs, world.canary.metadata.generation);
  const changed = !isSame(status, world.status);
  if (changed) status.lastTransitionTime = stamp(world.nowMs);
  return {
    status: changed ? status : world.status,
    actions: draft.actions,
    intentFirst: draft.intentFirst,
    check: draft.check,
    events: incident ? told(draft.events, incident) : draft.events,
    wakeAfterMs: draft.wakeAfterMs,
  };
}

function untouched({ status }: World): Decision {
  return { status, actions: [], intentFirst: false, check: undefined, events: [], wakeAfterMs: undefined };
}

function derive(draft: Draft): CanaryStatus {
  const { world } = draft;
  const status: CanaryStatus = { ...draft.status };
  const { generation } = world.canary.metadata;
  if (generation !== undefined) status.observedGeneration = generation;
  status.canaryWeight = world.route?.canaryWeight ?? 0;
  // Of two sorts of providers the one in effect is kept until it has moved.
  if (world.movesTo === undefined)
    status.provider = world.canary.spec.provider ?? world.options.defaultProvider;
  status.failedChecks ??= 0;
  status.iterations ??= 0;
  nameTheGood(draft, status);
  status.rejected = world.rejected.slice(-MAX_REJECTED).map((entry) => ({ ...entry }));
  status.serving = servingOf(draft);
  if (draft.next) {
    const action = shorten(draft.next.action, MAX_LINE_CHARACTERS);
    status.next = draft.next.timeMs === undefined ? { action } : { action, time: stamp(draft.next.timeMs) };
  } else {
    delete status.next;
  }
  if (draft.run) status.run = { ...draft.run };
  else delete status.run;
  return status;
}

/** The status line; where it says what people were told last, it says what they can do, too. */
function messageOf({ note }: Draft, { message, incidents }: CanaryStatus): string | undefined {
  const [last] = incidents ?? [];
  if (!note) return message;
  const isBadNews = last?.severity !== 'info' && last?.message === note.message;
  return isBadNews && last ? lineOf(last) : shorten(note.message, MAX_LINE_CHARACTERS);
}

/** Bad news is one event with everything in it, in place of the short one. */
function told(events: readonly RolloutEvent[], incident: Incident): RolloutEvent[] {
  const isIt = ({ type, reason }: RolloutEvent) =>
    type === 'Warning' && (reason === incident.reason || reason === incident.outcome);
  return events.map((event) => (isIt(event) ? { ...event, message: eventTextOf(incident) } : event));
}

/** lastKnownGood and lastPromoted* follow the record that was read back, never an intention. */
function nameTheGood(draft: Draft, status: CanaryStatus): void {
  const good = lastKnownGood(draft.world);
  if (!good) return;
  const sameAsBefore = status.lastKnownGood?.digest === good.digest;
  const commit = sameAsBefore ? (status.lastPromotedCommit ?? good.commit.commit) : good.commit.commit;
  status.lastPromotedSpec = good.digest;
  status.lastPromotedCommit = commit;
  status.lastKnownGood = {
    commit,
    digest: good.digest,
    promotedTime: good.promotedTime ?? '',
    record: good.name,
  };
}
