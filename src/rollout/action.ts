import type { CanaryStatus } from '../api/canary/status.ts';
import type { HookFacts, HookType } from '../api/canary/webhooks.ts';
import type { RouteTarget } from '../api/observed.ts';
import type { RolloutReason } from '../api/reasons.ts';
import type { ScalerView, StuckPod } from './world.ts';

/**
 * What the engine is to do, lane by lane and in a lane in this order (see `laneOf`). Plain data. Every action may be repeated: an action whose
 * effect is already there writes nothing and counts as unchanged. When any action changed something, or the status was written, the
 * engine observes and steps again (S33); when none did, it waits for a watch event or `wakeAfterMs`.
 */
export type Action =
  /**
   * Keep bytes of a release as a record Secret and read it back (S10). `digest` is head's, the one under test, or the primary's; with
   * `promotedTime` it is a proven one whose record was damaged and is written again.
   */
  | { type: 'SaveRecord'; digest: string; promotedTime?: string }
  /** Stamp the record as proven; older ones beyond the limit are deleted. */
  | { type: 'MarkProven'; digest: string }
  /** Write tracked config under its own names, the target with this release's template and replicas, and the canary Service. */
  | { type: 'ApplyCanary'; digest: string; replicas: number }
  | { type: 'ScaleCanary'; replicas: number }
  /** Write config copies, then the primary from this release's record or head. Precondition: the primary's version as observed. */
  | {
      type: 'ApplyPrimary';
      digest: string;
      precondition: { uid: string; resourceVersion: string } | undefined;
    }
  /** Mark what Flagger left as ours, and as running this release: metadata alone, so that no pod restarts. */
  | { type: 'AdoptPrimary'; digest: string }
  /** Write the copies of the release that the primary runs; nothing else. */
  | { type: 'RestoreConfigs'; digest: string }
  /** Replicas, strategy and deadlines of head, template untouched. */
  | { type: 'ApplySettings'; digest: string; settingsKey: string }
  | { type: 'ScalePrimary'; replicas: number }
  /** The target's scaler as Git says, then the primary's copy of it. Raised minReplicas and a pause stay as they are. */
  | { type: 'ApplyScalers' }
  /** The primary's copy of a scaler that the Canary names no more goes, and that scaler gets its minReplicas back. */
  | { type: 'RemoveScaler'; kind: ScalerView['kind']; name: string }
  /** minReplicas of one scaler, the former value is kept in an annotation; undefined: restores it (S18). */
  | { type: 'SetScalerFloor'; side: 'canary' | 'primary'; minReplicas: number | undefined }
  /** Pauses a ScaledObject at zero pods, or resumes it; the primary's is only ever resumed. */
  | { type: 'PauseScaler'; side: 'canary' | 'primary'; paused: boolean }
  /** Generated Services exist with the ports of what they select; `canaryDigest` undefined: no canary Service change. */
  | { type: 'EnsureServices'; primaryDigest: string; canaryDigest: string | undefined }
  /** Routing objects exist and carry these weights. */
  | { type: 'SetTraffic'; route: RouteTarget }
  /** Deletes exactly these pods, which block the rollback of the shared workload; its controller creates new ones. */
  | { type: 'ReplacePods'; pods: readonly StuckPod[] }
  | { type: 'Reject'; digest: string; commit: string; reason: RolloutReason; cause?: string }
  | { type: 'Unreject'; digest: string }
  /** Services and routing objects stay when the Canary goes; with `primary` also the primary and what it needs. */
  | { type: 'Disown'; primary: boolean }
  /** Services and routing objects belong to nobody; then the primary goes with its scaler and its copies of config, itself last of all. */
  | { type: 'ReleaseCopies' }
  /** The Canary, which is being deleted, may go. The last action of all: there is no status to write after it. */
  | { type: 'RemoveFinalizer' };

/**
 * What an action is for. A lane that fails stops no other one but the last: `safety` keeps requests answered and goes first, `bookkeeping`
 * remembers in Secrets and marks, `housekeeping` keeps the rest as Git says, and `farewell` lets go of what was made, once all else is done.
 */
export type Lane = 'safety' | 'bookkeeping' | 'housekeeping' | 'farewell';

/** The lanes in the order in which they are worked on. */
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

/** Metrics and webhooks to ask, side by side. `role` says whose pods and Service the queries are about. */
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

/** Something to report; becomes a Kubernetes Event and a log line. */
export interface RolloutEvent {
  type: 'Normal' | 'Warning';
  /** From the closed table in docs/reasons.md. */
  reason: RolloutReason;
  message: string;
}

/** What `step` decided. Intent first: the status is written before the actions when `intentFirst` is set. */
export interface Decision {
  status: CanaryStatus;
  actions: readonly Action[];
  /** Write status before acting: the first irreversible action follows (design section 3). */
  intentFirst: boolean;
  check: CheckRequest | undefined;
  events: readonly RolloutEvent[];
  /** Step again after this time even if nothing changes; undefined: only when something changes. */
  wakeAfterMs: number | undefined;
}
