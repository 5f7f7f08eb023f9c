import { alertsFor } from '../api/canary/alerts.ts';
import type { Canary } from '../api/canary/canary.ts';
import type { CanaryStatus } from '../api/canary/status.ts';
import { sharesWorkload } from '../api/defaults.ts';
import { type Incident, type IncidentOutcome, revertCommand, type Severity } from '../api/incident.ts';
import { present } from '../api/kubernetes.ts';
import { limits } from '../api/limits.ts';
import type { CommitInfo } from '../api/observed.ts';
import { knownReason, type RolloutReason } from '../api/reasons.ts';
import { shorten } from '../api/text.ts';
import { stamp } from '../api/time.ts';
import { diagnose } from '../health/diagnosis.ts';
import { isReady, whyNotReady } from '../health/readiness.ts';
import { GATE_REASONS } from './hooks.ts';
import type { Result } from './report.ts';
import { headRelease, lastKnownGood, type Run, runOf } from './run.ts';
import { describeRelease } from './world.ts';

const MAX_TEXT = 512;

/** A moment that is reported, before its facts are added. */
interface Moment {
  readonly outcome: IncidentOutcome;
  readonly reason: RolloutReason;
  readonly message: string;
  readonly finding?: string | undefined;
  /** The release it is about; absent: head's. */
  readonly run?: Run | undefined;
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

/** Done by a person, or reported before: no error of the release. */
const WARNINGS: ReadonlySet<string> = new Set(['Rejected', 'Aborted', 'RolledBack', 'Superseded']);

/**
 * What is reported because of this decision; undefined when it enters no state worth reporting. Compared with the status that was read
 * back, so that a crash before the write reports again and one after it does not; nothing is reported twice under one key.
 */
export function newIncident(draft: Result, status: CanaryStatus): Incident | undefined {
  // Only names change then; whoever was there before told of the rest.
  const isTakenOver = draft.actions.some(({ type }) => type === 'AdoptPrimary');
  const moment = isTakenOver ? undefined : momentOf(draft, status);
  if (!moment) return undefined;
  const about = aboutOf(draft, moment.run);
  const key = [about.digest, about.since, moment.outcome, moment.reason].filter(Boolean).join('/');
  if (status.incidents?.some((known) => known.key === key)) return undefined;
  const severity = WARNINGS.has(moment.reason) ? 'warn' : SEVERITY[moment.outcome];
  const isBad = severity !== 'info';
  const { canary, options } = draft.world;
  const alerts = alertsFor(canary, severity, options.hasDefaultAlert === true);
  return present({
    key,
    time: stamp(draft.world.nowMs),
    outcome: moment.outcome,
    severity,
    reason: moment.reason,
    message: shorten(moment.message, MAX_TEXT),
    commit: about.commit,
    author: about.author && shorten(about.author, limits.subjectCharacters),
    subject: about.subject && shorten(about.subject, limits.subjectCharacters),
    finding: moment.finding && shorten(moment.finding, MAX_TEXT),
    onCanary: isBad ? canaryComparison(draft, moment.reason, moment.run) : undefined,
    stays: staysApplied(draft, moment.outcome, about.commit),
    serving: (status.serving ?? []).slice(0, 4).map(({ digest: _, ...row }) => row),
    next: isBad && status.next && status.next.action !== 'nothing automatic' ? status.next : undefined,
    command: isBad ? commandFor(canary, moment, about.commit) : undefined,
    alerts: alerts.length > 0 ? alerts.map((name) => ({ name, state: 'waiting' as const })) : undefined,
  }) as Incident;
}

/** The state that this decision enters, if it is reported. */
function momentOf(draft: Result, status: CanaryStatus): Moment | undefined {
  const before = draft.world.status;
  const runBefore = runOf(before);
  const { run } = draft;
  if (run?.ending && !runBefore?.ending) return endingMoment(run);
  const ended = run ?? (runBefore?.ending ? undefined : runBefore);
  if (status.postPromotion?.state === 'Held' && run) return heldMoment(before, status, run);
  if (status.phase === 'Initialized' && before.phase !== 'Initialized')
    return momentOfEvent(draft, 'Initialized', 'Initialized', ended);
  const closed = run && gateMoment(draft, run, runBefore);
  if (closed) return closed;
  if (run && run.digest !== runBefore?.digest && status.phase !== 'Initializing' && !run.revert)
    return momentOfEvent(draft, 'Started', 'NewRevision', run);
  if (run || runBefore) return undefined;
  return settledMoment(draft, status) ?? stoppedMoment(draft);
}

function endingMoment(run: Run): Moment | undefined {
  const { ending, revert } = run;
  if (!ending) return undefined;
  const { phase, reason, message } = ending;
  if (phase === 'Succeeded') return { outcome: 'Succeeded', reason, message, run };
  const outcome = revert ? 'Reverted' : 'Failed';
  return { outcome, reason, message, finding: revert?.finding ?? message, run };
}

function heldMoment(before: CanaryStatus, status: CanaryStatus, run: Run): Moment | undefined {
  const post = status.postPromotion;
  const was = before.postPromotion;
  if (was?.state === 'Held' && was.reason === post?.reason) return undefined;
  const finding = post?.cause ?? 'the cause is unknown';
  const message = status.phase === 'Failed' ? finding : `${describeRelease(run)} is held: ${finding}`;
  return { outcome: 'Held', reason: knownReason(post?.reason, 'Held'), message, finding, run };
}

/** A closed gate is reported once, unless its webhooks want no alert (muteAlert). */
function gateMoment(draft: Result, run: Run, runBefore: Run | undefined): Moment | undefined {
  const { closedGate } = run;
  if (!closedGate || closedGate.muted) return undefined;
  const isKnown = runBefore?.startTime === run.startTime && runBefore.closedGate?.type === closedGate.type;
  return isKnown ? undefined : momentOfEvent(draft, 'Waiting', GATE_REASONS[closedGate.type], run);
}

/** No release ran and none runs: head was found to be good already, or rejected before. */
function settledMoment(draft: Result, { phase, lastAppliedSpec }: CanaryStatus): Moment | undefined {
  const before = draft.world.status;
  if (before.phase === undefined || before.phase === '') return undefined;
  if (phase === before.phase && lastAppliedSpec === before.lastAppliedSpec) return undefined;
  if (phase === 'Succeeded') return momentOfEvent(draft, 'Succeeded', 'Succeeded', undefined);
  return phase === 'Failed' ? momentOfEvent(draft, 'Failed', 'Rejected', undefined) : undefined;
}

/** Nothing goes on without a person. */
function stoppedMoment(draft: Result): Moment | undefined {
  const { note, world } = draft;
  if (!note?.stalled) return undefined;
  const stalled = world.status.conditions?.find(({ type }) => type === 'Stalled');
  if (stalled?.status === 'True' && stalled.reason === note.reason) return undefined;
  return { outcome: 'Stopped', reason: note.reason, message: note.message };
}

/** As the event of this decision says it. */
function momentOfEvent(
  draft: Result,
  outcome: IncidentOutcome,
  reason: RolloutReason,
  run: Run | undefined,
): Moment {
  const said = draft.events.find((event) => event.reason === reason)?.message;
  const message = said ?? draft.note?.message ?? headRelease(draft.world)?.commit.subject ?? outcome;
  return { outcome, reason, message, run };
}

/** The release that news are about. */
interface About {
  readonly digest: string;
  readonly commit: string;
  readonly author: string;
  readonly subject: string;
  /** Tells one rollout of a digest from the next. */
  readonly since: string;
}

/** The run's release, else head's, with the author from whoever knows the commit. */
function aboutOf(draft: Result, run: Run | undefined): About {
  const head = headRelease(draft.world);
  if (!run) {
    const { commit, author, subject } = head?.commit ?? unknown;
    const since = commit || stamp(draft.world.nowMs);
    return { digest: head?.digest ?? '', commit, author, subject, since };
  }
  const { digest, commit, subject, startTime } = run;
  const known = [head, ...draft.world.records].find((candidate) => candidate?.digest === digest)?.commit;
  return { digest, commit, author: known?.author ?? '', subject, since: startTime };
}

const unknown: CommitInfo = { commit: '', subject: '', author: '', time: '' };

/** Reasons that were seen on the primary's pods, so that the canary's are what to compare with. */
const ON_PODS: ReadonlySet<RolloutReason> = new Set(['PrimaryNotReady', 'PrimaryUnhealthy', 'Held']);

/** Whether the canary with the same release showed the same; undefined where there is nothing to compare. */
function canaryComparison(
  { world, plan }: Result,
  reason: RolloutReason,
  run: Run | undefined,
): string | undefined {
  const { target } = world;
  if (!run) return undefined;
  if (reason === 'ChecksFailed' || reason === 'ChecksUnavailable') {
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

/** Where taking the commit back is not the way out. */
const OTHER_COMMANDS: Partial<Record<RolloutReason, 'check' | 'primary' | 'canary'>> = {
  ChecksUnavailable: 'check',
  LKGNotReady: 'primary',
  LKGFailsToo: 'canary',
};

/** One command that fits the state; only names of Kubernetes and hexadecimal digits go into it, since somebody pastes it into a shell. */
export function commandFor(
  { metadata, spec }: Canary,
  { outcome, reason }: { outcome: IncidentOutcome; reason: RolloutReason },
  commit: string,
): string {
  const isRelease = outcome === 'Held' || outcome === 'Failed' || outcome === 'Reverted';
  const other = OTHER_COMMANDS[reason];
  const revert = isRelease && other === undefined ? revertCommand(commit) : undefined;
  if (revert) return revert;
  if (other === 'check') return 'holdfast check';
  const inNamespace = `kubectl -n ${metadata.namespace ?? 'default'} describe`;
  if (other !== 'primary') return `${inNamespace} canary/${metadata.name}`;
  const { apiVersion, kind, name } = spec.targetRef;
  if (apiVersion.startsWith('serving.knative.dev/'))
    return `${inNamespace} services.serving.knative.dev/${name}`;
  const suffix = sharesWorkload(spec.provider) ? '' : '-primary';
  return `${inNamespace} ${kind.toLowerCase()}/${name}${suffix}`;
}
