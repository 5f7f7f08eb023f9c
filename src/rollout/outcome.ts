/** What comes of a step, and of its parts: actions, events, the status line, and which side should serve. They know no states. */
import type { CanaryStatus } from '../api/canary/status.ts';
import type { CheckRequest, RouteTarget } from '../api/observed.ts';
import type { RolloutReason } from '../api/reasons.ts';
import type { Run, ScalerView, Side, StuckPod } from './world.ts';

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
  /** Mark the record as proven, with a sequence above `after`. */
  | { type: 'MarkProven'; digest: string; after?: number }
  /** Delete records that are no longer needed, by the names of their Secrets. */
  | { type: 'RemoveRecords'; names: readonly string[] }
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
 * records and marks, `housekeeping` keeps the rest as in Git, and `teardown` releases what the Canary owns after everything else is done.
 */
export type Lane = 'safety' | 'bookkeeping' | 'housekeeping' | 'teardown';

/** The lanes in the order of execution. */
export const lanes: readonly Lane[] = ['safety', 'bookkeeping', 'housekeeping', 'teardown'];

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
  RemoveRecords: 'housekeeping',
  Disown: 'teardown',
  ReleaseCopies: 'teardown',
  RemoveFinalizer: 'teardown',
};

/** The lane of an action. */
export function laneOf({ type }: Action): Lane {
  return laneByType[type];
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

/** The status line; `stalled`: a person must act. */
export interface Note {
  readonly reason: RolloutReason;
  readonly message: string;
  readonly stalled?: boolean;
  /** What Ready says in place of it. */
  readonly ready?: Note | undefined;
  /** What happens next automatically, if it is not what the row of the state says. */
  readonly next?: Next | undefined;
}

/** What happens next automatically, and when, if that is known. */
export interface Next {
  readonly action: string;
  readonly timeMs?: number | undefined;
}

/** A digest that is rejected from now on. */
export interface NewRejection {
  readonly digest: string;
  readonly commit: string;
  readonly reason: RolloutReason;
  readonly cause?: string | undefined;
}

/** A part of a decision, without the state; `combine` puts parts together. */
export interface Effects {
  readonly actions?: readonly Action[];
  readonly events?: readonly RolloutEvent[];
  readonly note?: Note | undefined;
  readonly check?: CheckRequest | undefined;
  /** Milliseconds after which to step again; 0 and less do not count. */
  readonly wakesMs?: readonly number[];
  /** Fields of the status that are not part of the state. */
  readonly status?: Partial<CanaryStatus>;
  /** Digests rejected from now on: in the status first, and then in their Secret. */
  readonly rejects?: readonly NewRejection[];
  /** Digests whose rejection is lifted. */
  readonly unrejects?: readonly string[];
}

/** Puts effects together in this order; of notes, checks and each status field the last one counts. */
export function combine(...all: readonly Effects[]): Effects {
  // A step does this about ten times, so no list is made for each field of each part.
  const actions: Action[] = [];
  const events: RolloutEvent[] = [];
  const wakesMs: number[] = [];
  const rejects: NewRejection[] = [];
  const unrejects: string[] = [];
  const status: Partial<CanaryStatus> = {};
  let note: Note | undefined;
  let check: CheckRequest | undefined;
  for (const effects of all) {
    if (effects.actions) actions.push(...effects.actions);
    if (effects.events) events.push(...effects.events);
    if (effects.wakesMs) wakesMs.push(...effects.wakesMs);
    if (effects.rejects) rejects.push(...effects.rejects);
    if (effects.unrejects) unrejects.push(...effects.unrejects);
    Object.assign(status, effects.status);
    note = effects.note ?? note;
    check = effects.check ?? check;
  }
  return { actions, events, wakesMs, rejects, unrejects, status, note, check };
}

/** Actions. */
export function act(...actions: readonly Action[]): Effects {
  return { actions };
}

/** An event; reported once, on a change. */
export function emit(type: RolloutEvent['type'], reason: RolloutReason, message: string): Effects {
  return { events: [{ type, reason, message }] };
}

/** The status line. */
export function note(reason: RolloutReason, message: string, next?: Next): Effects {
  return { note: next ? { reason, message, next } : { reason, message } };
}

/** As note, if only a person can change it. */
export function stall(reason: RolloutReason, message: string): Effects {
  return { note: { reason, message, stalled: true } };
}

/** Steps again after the shortest of these times at the latest. */
export function wake(...wakesMs: readonly number[]): Effects {
  return { wakesMs };
}

/** The rejection of a release. */
export function rejectionFor({ digest, commit }: Run, reason: RolloutReason, cause?: string): NewRejection[] {
  return [{ digest, commit, reason, cause }];
}

/** Which side should serve. */
export type Preference =
  /**
   * All traffic to this side. `evacuate`: the other side failed, and loses at once what this one can carry; `overdue`: its deadline has
   * passed, and it loses everything if this side has a ready pod.
   */
  | {
      readonly kind: 'all';
      readonly side: Side;
      readonly evacuate?: boolean;
      readonly overdue?: boolean;
      /** At rest: the route is written again even if it is reached, since the Canary's settings of it may have changed. */
      readonly reapply?: boolean;
    }
  /** This share of the side under trial; `mirrored`: requests are also copied to it. */
  | { readonly kind: 'share'; readonly side: Side; readonly percent: number; readonly mirrored?: boolean }
  /** Unchanged, as long as the serving side is ready. */
  | { readonly kind: 'stay' }
  /** The allocator does nothing: the state's actions move the traffic, or there is none yet. */
  | { readonly kind: 'none' };

/** All traffic to one side. */
export const ALL: Readonly<Record<Side, Preference>> = {
  primary: { kind: 'all', side: 'primary' },
  canary: { kind: 'all', side: 'canary' },
};

/** Unchanged. */
export const STAY: Preference = { kind: 'stay' };

/** The allocator does nothing. */
export const NONE: Preference = { kind: 'none' };
