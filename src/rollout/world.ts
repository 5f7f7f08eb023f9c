/** What `step` reads: the world as it was read back, and in it the release under way, records and rejections. */

import type { HookType } from '../api/canary/analysis.ts';
import type { Canary } from '../api/canary/canary.ts';
import type { CanaryPhase, CanaryStatus } from '../api/canary/status.ts';
import { type CommitInfo, gitPart } from '../api/commit.ts';
import { commandOn, nameOf } from '../api/kubernetes.ts';
import type { CheckOutcome, RouteView } from '../api/observed.ts';
import type { RolloutReason } from '../api/reasons.ts';
import type { WorkloadView } from '../health/workload-view.ts';

/** Everything `step` reads: one Canary at one moment, as read back by the engine. */
export interface World {
  /** Milliseconds since the epoch on a clock that does not jump inside a process (S30). */
  nowMs: number;
  /** Milliseconds that the machine's clock is ahead of `nowMs`, since it was set: windows and freezes are compared with what it shows. Default 0. */
  calendarAheadMs?: number;
  /** Since when this process is the leader, on the clock of `nowMs`; undefined if it is not, as in a command that only reads. */
  leadingSinceMs?: number | undefined;
  /** Since when this process sees the Canary being deleted, on the clock of `nowMs`: `deletionTimestamp` is of another clock (S30). */
  deletingSinceMs?: number | undefined;
  canary: Canary;
  /** As last acknowledged by the API server; an empty object before the first write. */
  status: CanaryStatus;
  /** What Git says now. */
  head: HeadView;
  /** Release records read back from the cluster, newest first; damaged ones are included. */
  records: readonly RecordView[];
  /** Digests that failed and must not be tried again (S14), read back from their Secret. */
  rejected: readonly RejectionView[];
  /** Why that Secret cannot be read; then the rejections in the status count. */
  rejectionsProblem?: string | undefined;
  primary: WorkloadView | undefined;
  /** The target of the Canary: Flagger's canary workload. */
  target: WorkloadView | undefined;
  /** The scaler of autoscalerRef; undefined: there is none. */
  scaler?: ScalerView | undefined;
  /** Another tool applies the target and no Source holds it: its template is read and never written (design section 2.5). */
  foreignTarget?: boolean;
  /** Both sides are pods of one workload, whose own rolling update is paused at the step (provider native, ADR 21). */
  sharesWorkload?: boolean;
  /** Of such a workload: pods of another template than its own that its controller waits for and never replaces. */
  stuckPods?: readonly StuckPod[];
  /** The provider of the spec, if it needs a switch between native and copies: until that is done, `canary.spec.provider` has the former one. */
  movesTo?: string | undefined;
  /** During such a switch: Git has the route, with its own backends that lead to the target. */
  routeInGit?: boolean | undefined;
  /** Canary and target were created after the newest record, and there is no primary but one of this or of the earlier Canary. */
  recreated?: boolean;
  /** What the primary runs, if its digest does not say so: Flagger created it, or its digest differs from head's for the same content. */
  adoptable?: AdoptableView | undefined;
  /** Whether rollouts may start. Undefined: the Source has no windows. */
  window?: WindowView | undefined;
  /** The freeze in force that ends last (ADR 44). */
  freeze?: FreezeView | undefined;
  /** The same of those that hold more than starts (ADR 48). */
  stepFreeze?: FreezeView | undefined;
  /** Undefined when the routing objects do not exist yet. */
  route: RouteView | undefined;
  /** The last answers, with the key of their request; they stay until there are newer ones. */
  checks: CheckOutcome | undefined;
  /** The other Canaries, to find causes outside a release (design section 5, auto). */
  peers: PeersView;
  /** Another writer undoes what Holdfast writes for this Canary. */
  contention?: ContentionView | undefined;
  /** What others had changed of Services, route and number of pods, and was put back: the last of it with its time, and what is changed again and again. */
  corrections?: { readonly last: string; readonly contended: readonly string[] } | undefined;
  /** Limits set by flags. */
  options: WorldOptions;
}

/** Who undoes what, in words, and since when on the clock of `World.nowMs`. */
interface ContentionView {
  readonly message: string;
  readonly sinceMs: number;
}

/** One pod, identified by its uid. */
export interface StuckPod {
  name: string;
  uid: string;
}

