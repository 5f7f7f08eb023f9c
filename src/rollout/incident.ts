import { alertsById, alertsFor, type Canary, sharesWorkload } from '../api/canary/canary.ts';
import type { CanaryStatus } from '../api/canary/status.ts';
import { bareCommit } from '../api/commit.ts';
import {
  endsAlerts,
  type Incident,
  type IncidentOutcome,
  openAlerts,
  revertCommand,
  type Severity,
} from '../api/incident.ts';
import { commandOn, conditionOf, nameOf, present } from '../api/kubernetes.ts';
import { limits, shorten } from '../api/limits.ts';
import { GATE_REASONS, knownReason, type RolloutReason } from '../api/reasons.ts';
import { sinceMs, stamp } from '../api/time.ts';
import { diagnose } from '../health/diagnosis.ts';
import { isReady, whyNotReady } from '../health/readiness.ts';
import type { Result } from './report.ts';
import { describeRelease, type Ending, headRelease, lastKnownGood, type Run, runOf } from './world.ts';

/** Characters of a message. */
export const MAX_TEXT = 512;

/** What is reported, before the facts are added. */
interface Moment {
  readonly outcome: IncidentOutcome;
  readonly reason: RolloutReason;
  readonly message: string;
  readonly finding?: string | undefined;
  /** The release it is about; absent: head's. */
  readonly run?: Run | undefined;
  /** Tells it from others of the same release; absent: when that was started. */
  readonly since?: string;
}

const SEVERITY: Readonly<Record<IncidentOutcome, Severity>> = {
  Initialized: 'info',
  Started: 'info',
  Succeeded: 'info',
  Waiting: 'warn',
  Stopped: 'warn',
  Held: 'error',
  Failed: 'error',
  Reverted: 'error',
};

/** What stops a release is reported at most once in this time for one reason, and is over when it has not come back for so long. */
const STOPPED_AGAIN_MS = 3_600_000;

/** Reasons that are no error of the release: done by a person, or reported before. */
const WARNINGS: ReadonlySet<string> = new Set(['Rejected', 'Aborted', 'RolledBack', 'Superseded']);

/**
 * The incident of this decision; undefined if it enters no state that is reported. Compared with the status that was read back, so that a
 * crash before the write reports again and one after it does not; each key is reported once.
 */
export function newIncident(draft: Result, status: CanaryStatus): Incident | undefined {
  // Flagger reported what happened before it was adopted.
  const isAdopted = draft.actions.some(({ type }) => type === 'AdoptPrimary');
  const moment = isAdopted ? undefined : momentOf(draft, status);
  if (!moment) return undefined;
  const about = aboutOf(draft, moment.run);
  const parts = [about.digest, moment.since ?? about.since, moment.outcome, moment.reason];
  const key = unreportedKey(draft.world.nowMs, status, parts);
  if (key === undefined) return undefined;
  const severity = WARNINGS.has(moment.reason) ? 'warn' : SEVERITY[moment.outcome];
  const isBad = severity !== 'info';
  const { canary, options } = draft.world;
  const alerts = alertsFor(canary, severity, options.hasDefaultAlert === true);
  if (endsAlerts({ severity, outcome: moment.outcome }))
    alerts.push(
      ...openAlerts(status).filter((name) => alertsById(canary).has(name) && !alerts.includes(name)),
    );
  return present({
    key,
    time: draft.now,
    outcome: moment.outcome,
    severity,
    reason: moment.reason,
    message: shorten(moment.message, MAX_TEXT),
    commit: about.commit,
    author: about.author && shorten(about.author, limits.subjectCharacters),
    subject: about.subject && shorten(about.subject, limits.subjectCharacters),
    finding: findingOf(moment, draft),
    onCanary: isBad ? canaryComparison(draft, moment.reason, moment.run) : undefined,
    stays: staysApplied(draft, moment.outcome, about.commit),
    next: isBad && status.next && status.next.action !== 'nothing automatic' ? status.next : undefined,
    command: isBad ? commandFor(canary, moment, about) : undefined,
    ...toldTo(status, alerts),
  }) as Incident;
}

/** What every report has: which releases serve, and the alerts that are to be sent of it. */
export function toldTo(
  { serving = [] }: CanaryStatus,
  alerts: readonly string[],
): Pick<Incident, 'serving' | 'alerts'> {
  return {
    serving: serving.slice(0, 4).map(({ digest: _, ...row }) => row),
    ...(alerts.length > 0 ? { alerts: alerts.map((name) => ({ name, state: 'waiting' as const })) } : {}),
  };
}

/**
 * The key of a report; undefined if it was made. What only a person can end may come back long after it was ended, for the same release: that is
 * reported again.
 */
export function unreportedKey(
  nowMs: number,
  { incidents = [] }: CanaryStatus,
  parts: readonly string[],
): string | undefined {
  const key = parts.filter(Boolean).join('/');
  const known = incidents.find((one) => one.key === key || one.key.startsWith(`${key}/`));
  if (!known) return key;
  const isOver = known.outcome === 'Stopped' && sinceMs(nowMs, known.time) >= STOPPED_AGAIN_MS;
  return isOver ? `${key}/${stamp(nowMs)}` : undefined;
}

