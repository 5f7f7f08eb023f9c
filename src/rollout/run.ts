import type { HookType } from '../api/canary/analysis.ts';
import type { CanaryPhase, CanaryStatus } from '../api/canary/status.ts';
import type { RolloutReason } from '../api/reasons.ts';

/** One of the two copies of a workload. */
export type Side = 'canary' | 'primary';

/** Bookkeeping of the release under way, kept in status.run. Times are RFC 3339. */
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
  /** The best counts of the workload it waits for (see context.ts), and since when. */
  readonly progressKey?: string;
  readonly lastProgressTime?: string;
  /** The last changes of route and pods: the data plane needs time to follow (see context.ts). */
  readonly standing?: Partial<Record<Watched, LastChange>>;
  /** Since when checks are inconclusive (design section 2.3). */
  readonly unknownSince?: string;
  /** Since when the next share waits for pods. */
  readonly shortSince?: string;
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
  /** The Canary was made again: records up to this sequence are of an earlier life, which ended with its primary. */
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