/** The windows of the Source at this moment. */
export interface WindowView {
  open: boolean;
  /** If closed: when they open, or must be looked at again; milliseconds since the epoch, by the calendar. */
  nextOpeningMs?: number;
}

/** A freeze of many Canaries. */
export interface FreezeView {
  /** The object that says so. */
  by: string;
  /** Milliseconds since the epoch; undefined: until it is deleted. */
  untilMs: number | undefined;
  reason: string;
}

/** Options set by flags. */
interface WorldOptions {
  minIntervalMs: number;
  defaultProvider: string;
  /** There is a default receiver for Canaries without alerts of their own. */
  hasDefaultAlert?: boolean;
}

/** The other Canaries after promotion, from their statuses alone, so that a restart changes nothing. */
export interface PeersView {
  /** How many are verifying, those included that failed and have not ended. */
  verifying: number;
  /** How many are held since their checks fail together with others. */
  failingNow: number;
  /** When others were reverted because of checks; RFC 3339. */
  failedTimes: readonly string[];
}

/** The scalers of both copies as read back. */
export interface ScalerView {
  kind: 'HorizontalPodAutoscaler' | 'ScaledObject';
  name: string;
  /** The target's own; undefined while it does not exist: then only we scale the canary. */
  canary: ScalerSide | undefined;
  primary: ScalerSide | undefined;
  /** Milliseconds until they react to a change of load. */
  settleMs: number;
}

/** One scaler. Numbers are pods. */
export interface ScalerSide {
  minReplicas: number;
  maxReplicas: number;
  /** minReplicas before a rollout raised it; undefined: it is not raised. */
  restoreMinReplicas: number | undefined;
  /** Paused at zero pods by the annotation of ScaledObjects. */
  paused: boolean;
  /** The annotation by which somebody keeps KEDA from acting on it. */
  heldBy?: string | undefined;
}

/** What Git says about this Canary's workload. */
export type HeadView =
  | {
      kind: 'release';
      release: ReleaseView;
      /** The release that the ledger in Git has as promoted last, if it is not head: a cluster without records starts from it. */
      ledger?: ReleaseView;
      /** Why the ledger's commit cannot be used. */
      ledgerProblem?: string;
    }
  /** No Source has been read yet, or the files that concern this Canary are broken: keep the plan (S24). */
  | { kind: 'unknown'; reason: string; message: string }
  /** The Source was read completely and has no such workload. */
  | { kind: 'missing'; message: string };

/** What a primary runs, read from its own template and config copies (flagger-behaviour 2.10, reversed). */
export interface AdoptableView {
  release: ReleaseView;
  /** It is the same as head. */
  isHead: boolean;
  /** Head was on the target already when Flagger wrote the status last. */
  headWasTried: boolean;
}

/** What decisions need of a Release. */
export interface ReleaseView {
  digest: string;
  commit: CommitInfo;
  /** Hash of the settings (replicas, strategy, deadlines), which are applied without analysis. */
  settingsKey: string;
  /** Replicas the manifest asks for, if it does. */
  replicas: number | undefined;
  /** Running pods mount tracked config as a volume, so that a write to the copies changes it for them. */
  mountsConfig: boolean;
  /** The release was read from the live target and has config: pods of the target may have been started with an older one. */
  hasLiveConfig?: boolean;
}

/** A release record: the bytes of a release, stored in the cluster and checked against their digest when read back (S10, S11). */
export interface RecordView {
  digest: string;
  commit: CommitInfo;
  /** Name of the Secret. */
  name: string;
  /** RFC 3339; undefined: the release is not proven. For people; the order is given by `sequence`. */
  promotedTime: string | undefined;
  /** The number of this proven release, counted up per Canary; undefined: the record is from before there was a sequence. */
  sequence?: number | undefined;
  /** Why its bytes cannot be used (missing, changed, of another release); undefined: they were read back undamaged. */
  damaged?: string | undefined;
  /** If damaged: Git has a release with this digest, so that the record can be written again. */
  inGit?: boolean | undefined;
}

/** A digest that is not rolled out again until a retry or a new digest (S14). */
export interface RejectionView {
  digest: string;
  commit: string;
  reason: string;
  time: string;
  /** The cause by the table of causes: config outside Git, which may change without a commit, can be one. */
  cause?: string | undefined;
}

