import type { Canary } from '../api/canary/canary.ts';
import type { CanaryStatus } from '../api/canary/status.ts';
import type { CommitInfo, RouteView } from '../api/observed.ts';
import type { CheckOutcome } from '../health/check-results.ts';
import type { WorkloadView } from '../health/workload-view.ts';

/** Everything `step` looks at: one Canary, at one moment, as read back. Built by the engine, never by the core. */
export interface World {
  /** Milliseconds since the epoch on a clock that does not jump inside a process (S30). */
  nowMs: number;
  /** Since when this process leads, on the clock of `nowMs`; undefined where nobody leads, as for who only looks. */
  leadingSinceMs?: number | undefined;
  canary: Canary;
  /** As last acknowledged by the API server; an empty object before the first write. */
  status: CanaryStatus;
  /** What Git says now. */
  head: HeadView;
  /** Release records read back from the cluster, newest first; damaged ones are among them and say so. */
  records: readonly RecordView[];
  /** Digests that failed and must not be tried again (S14), read back from their Secret. */
  rejected: readonly RejectionView[];
  /** Why that Secret cannot be read; then what the status says of rejections counts. */
  rejectionsProblem?: string | undefined;
  primary: WorkloadView | undefined;
  /** The target of the Canary: Flagger's canary workload. */
  target: WorkloadView | undefined;
  /** What autoscalerRef names; undefined where the Canary names none. */
  scaler?: ScalerView | undefined;
  /** Another tool applies the target and no Source holds it: its template is read and never written (design section 2.5). */
  foreignTarget?: boolean;
  /** Both sides are pods of one workload, whose own rolling update is held at the step (provider native, ADR 21). */
  sharesWorkload?: boolean;
  /** Of such a workload: pods of another template than its own that its controller waits for and never replaces. */
  stuckPods?: readonly StuckPod[];
  /** The spec names this provider, which is of the other sort than the one in effect: that one is in `canary.spec.provider` until it has moved. */
  movesTo?: string | undefined;
  /** On such a move: Git holds the route, with backends of its own, which lead to the target and take its place. */
  routeInGit?: boolean | undefined;
  /** What the primary was found to run, where its digest does not tell: as Flagger left it, or under another digest than head's. */
  adoptable?: AdoptableView | undefined;
  /** May rollouts start? Undefined: the Source has no windows. */
  window?: WindowView | undefined;
  /** Undefined when the routing objects do not exist yet. */
  route: RouteView | undefined;
  /** The answers that came last, by the key of their request; they stay until newer ones are there. */
  checks: CheckOutcome | undefined;
  /** The other Canaries, for causes that no release has (design section 5, auto). */
  peers: PeersView;
  /** Limits set by flags. */
  options: WorldOptions;
}

/** A pod, exactly this one. */
export interface StuckPod {
  name: string;
  uid: string;
}

/** The windows of the Source at this moment. */
export interface WindowView {
  open: boolean;
  /** Of closed ones: when they open, or are to be looked at again; milliseconds since the epoch. */
  nextOpeningMs?: number;
}

/** What flags say. */
interface WorldOptions {
  minIntervalMs: number;
  defaultProvider: string;
  /** Canaries without alerts of their own have somebody to tell. */
  hasDefaultAlert?: boolean;
}

/** What is known of the other Canaries after promotion, from their statuses alone, so that a restart changes nothing. */
export interface PeersView {
  /** How many are verifying, those included that failed and have not ended. */
  verifying: number;
  /** How many are held since their checks fail together with others. */
  failingNow: number;
  /** When others were decided to go back for what checks said; RFC 3339. */
  failedTimes: readonly string[];
}

/** The scalers of both copies as read back. */
export interface ScalerView {
  kind: 'HorizontalPodAutoscaler' | 'ScaledObject';
  name: string;
  /** The target's own; undefined while it does not exist: then nobody but us scales the copy. */
  canary: ScalerSide | undefined;
  primary: ScalerSide | undefined;
  /** Milliseconds until a change of the load shows in what they ask for. */
  settleMs: number;
}

/** One scaler. Numbers are pods. */
export interface ScalerSide {
  minReplicas: number;
  maxReplicas: number;
  /** What minReplicas was before a rollout raised it; undefined: it is not raised. */
  restoreMinReplicas: number | undefined;
  /** Held at zero by the annotation of ScaledObjects. */
  paused: boolean;
}

/** What Git says about this Canary's workload. */
export type HeadView =
  | {
      kind: 'release';
      release: ReleaseView;
      /** What the ledger in Git says was promoted last, where it is something else: a cluster without a record starts from it. */
      ledger?: ReleaseView;
      /** Why the ledger's commit cannot be used. */
      ledgerProblem?: string;
    }
  /** No Source has been read yet, or the files that concern this Canary are broken: keep the plan (S24). */
  | { kind: 'unknown'; reason: string; message: string }
  /** The Source was read whole and holds no such workload. */
  | { kind: 'missing'; message: string };

/** What a primary runs, read from its own template and config copies (flagger-behaviour 2.10, backwards). */
export interface AdoptableView {
  release: ReleaseView;
  /** It is what head says. */
  isHead: boolean;
  /** What head says was on the target already when Flagger wrote the status last. */
  headWasTried: boolean;
}

/** A Release in the core's words. */
export interface ReleaseView {
  digest: string;
  commit: CommitInfo;
  /** Hash of the settings (replicas, strategy, deadlines), which are applied without analysis. */
  settingsKey: string;
  /** Replicas the manifest asks for, if it does. */
  replicas: number | undefined;
  /** Running pods mount tracked config as a volume, so that writing the copies reaches them live. */
  mountsConfig: boolean;
  /** Pods of the target may have been started with another config than this release's: one that is read from the live target has some. */
  hasLiveConfig?: boolean;
}

/** A release record: the bytes of a release, kept in the cluster and checked against their digest when read back (S10, S11). */
export interface RecordView {
  digest: string;
  commit: CommitInfo;
  /** Name of the Secret. */
  name: string;
  /** RFC 3339; undefined while the release has not proven itself. For people: what came first is told by `sequence`. */
  promotedTime: string | undefined;
  /** The how-many-eth release of the Canary that proved itself; undefined of records from before there was a sequence. */
  sequence?: number | undefined;
  /** Why its bytes cannot be used (gone, altered, of another release); undefined when they were read back sound. */
  damaged?: string | undefined;
  /** Of a damaged one: Git gives a release with this very digest, so that the record can be written anew. */
  inGit?: boolean | undefined;
}

/** A digest that is not rolled out again until a retry or a new digest (S14). */
export interface RejectionView {
  digest: string;
  commit: string;
  reason: string;
  time: string;
  /** What was diagnosed, as in the table of causes: some are of config outside Git, which may change without a commit. */
  cause?: string | undefined;
}

/** `1a2b3c4 subject`: how a release, or the run that tries it, is named to people. */
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