/** The state that this decision enters, if it is reported. */
function momentOf(draft: Result, status: CanaryStatus): Moment | undefined {
  const before = draft.world.status;
  const runBefore = runOf(before);
  const { run } = draft;
  if (run?.ending && !runBefore?.ending) return endingMoment(run.ending, run);
  if (run && status.postPromotion?.state === 'Held') return heldMoment(before, status, run);
  if (status.phase === 'Initialized' && before.phase !== 'Initialized')
    return momentOfEvent(
      draft,
      'Initialized',
      'Initialized',
      run ?? (runBefore?.ending ? undefined : runBefore),
    );
  if (run) return momentUnderWay(draft, status, { run, runBefore });
  return runBefore ? undefined : momentAtRest(draft, status);
}

/** A release waits at a closed gate, has begun, or can only go on by a person's doing. */
function momentUnderWay(
  draft: Result,
  status: CanaryStatus,
  { run, runBefore }: { run: Run; runBefore: Run | undefined },
): Moment | undefined {
  // A closed gate is reported once, unless its webhooks want no alert (muteAlert).
  const { closedGate } = run;
  const gateBefore = runBefore?.startTime === run.startTime ? runBefore.closedGate : undefined;
  if (closedGate && !closedGate.muted && closedGate.type !== gateBefore?.type)
    return momentOfEvent(draft, 'Waiting', GATE_REASONS[closedGate.type], run);
  const isNew = run.digest !== runBefore?.digest && status.phase !== 'Initializing' && !run.revert;
  return isNew ? momentOfEvent(draft, 'Started', 'NewRevision', run) : stalledMoment(draft, run);
}

function endingMoment({ phase, reason, message }: Ending, run: Run): Moment {
  if (phase === 'Succeeded') return { outcome: 'Succeeded', reason, message, run };
  const outcome = run.revert ? 'Reverted' : 'Failed';
  return { outcome, reason, message, finding: run.revert?.finding ?? message, run };
}

function heldMoment(before: CanaryStatus, status: CanaryStatus, run: Run): Moment | undefined {
  const { reason, cause: finding = 'the cause is unknown' } = status.postPromotion ?? {};
  const { state, reason: reasonBefore } = before.postPromotion ?? {};
  if (state === 'Held' && reasonBefore === reason) return undefined;
  const moment = { outcome: 'Held', reason: knownReason(reason, 'Held'), run } as const;
  if (status.phase !== 'Failed')
    return { ...moment, message: `${describeRelease(run)} is held: ${finding}`, finding };
  return { ...moment, message: finding, finding: whyGivenUp(run) ?? finding };
}

/** Why a release was rejected whose way back to the last-known-good did not come to its end. */
function whyGivenUp({ revert, deferred }: Run): string | undefined {
  if (revert?.reject) return revert.finding;
  return deferred?.phase === 'Failed' ? deferred.message : undefined;
}

/** What was found; who undoes Holdfast's writes meanwhile may be the reason for it. */
function findingOf({ finding }: Moment, { world }: Result): string | undefined {
  const found = [finding, world.contention?.message].filter(Boolean);
  return finding && shorten(found.join('; meanwhile '), MAX_TEXT);
}

/** No release was under way and none is: head is the last-known-good, or was rejected before, or a person must act. */
function momentAtRest(draft: Result, { phase, lastAppliedSpec }: CanaryStatus): Moment | undefined {
  const { world } = draft;
  const before = world.status;
  const isChanged = phase !== before.phase || lastAppliedSpec !== before.lastAppliedSpec;
  if (before.phase && isChanged) {
    if (phase === 'Succeeded') return momentOfEvent(draft, 'Succeeded', 'Succeeded', undefined);
    if (phase === 'Failed') return momentOfEvent(draft, 'Failed', 'Rejected', undefined);
  }
  return stalledMoment(draft, undefined) ?? overMoment(draft);
}

/** How long until what stopped a Canary without a release under way is over, so that alerts about it end; undefined: nothing did, it goes on, or it was told. */
export function stopOverInMs({ note, run, status, world }: Result): number | undefined {
  const [last] = status.incidents ?? [];
  const stalled = conditionOf(world.status, 'Stalled');
  const isGood = status.phase === 'Succeeded' || status.phase === 'Initialized';
  if (run || !isGood || last?.outcome !== 'Stopped' || note?.stalled || stalled?.status !== 'False')
    return undefined;
  return STOPPED_AGAIN_MS - sinceMs(world.nowMs, stalled.lastTransitionTime);
}

function overMoment(draft: Result): Moment | undefined {
  const [last] = draft.status.incidents ?? [];
  const inMs = stopOverInMs(draft);
  if (!last || inMs === undefined || inMs > 0) return undefined;
  const message = `what stopped it (${last.reason}) is over`;
  return { outcome: 'Succeeded', reason: 'Succeeded', message, since: last.time };
}