// The release under way, as stored in status.run.

/** One of the two copies of a workload. */
export type Side = 'canary' | 'primary';

/** Bookkeeping of the release under way, stored in status.run. Times are RFC 3339. */
export interface Run {
  readonly digest: string;
  readonly commit: string;
  readonly subject: string;
  readonly startTime: string;
  /** Plan.restartKey when the release began; another one restarts the analysis. */
  readonly restartKey: string;
  /** Running pods mount tracked config, so traffic leaves them before it is written. */
  readonly mountsConfig: boolean;
  /** A proven release: no steps, no analysis. */
  readonly fastLane: boolean;
  /** The side it is tried on; the primary if the canary has to serve (design section 5). Absent: the canary. */
  readonly side?: Side;
  /** The share of that side as last observed, and since when: checks count from then (S4). */
  readonly weight?: number;
  readonly stepTime?: string;
  /** Number of the next check; part of its key, so that no answer is used twice. */
  readonly checkNumber: number;
  readonly lastCheckTime?: string;
  /** The best counts of the workload it waits for (see state.ts), and since when. */
  readonly progressKey?: string;
  readonly lastProgressTime?: string;
  /** The last changes of route and pods: the data plane needs time to follow (see state.ts). */
  readonly standing?: Partial<Record<Watched, LastChange>>;
  /** Since when checks are inconclusive (design section 2.3). */
  readonly unknownSince?: string;
  /** Since when the next share waits for pods. */
  readonly shortSince?: string;
  /** When the template of the primary, which others had changed, was written again, and since when that goes on. */
  readonly restoredTime?: string;
  readonly restoredSince?: string;
  /** A window must be open before anything of this release is written. */
  readonly awaitsWindow?: boolean;
  /** Webhooks of type confirm-rollout must approve before anything of this release is written. */
  readonly awaitsConfirmation?: boolean;
  /** Flagger started the canary's pods for it: they are not replaced. */
  readonly keepsPods?: boolean;
  /** The canary was started for it: if another tool writes the target, the target itself does not show that. */
  readonly broughtUp?: boolean;
  /** When the webhooks of type pre-rollout approved; they are asked once per release. */
  readonly preRolloutTime?: string;
  /** The check before the next move passed; the gates before that move are being asked. */
  readonly asksGates?: boolean;
  /** The closed gate that it waits at. */
  readonly closedGate?: ClosedGate;
  /** Why this release is reverted, once that is decided. */
  readonly revert?: RevertCause;
  /** How this release ends, once that is decided: after traffic is on the primary and the canary at zero. */
  readonly ending?: Ending;
  /** The ending that was decided before the last-known-good did not become ready; it takes effect when that does. */
  readonly deferred?: Ending;
  /** Phases whose gate a person approved for this release. */
  readonly approved?: ReadonlyArray<'Waiting' | 'WaitingPromotion'>;
  /** A person wants it promoted as soon as the canary is ready. */
  readonly promoteNow?: boolean;
  /** A person accepted it as good, whatever checks are still due. */
  readonly countsAsGood?: boolean;
  /** A person wants it held until the primary is ready, without the deadline of auto. */
  readonly keepWaiting?: boolean;
  /** Position (see states/analysing.ts) at which a person skipped the check. */
  readonly skipStepAt?: string;
  /** The Canary was recreated: records up to this sequence belong to the earlier one, which was deleted together with its primary. */
  readonly recordsAfter?: number;
  /** User that it is written as while no Source says so; the engine keeps it. Absent: Holdfast itself. */
  readonly account?: string;
  /** It is an older release that a person asked for: head at that time, which is rejected once the older release is promoted. */
  readonly rollback?: { readonly digest: string; readonly commit: string };
}

/**
 * What must not have changed for a while: the route as read back, the pods of each side, and, as `standIn`, the canary's template: a canary
 * that serves in place of a failing primary may get more pods meanwhile.
 */
export type Watched = 'route' | 'canary' | 'primary' | 'standIn';

/** What something was observed to be, and since when (RFC 3339). */
interface LastChange {
  readonly key: string;
  readonly since: string;
}

