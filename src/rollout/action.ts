import type { CanaryStatus } from '../api/canary/status.ts';
import type { HookFacts, HookType } from '../api/canary/webhooks.ts';
import type { RouteTarget } from '../api/observed.ts';
import type { RolloutReason } from '../api/reasons.ts';
import type { ScalerView, StuckPod } from './world.ts';

/**
 * What the engine executes, lane by lane (see `laneOf`), and in a lane in the given order. Plain data. Every action is idempotent: one whose
 * effect already exists writes nothing and counts as unchanged. If an action changed something, or the status was written, the engine
 * observes and steps again (S33); if not, it waits for a watch event or `wakeAfterMs`.
 */
export type Action =
  /**
   * Save the bytes of a release as a record Secret and read it back (S10). `digest` is head's, the one under test, or the primary's; with
   * `promotedTime` it is a proven one whose record is damaged and is written again.
   */
  | { type: 'SaveRecord'; digest: string; promotedTime?: string }
  /** Mark the record as proven, with a sequence above `after`; older ones beyond the limit are deleted. */
  | { type: 'MarkProven'; digest: string; after?: number }
  /** Write tracked config under its own names, the target with this release's template and replicas, and the canary Service. */
  | { type: 'ApplyCanary'; digest: string; replicas: number }
  | { type: 'ScaleCanary'; replicas: number }
  /** Write config copies, then the primary from this release's record or head. Precondition: the primary's version as observed. */
  | {
      type: 'ApplyPrimary';
      digest: string;
      precondition: { uid: string; resourceVersion: string } | undefined;
    }
  /** Mark a primary that Flagger left as ours and as running this release: only metadata, so that no pod restarts. */
  | { type: 'AdoptPrimary'; digest: string }
  /** Write the copies of the release that the primary runs; nothing else. */
  | { type: 'RestoreConfigs'; digest: string }
  /** Replicas, strategy and deadlines of head, template untouched. */
  | { type: 'ApplySettings'; digest: string; settingsKey: string }
  | { type: 'ScalePrimary'; replicas: number }
  /** Write the target's scaler as in Git, then the primary's copy of it. Raised minReplicas and a pause stay as they are. */
  | { type: 'ApplyScalers' }
  /** Delete the primary's copy of a scaler that the Canary no longer names, and restore minReplicas of that scaler. */
  | { type: 'RemoveScaler'; kind: ScalerView['kind']; name: string }
  /** Set minReplicas of one scaler, with the former value in an annotation; undefined: restore it (S18). */
  | { type: 'SetScalerFloor'; side: 'canary' | 'primary'; minReplicas: number | undefined }
  /** Pause a ScaledObject at zero pods, or resume it; the primary's is only resumed. */
  | { type: 'PauseScaler'; side: 'canary' | 'primary'; paused: boolean }
  /** Write the generated Services with the ports of what they select; `canaryDigest` undefined: leave the canary Service. */
  | { type: 'EnsureServices'; primaryDigest: string; canaryDigest: string | undefined }
  /** Write the routing objects with these weights. */
  | { type: 'SetTraffic'; route: RouteTarget }
  /** Delete exactly these pods, which block the rollback of the shared workload; its controller creates new ones. */
  | { type: 'ReplacePods'; pods: readonly StuckPod[] }
  | { type: 'Reject'; digest: string; commit: string; reason: RolloutReason; cause?: string }
  | { type: 'Unreject'; digest: string }
  /** Remove the Canary's ownership of Services and routing objects, so that they outlive it; with `primary` also of the primary and what it needs. */
  | { type: 'Disown'; primary: boolean }
  /** Remove the ownership of Services and routing objects, then delete the primary's scaler and copies of config, and the primary last. */
  | { type: 'ReleaseCopies' }
  /** Remove the finalizer of the Canary, which is being deleted. Always the last action: after it there is no status to write. */
  | { type: 'RemoveFinalizer' };

/**
 * What an action is for. A lane that fails stops only the last one: `safety` keeps requests answered and comes first, `bookkeeping` writes
 * records and marks, `housekeeping` keeps the rest as in Git, and `farewell` releases what the Canary owns after all else is done.
 */
export type Lane = 'safety' | 'bookkeeping' | 'housekeeping' | 'farewell';

/** The lanes in the order of execution. */
export const lanes: readonly Lane[] = ['safety', 'bookkeeping', 'housekeeping', 'farewell'];

const laneByType: Readonly<Record<Action['type'], Lane>> = {
  SetTraffic: 'safety',
  EnsureServices: 'safety',
  ApplyPrimary: 'safety',
  ApplyCanary: 'safety',
  ScalePrimary: 'safety',
  ScaleCanary: 'safety',
  SetScalerFloor: 'safety',
  PauseScaler: 'safety',
  ReplacePods: 'safety',
  SaveRecord: 'bookkeeping',
  MarkProven: 'bookkeeping',
  Reject: 'bookkeeping',
  Unreject: 'bookkeeping',
  AdoptPrimary: 'bookkeeping',
  ApplySettings: 'housekeeping',
  ApplyScalers: 'housekeeping',
  RemoveScaler: 'housekeeping',
  RestoreConfigs: 'housekeeping',
  Disown: 'farewell',
  ReleaseCopies: 'farewell',
  RemoveFinalizer: 'farewell',
};

/** The lane of an action. */
export function laneOf({ type }: Action): Lane {
  return laneByType[type];
}

/** Metrics and webhooks to ask in parallel. `role`: the side whose pods and Service the queries are about. */
export interface CheckRequest {
  /** Same key = same check: the engine runs it once and hands the outcome to the next step. */
  key: string;
  role: 'canary' | 'primary';
  purpose: 'analysis' | 'postPromotion' | 'control';
  /** Ids (`metricsById`) of metrics in analysis.metrics or postPromotion.metrics. */
  metrics: readonly string[];
  /** Types of webhooks: all of a type, in the order of the spec, up to the first that does not approve. */
  hooks: readonly HookType[];
  /** What the webhooks receive. */
  facts: HookFacts;
}

/** Becomes a Kubernetes Event and a log line. */
export interface RolloutEvent {
  type: 'Normal' | 'Warning';
  /** From the closed table in docs/reasons.md. */
  reason: RolloutReason;
  message: string;
}

/** What `step` decided. */
export interface Decision {
  status: CanaryStatus;
  actions: readonly Action[];
  /** The status is written before the actions, since the first irreversible one follows (design section 3). */
  intentFirst: boolean;
  check: CheckRequest | undefined;
  events: readonly RolloutEvent[];
  /** Step again after this time even if nothing changes; undefined: only when something changes. */
  wakeAfterMs: number | undefined;
}
