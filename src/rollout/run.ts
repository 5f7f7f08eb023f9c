import type { CanaryPhase, CanaryStatus } from '../api/canary-status.ts';
import type { HookType } from '../api/hooks.ts';
import type { RolloutReason } from '../api/reasons.ts';
import { copy } from './copy.ts';
import type { RecordView, ReleaseView, World } from './world.ts';

/** Bookkeeping of the release under way, kept in status.run. Times are RFC 3339. */
export interface Run {
  digest: string;
  commit: string;
  subject: string;
  startTime: string;
  /** Plan.restartKey at admission; another one restarts the analysis. */
  restartKey: string;
  /** Running pods mount tracked config, so traffic leaves them before it is written. */
  mountsConfig: boolean;
  /** A proven release: no steps, no analysis. */
  fastLane: boolean;
  /** The canary's weight as last observed, and since when: checks count from there (S4). */
  weight?: number;
  stepTime?: string;
  /** Number of the next check; part of its key, so that no answer is used twice. */
  checkNumber: number;
  lastCheckTime?: string;
  /** The best that was seen of the workload that is waited for (see progress.ts), and since when it stands. */
  progressKey?: string;
  lastProgressTime?: string;
  /** Since when route and pods are as they are: the data plane follows them (see standing.ts). */
  standing?: Partial<Record<Watched, Standing>>;
  /** Since when checks cannot be had (design section 2.3). */
  unknownSince?: string;
  /** A window must be open before anything of this release is written. */
  awaitsWindow?: boolean;
  /** Webhooks of type confirm-rollout must approve before anything of this release is written. */
  awaitsConfirmation?: boolean;
  /** The canary's pods were started for it by Flagger: they are not replaced. */
  keepsPods?: boolean;
  /** The canary was brought up for it: where another tool writes the target, that cannot be seen on the target itself. */
  broughtUp?: boolean;
  /** Once confirmed it goes straight to the primary, whose last-known-good does not come up (design section 5). */
  throughPrimary?: boolean;
  /** When the webhooks of type pre-rollout approved; they are asked once per release. */
  preRolloutTime?: string;
  /** The check before the next move passed; the gates before that move are being asked. */
  asksGates?: boolean;
  /** The gate that keeps this release where it is. */
  closedGate?: ClosedGate;
  /** Why this release is going back, once that is decided. */
  revert?: RevertCause;
  /** How this release ends, once that is decided: traffic to the primary, canary to zero, then this. */
  ending?: Ending;
  /** Phases whose gate a person opened for this release. */
  approved?: ReadonlyArray<'Waiting' | 'WaitingPromotion'>;
  /** A person wants it promoted as soon as the canary is ready. */
  promoteNow?: boolean;
  /** A person says it is good, whatever checks are still due. */
  countsAsGood?: boolean;
  /** A person wants it held until the primary is well, without the deadline of auto. */
  keepWaiting?: boolean;
  /** Position (Draft.positionOf) at which a person left the check out. */
  skipStepAt?: string;
  /** It goes back to an older release on request: what head was then, rejected once that has taken its place. */
  rollback?: { digest: string; commit: string };
}

/**
 * What a rollout watches for having stood still: the route as read back, the pods of either side, and, as `standIn`, the canary's template:
 * that it gets more pods while it takes the place of a failing primary is nothing to wait for.
 */
export type Watched = 'route' | 'canary' | 'primary' | 'standIn';

/** How something was seen last, and since when it is like that (RFC 3339). */
export interface Standing {
  readonly key: string;
  readonly since: string;
}

/** A gate that did not open. */
export interface ClosedGate {
  type: Extract<HookType, 'confirm-rollout' | 'confirm-traffic-increase' | 'confirm-promotion'>;
  /** Since when: its deadline counts from here. */
  since: string;
  /** What it said when it was found closed. */
  why: string;
  /** Every webhook that refused wants no alert (muteAlert). */
  muted: boolean;
}

/** Why the primary goes back to the last-known-good. */
export interface RevertCause {
  reason: RolloutReason;
  finding: string;
  /** The digest is rejected; false when Git itself moved on. */
  reject: boolean;
  /** A check said so, and is asked again of the last-known-good (design section 5, control). */
  control: boolean;
  /** How often the last-known-good failed it. */
  controlFailures?: number;
}

/** The terminal phase of a release and why. */
export interface Ending {
  phase: Extract<CanaryPhase, 'Succeeded' | 'Failed'>;
  reason: RolloutReason;
  message: string;
  /** The digest is rejected for this; kept here so that a crash before that write does not lose it (S14). */
  reject?: RolloutReason;
}

/** The run of a status, if one is under way. */
export function runOf(status: CanaryStatus): Run | undefined {
  const run = status.run as Partial<Run> | undefined;
  return run?.digest === undefined ? undefined : (copy(run) as Run);
}

/**
 * The last-known-good: the newest proven record that is not rejected (rejected beats proven). Its bytes may be lost (see kept.ts): it is
 * still what the primary should run, and no other release takes its place by itself.
 */
export function lastKnownGood(world: World): RecordView | undefined {
  return provenReleases(world)[0];
}

/** Proven releases that are not rejected, newest first. */
export function provenReleases(world: World): RecordView[] {
  const rejected = new Set(world.rejected.map((rejection) => rejection.digest));
  return world.records
    .filter((record) => record.promotedTime !== undefined && !rejected.has(record.digest))
    .sort((a, b) => Date.parse(b.promotedTime ?? '') - Date.parse(a.promotedTime ?? ''));
}

/** Head's release, when Git was read and holds one. */
export function headRelease(world: World): ReleaseView | undefined {
  return world.head.kind === 'release' ? world.head.release : undefined;
}

/** Is this digest barred from being rolled out? (S14) */
export function isRejected(world: World, digest: string): boolean {
  return world.rejected.some((rejection) => rejection.digest === digest);
}