/** A gate that did not open. */
export interface ClosedGate {
  readonly type: Extract<HookType, 'confirm-rollout' | 'confirm-traffic-increase' | 'confirm-promotion'>;
  /** Since when: its deadline counts from here. */
  readonly since: string;
  /** Its first refusal. */
  readonly why: string;
  /** Every webhook that refused wants no alert (muteAlert). */
  readonly muted: boolean;
}

/** Why the primary is reverted to the last-known-good. */
export interface RevertCause {
  readonly reason: RolloutReason;
  readonly finding: string;
  /** The digest is rejected; false when Git itself moved on. */
  readonly reject: boolean;
  /** A check failed, and is repeated on the last-known-good (design section 5, control). */
  readonly control: boolean;
  /** How often the last-known-good failed it. */
  readonly controlFailures?: number;
  /** The primary is healthy and only runs the wrong release: it keeps serving if the last-known-good does not become ready. */
  readonly isWell?: boolean;
  /** The commit that reverted it in Git. */
  readonly headCommit?: string;
}

/** The terminal phase of a release and why. */
export interface Ending {
  readonly phase: Extract<CanaryPhase, 'Succeeded' | 'Failed'>;
  readonly reason: RolloutReason;
  readonly message: string;
  /** The digest is rejected for this. */
  readonly reject?: RolloutReason;
  /** By the table of causes. */
  readonly cause?: string;
}

/** The run of a status, if one is under way. */
export function runOf(status: CanaryStatus): Run | undefined {
  // An earlier version wrote `throughPrimary` in place of `side`.
  const { throughPrimary, ...run } = (status.run ?? {}) as Partial<Run> & { throughPrimary?: boolean };
  if (run.digest === undefined) return undefined;
  return { ...run, ...(throughPrimary ? { side: 'primary' } : {}) } as Run;
}

/** Head's release, if Git was read and holds one. */
export function headRelease(world: World): ReleaseView | undefined {
  return world.head.kind === 'release' ? world.head.release : undefined;
}

/** The name of a release or run for people: `1a2b3c4 "subject"`. */
export function describeRelease({
  digest,
  commit,
  subject = '',
}: {
  readonly digest: string;
  readonly commit: string | { readonly commit: string; readonly subject: string };
  readonly subject?: string;
}): string {
  const known = typeof commit === 'string' ? { commit, subject } : commit;
  const id = known.commit ? known.commit.slice(0, 7) : digest.slice(0, 10);
  return known.subject ? `${id} "${known.subject}"` : id;
}

// What records and rejections say: which releases proved good, which one is the last-known-good, which must not be tried again (S10-S14).

/**
 * The last-known-good: the newest proven record that is not rejected; a rejection counts more than the proof. Also if its bytes are lost:
 * it is still what the primary should run, and no other release takes its place automatically.
 */
export function lastKnownGood(world: World): RecordView | undefined {
  return provenReleases(world)[0];
}

/** Proven releases that are not rejected, the one that proved itself last first. */
export function provenReleases(world: World): RecordView[] {
  const rejected = new Set(rejectionsOf(world).map((rejection) => rejection.digest));
  const after = earlierRecords(world) ?? -1;
  return world.records
    .filter((record) => record.promotedTime !== undefined && !rejected.has(record.digest))
    .filter(({ sequence = 0 }) => sequence > after)
    .sort(newestFirst);
}

/**
 * Records up to this sequence do not count until the first release is proven: a Canary that was recreated together with its live target starts
 * from that target, as a new one does (issue 14, 6b). Undefined: all records count. If the target runs a release that was rejected, the
 * last-known-good is still the better start.
 */
export function earlierRecords(world: World): number | undefined {
  const { status, head, records } = world;
  if (status.run) return (status.run as Partial<Run>).recordsAfter;
  const isNew = status.lastAppliedSpec === undefined && (status.phase || 'Initializing') === 'Initializing';
  if (!world.recreated || !isNew) return undefined;
  const isRejected =
    head.kind === 'release' &&
    rejectionsOf(world).some(({ digest }) => gitPart(digest) === gitPart(head.release.digest));
  return isRejected ? undefined : highestSequence(records);
}

/**
 * Every rejection in force: those read back from their Secret, and those of the status that are not written there yet. If the Secret
 * cannot be read, the status alone counts.
 */