/** From here on only a person can change it; it may have been reported before. */
function stalledMoment({ note, world }: Result, run: Run | undefined): Moment | undefined {
  const stalled = conditionOf(world.status, 'Stalled');
  const isKnown = stalled?.status === 'True' && stalled.reason === note?.reason;
  return note?.stalled && !isKnown
    ? { outcome: 'Stopped', reason: note.reason, message: note.message, run }
    : undefined;
}

/** With the message of the event of this decision. */
function momentOfEvent(
  draft: Result,
  outcome: IncidentOutcome,
  reason: RolloutReason,
  run: Run | undefined,
): Moment {
  const event = draft.events.find((candidate) => candidate.reason === reason);
  const message =
    event?.message ?? draft.note?.message ?? headRelease(draft.world)?.commit.subject ?? outcome;
  return { outcome, reason, message, run };
}

/** The release that an incident is about. */
interface About {
  readonly digest: string;
  readonly commit: string;
  readonly author: string;
  readonly subject: string;
  readonly isMerge?: boolean | undefined;
  /** Tells one rollout of a digest from the next. */
  readonly since: string;
}

/** The run's release, else head's, with the author if head or a record has it. */
function aboutOf(draft: Result, run: Run | undefined): About {
  const head = headRelease(draft.world);
  if (!run) {
    const { commit, author, subject, isMerge } = head?.commit ?? bareCommit();
    const since = commit || draft.now;
    return { digest: head?.digest ?? '', commit, author, subject, isMerge, since };
  }
  const { digest, commit, subject, startTime } = run;
  const known = [head, ...draft.world.records].find((candidate) => candidate?.digest === digest)?.commit;
  const isMerge = known?.commit === commit && known.isMerge;
  return { digest, commit, author: known?.author ?? '', subject, isMerge, since: startTime };
}

/** Reasons that were seen on the primary's pods, which are compared with the canary's. */
const ON_PODS: ReadonlySet<RolloutReason> = new Set(['PrimaryNotReady', 'PrimaryUnhealthy', 'Held']);

/** Whether the canary with the same release has the same problem; undefined if there is nothing to compare. */
function canaryComparison(
  { world, plan }: Result,
  reason: RolloutReason,
  run: Run | undefined,
): string | undefined {
  const { target } = world;
  if (!run) return undefined;
  if (reason === 'ChecksFailed' || reason === 'ChecksUnavailable' || reason === 'ForeignChange') {
    const skipped = plan.skipAnalysis || run.fastLane;
    return skipped
      ? 'the release had no analysis on the canary'
      : 'the same release passed its analysis there';
  }
  if (!ON_PODS.has(reason) || target?.digest !== run.digest || target.desiredReplicas === 0) return undefined;
  if (diagnose(world.primary, target).onCanaryToo)
    return `has the same fault with the same release: ${whyNotReady(target)}`;
  if (isReady(target, plan.canaryReadyPercent))
    return `healthy with the same release, ${target.readyReplicas} of ${target.desiredReplicas} pods ready`;
  return `not healthy with the same release either: ${whyNotReady(target)}`;
}

/** What of the bad commit is not undone: everything outside the workload's own release (design section 5, scope). */
function staysApplied({ world }: Result, outcome: IncidentOutcome, commit: string): string | undefined {
  if (outcome !== 'Failed' && outcome !== 'Reverted') return undefined;
  const good = lastKnownGood(world);
  if (!good || !commit) return undefined;
  return `everything else in ${commit.slice(0, 7)}; only template, ports and config of the workload are those of ${describeRelease(good)}`;
}

/** Reasons for which reverting the commit does not help. */
const OTHER_COMMANDS: Partial<Record<RolloutReason, 'check' | 'primary' | 'canary' | 'retry'>> = {
  CapacityNotReached: 'retry',
  GateDeadlineExceeded: 'retry',
  ChecksUnavailable: 'check',
  ForeignChange: 'canary',
  LKGNotReady: 'primary',
  LKGFailsToo: 'canary',
};

/** One command for people. It contains only names of Kubernetes objects and hexadecimal digits, since it is pasted into a shell. */
export function commandFor(
  { metadata, spec }: Canary,
  { outcome, reason }: { outcome: IncidentOutcome; reason: RolloutReason },
  { commit, isMerge }: Pick<About, 'commit' | 'isMerge'>,
): string {
  const isRelease = outcome === 'Held' || outcome === 'Failed' || outcome === 'Reverted';
  const other = OTHER_COMMANDS[reason];
  const revert = isRelease && other === undefined ? revertCommand(commit, isMerge) : undefined;
  if (revert) return revert;
  if (other === 'check') return 'holdfast check';
  if (other === 'retry' && outcome !== 'Held') return commandOn('retry', nameOf({ metadata }));
  const inNamespace = `kubectl -n ${metadata.namespace ?? 'default'} describe`;
  if (other !== 'primary') return `${inNamespace} canary/${metadata.name}`;
  const { apiVersion, kind, name } = spec.targetRef;
  if (apiVersion.startsWith('serving.knative.dev/'))
    return `${inNamespace} services.serving.knative.dev/${name}`;
  const suffix = sharesWorkload(spec.provider) ? '' : '-primary';
  return `${inNamespace} ${kind.toLowerCase()}/${name}${suffix}`;
}
