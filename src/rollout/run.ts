import type { CanaryPhase, CanaryStatus } from '../api/canary/status.ts';
import type { HookType } from '../api/canary/webhooks.ts';
import { gitPart } from '../api/digest.ts';
import type { RolloutReason } from '../api/reasons.ts';
import type { RecordView, RejectionView, ReleaseView, World } from './world.ts';

/** One of the two copies of a workload. */
export type Side = 'canary' | 'primary';

/** Bookkeeping of the release under way, kept in status.run. Times are RFC 3339. Never changed in place: a step makes the next one. */
export interface Run {
  readonly digest: string;
  readonly commit: string;
  readonly subject: string;
  readonly startTime: string;
  /** Plan.restartKey at admission; another one restarts the analysis. */
  readonly restartKey: string;
  /** Running pods mount tracked config, so traffic leaves them before it is written. */
  readonly mountsConfig: boolean;
  /** A proven release: no steps, no analysis. */
  readonly fastLane: boolean;
  /** Where it is tried: on the canary, or, while that has to serve, on the primary (design section 5). Absent: on the canary. */
  readonly side?: Side;
  /** The share of the side it is tried on as last observed, and since when: checks count from there (S4). */
  readonly weight?: number;
  readonly stepTime?: string;
  /** Number of the next check; part of its key, so that no answer is used twice. */
  readonly checkNumber: number;
  readonly lastCheckTime?: string;
  /** The best that was seen of the workload that is waited for (see progress.ts), and since when it stands. */
  readonly progressKey?: string;
  readonly lastProgressTime?: string;
  /** Since when route and pods are as they are: the data plane needs time to follow (see progress.ts). */
  readonly standing?: Partial<Record<Watched, LastChange>>;
  /** Since when checks cannot be had (design section 2.3). */
  readonly unknownSince?: string;
  /** A window must be open before anything of this release is written. */
  readonly awaitsWindow?: boolean;
  /** Webhooks of type confirm-rollout must approve before anything of this release is written. */
  readonly awaitsConfirmation?: boolean;
  /** The canary's pods were started for it by Flagger: they are not replaced. */
  readonly keepsPods?: boolean;
  /** The canary was brought up for it: where another tool writes the target, that cannot be seen on the target itself. */
  readonly broughtUp?: boolean;
  /** When the webhooks of type pre-rollout approved; they are asked once per release. */
  readonly preRolloutTime?: string;
  /** The check before the next move passed; the gates before that move are being asked. */
  readonly asksGates?: boolean;
  /** The gate that keeps this release where it is. */
  readonly closedGate?: ClosedGate;
  /** Why this release is going back, once that is decided. */
  readonly revert?: RevertCause;
  /** How this release ends, once that is decided: traffic to the primary, canary to zero, then this. */
  readonly ending?: Ending;
  /** How it ended before the last-known-good was found not to come up; it ends so once that does. */
  readonly deferred?: Ending;
  /** Phases whose gate a person opened for this release. */
  readonly approved?: ReadonlyArray<'Waiting' | 'WaitingPromotion'>;
  /** A person wants it promoted as soon as the canary is ready. */
  readonly promoteNow?: boolean;
  /** A person says it is good, whatever checks are still due. */
  readonly countsAsGood?: boolean;
  /** A person wants it held until the primary is well, without the deadline of auto. */
  readonly keepWaiting?: boolean;
  /** Position (see states/analysing.ts) at which a person left the check out. */
  readonly skipStepAt?: string;
  /** It goes back to an older release on request: what head was then, rejected once that has taken its place. */
  readonly rollback?: { readonly digest: string; readonly commit: string };
}

/**
 * What a rollout watches for having stood still: the route as read back, the pods of either side, and, as `standIn`, the canary's template:
 * that it gets more pods while it takes the place of a failing primary is nothing to wait for.
 */
export type Watched = 'route' | 'canary' | 'primary' | 'standIn';

/** How something was seen last, and since when it is like that (RFC 3339). */
interface LastChange {
  readonly key: string;
  readonly since: string;
}