export function rejectionsOf({ rejected, rejectionsProblem, status }: World): RejectionView[] {
  const noted = status.rejected ?? [];
  if (rejectionsProblem !== undefined) return [...noted];
  const saved = new Set(rejected.map(({ digest }) => digest));
  return [...rejected, ...noted.filter(({ pending, digest }) => pending && !saved.has(digest))];
}

/**
 * The rejection of this digest (S14). It applies to every release with the same bytes in Git: a Secret that rotates outside Git is no
 * reason to try it again, unless that config was the cause, or the last-known-good has these bytes, so that only the config differs.
 */
export function rejectionOf(
  {
    rejections,
    good,
  }: {
    readonly rejections: readonly RejectionView[];
    readonly good: { readonly digest: string } | undefined;
  },
  digest: string,
): RejectionView | undefined {
  const exact = rejections.find((rejection) => rejection.digest === digest);
  if (exact) return exact;
  if (good !== undefined && gitPart(good.digest) === gitPart(digest)) return undefined;
  return rejections.find(
    (rejection) => gitPart(rejection.digest) === gitPart(digest) && !OF_CONFIG.has(rejection.cause ?? ''),
  );
}

/** Causes that a change of config outside Git may end. */
const OF_CONFIG: ReadonlySet<string> = new Set(['ReferenceMissing', 'ConfigCopyMissing']);

/** The record of a digest, if its bytes were read back undamaged. */
export function soundRecord(world: World, digest: string | undefined): RecordView | undefined {
  return world.records.find((record) => record.digest === digest && record.damaged === undefined);
}

/** Both workloads are deleted, and no Source holds the target: nothing comes back by itself. */
export function isAbandoned({ primary, target, head }: World): boolean {
  return !primary && !target && head.kind === 'missing';
}

/** Its bytes are lost: the record is damaged and Git does not give them either. Nothing may be written from it. */
export function isLost(record: RecordView): boolean {
  return record.damaged !== undefined && record.inGit !== true;
}

/** Whether there is a record of this digest, and its bytes are lost. */
export function isDigestLost(world: World, digest: string): boolean {
  return world.records.some((record) => record.digest === digest && isLost(record));
}

/** The release that a revert of this one restores; undefined where there is none. */
export function revertTarget(
  good: RecordView | undefined,
  run: { readonly digest: string },
): RecordView | undefined {
  return good && !isLost(good) && good.digest !== run.digest ? good : undefined;
}

/** Which Secret is damaged, how, what to do about it, and which proven release could be used instead. */
export function describeDamage(world: World, good: RecordView): string {
  const problem = good.damaged ?? '';
  if (!isLost(good)) return `${problem}; Git has the same release, so the record is written again`;
  const next = provenReleases(world).find((record) => record.damaged === undefined);
  const way = `restore the Secret from a backup, or put ${describeRelease(good)} at head in Git again`;
  const other = next
    ? `; the next proven release is ${describeRelease(next)}: put it at head in Git, or run: ${commandOn('rollback', nameOf(world.canary))} --to ${next.commit.commit.slice(0, 7) || next.digest}`
    : '; no other proven release is kept';
  return `${problem}; ${way}${other}`;
}

/**
 * Sorts records, newest first: releases that are not proven yet, then proven ones by their sequence. Records from before there was a
 * sequence come last, by time: the clocks of two machines do not show which release came first (S30).
 */
export function newestFirst(left: RecordView, right: RecordView): number {
  const rank = ({ promotedTime, sequence = 0 }: RecordView) =>
    promotedTime === undefined ? Number.MAX_SAFE_INTEGER : sequence;
  const timeMs = ({ promotedTime }: RecordView) => Date.parse(promotedTime ?? '') || 0;
  return (
    rank(right) - rank(left) ||
    timeMs(right) - timeMs(left) ||
    (left.digest < right.digest ? -1 : Number(left.digest > right.digest))
  );
}

/** The sequence of the release that is proven next, above `after`; its own if it was the last one. */
export function nextSequence(records: readonly RecordView[], digest: string, after = 0): number {
  const own = records.find((record) => record.digest === digest)?.sequence ?? 0;
  const others = highestSequence(records.filter((record) => record.digest !== digest));
  return Math.max(own > others ? own : others + 1, after + 1);
}

/** The highest sequence among these records; 0 where none has one. */
export function highestSequence(records: readonly RecordView[]): number {
  return Math.max(0, ...records.map(({ sequence = 0 }) => sequence));
}