/** A gate that did not open. */
export interface ClosedGate {
  readonly type: Extract<HookType, 'confirm-rollout' | 'confirm-traffic-increase' | 'confirm-promotion'>;
  /** Since when: its deadline counts from here. */
  readonly since: string;
  /** What it said when it was found closed. */
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
  /** A check said so, and is asked again of the last-known-good (design section 5, control). */
  readonly control: boolean;
  /** How often the last-known-good failed it. */
  readonly controlFailures?: number;
  /** What the primary runs is well, and only not what it should be: it is not given up for what does not come up. */
  readonly isWell?: boolean;
  /** Git itself went back: the commit that did so. */
  readonly headCommit?: string;
}

/** The terminal phase of a release and why. */
export interface Ending {
  readonly phase: Extract<CanaryPhase, 'Succeeded' | 'Failed'>;
  readonly reason: RolloutReason;
  readonly message: string;
  /** The digest is rejected for this. */
  readonly reject?: RolloutReason;
  /** What its pods showed, by the table of causes. */
  readonly cause?: string;
}

/** The run of a status, if one is under way. */
export function runOf(status: CanaryStatus): Run | undefined {
  const run = status.run as Partial<Run> | undefined;
  return run?.digest === undefined ? undefined : (run as Run);
}

/**
 * The last-known-good: the newest proven record that is not rejected (rejected beats proven). Its bytes may be lost (see records.ts): it is
 * still what the primary should run, and no other release takes its place by itself.
 */
export function lastKnownGood(world: World): RecordView | undefined {
  return provenReleases(world)[0];
}

/** Proven releases that are not rejected, the one that proved itself last first. */
export function provenReleases(world: World): RecordView[] {
  const rejected = new Set(rejectionsOf(world).map((rejection) => rejection.digest));
  return world.records
    .filter((record) => record.promotedTime !== undefined && !rejected.has(record.digest))
    .sort(newestFirst);
}

/** Head's release, when Git was read and holds one. */
export function headRelease(world: World): ReleaseView | undefined {
  return world.head.kind === 'release' ? world.head.release : undefined;
}

/**
 * Every rejection in force: those read back from their Secret, and those of the status that are on their way there. Where the Secret cannot
 * be read, the status is what is known.
 */
export function rejectionsOf({ rejected, rejectionsProblem, status }: World): RejectionView[] {
  const noted = status.rejected ?? [];
  if (rejectionsProblem !== undefined) return [...noted];
  const saved = new Set(rejected.map(({ digest }) => digest));
  return [...rejected, ...noted.filter(({ pending, digest }) => pending && !saved.has(digest))];
}

/**
 * The rejection that bars this digest (S14). It bars every release with the same bytes in Git: a Secret that rotates outside Git is no
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

/** Causes that config outside Git may end by itself. */
const OF_CONFIG: ReadonlySet<string> = new Set(['ReferenceMissing', 'ConfigCopyMissing']);

/**
 * Newest first: what has not proven itself yet, then proven releases by the order in which they proved themselves. Records of before there
 * was a sequence come after all that have one, among themselves by time: clocks of two machines say nothing about what came first (S30).
 */
export function newestFirst(left: RecordView, right: RecordView): number {
  return (
    rankOf(right) - rankOf(left) ||
    timeOf(right) - timeOf(left) ||
    (left.digest < right.digest ? -1 : Number(left.digest > right.digest))
  );
}

/** The number of the release that proves itself next; its own where it was the last one to do so. */
export function nextSequence(records: readonly RecordView[], digest: string): number {
  const own = records.find((record) => record.digest === digest)?.sequence ?? 0;
  const others = highestSequence(records.filter((record) => record.digest !== digest));
  return own > others ? own : others + 1;
}

/** The highest number among these records; 0 where none has one. */
export function highestSequence(records: readonly RecordView[]): number {
  return Math.max(0, ...records.map(({ sequence = 0 }) => sequence));
}

function rankOf({ promotedTime, sequence = 0 }: RecordView): number {
  return promotedTime === undefined ? Number.MAX_SAFE_INTEGER : sequence;
}

function timeOf({ promotedTime }: RecordView): number {
  return Date.parse(promotedTime ?? '') || 0;
}
