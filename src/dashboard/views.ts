/** What the dashboard's server sends to its page, as JSON. Made by src/server/dashboard from what the controller watches. */

import type { CanaryStatus } from '../api/canary/status.ts';
import type { StatusTone } from '../api/canary/summary.ts';
import type { Fact } from '../api/incident.ts';
import type { Condition } from '../api/kubernetes.ts';
import type { SourceStatus } from '../api/source/source.ts';

/** A Canary in the list. */
export interface CanaryRow {
  readonly namespace: string;
  readonly name: string;
  readonly tone: StatusTone;
  /** Phase, and the state after promotion where there is one. */
  readonly phase: string;
  /** Undefined: not known yet. */
  readonly weightPercent: number | undefined;
  /** ` % of pods` where it is no share of the traffic. */
  readonly share: string;
  /** Subject of the commit that answers most requests, or its short id. */
  readonly serving: string;
  /** Full ids: what is filtered by. */
  readonly servingCommit: string;
  readonly headCommit: string;
  readonly reason: string;
  readonly message: string;
  /** Why the last release failed, or the rollout is stopped; empty when the message says it. */
  readonly why: string;
  readonly next: Next | undefined;
  /** Annotation holdfast.dev/owner, or else the Source that applies it. */
  readonly owner: string;
  readonly isPaused: boolean;
}

/** What happens next automatically. */
interface Next {
  readonly action: string;
  /** RFC 3339. */
  readonly time?: string | undefined;
}

/** A Source in the list. */
export interface SourceRow {
  readonly namespace: string;
  readonly name: string;
  readonly tone: StatusTone;
  readonly ready: string;
  readonly reason: string;
  readonly commit: string;
  readonly subject: string;
  readonly canaries: number | undefined;
  readonly message: string;
}

/** How fresh everything else is. */
export interface Freshness {
  /** The last contact with the API server (RFC 3339) if it was lost; undefined: all is current. */
  readonly staleSince?: string | undefined;
  /** What cannot be shown, for people. */
  readonly problem?: string | undefined;
  /** This copy acts; another one only shows. */
  readonly isLeader: boolean;
}

/** The first event of the list. */
export interface Fleet {
  readonly canaries: readonly CanaryRow[];
  readonly sources: readonly SourceRow[];
}

/** What changed in the list since. */
export interface FleetChange {
  readonly canaries: readonly CanaryRow[];
  readonly sources: readonly SourceRow[];
  /** `Canary namespace/name` and `Source namespace/name` that are gone, or may not be read any more. */
  readonly gone: readonly string[];
}

/** A section of a page, with how many more rows there are, or why it is not there. */
export type Section<T> = { readonly value: T; readonly more?: number } | { readonly missing: string };

/** One pod of a Canary. */
export interface PodRow {
  readonly name: string;
  readonly workload: string;
  readonly isReady: boolean;
  readonly phase: string;
  readonly restarts: number;
  readonly image: string;
  /** Why it is not ready, as Kubernetes says. */
  readonly problem: string;
  readonly createdTime: string | undefined;
}

/** One field that a release changes. */
export interface FieldChange {
  /** As containers[web].image. */
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** What a person may ask for now. */
export interface Request {
  /** As the command line calls it. */
  readonly command: string;
  /** The revision that it is about; another one is refused. */
  readonly revision?: string | undefined;
  /** What it does, from where to where. */
  readonly effect: string;
  /** Ask before. */
  readonly isDrastic: boolean;
  /** Why it cannot be asked for: the right is missing. */
  readonly forbidden?: string | undefined;
}

/** What happened to the share of the canary and its checks since this copy watches. Seconds since 1970 and values, column by column. */
export interface Timeline {
  readonly since: string;
  readonly timesSeconds: readonly number[];
  readonly weightsPercent: readonly (number | null)[];
  readonly failedChecks: readonly (number | null)[];
  readonly checks: readonly CheckSeries[];
}

/** One check over time; as many values as the timeline has times. */
interface CheckSeries {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** A report with its facts. */
export interface IncidentView {
  readonly time: string;
  readonly outcome: string;
  readonly severity: 'info' | 'warn' | 'error';
  readonly reason: string;
  readonly message: string;
  readonly facts: readonly Fact[];
}

/** Everything about one Canary. */
export interface CanaryView {
  readonly row: CanaryRow;
  readonly target: string;
  readonly provider: string;
  readonly steps: string;
  readonly status: Pick<
    CanaryStatus,
    | 'serving'
    | 'checks'
    | 'history'
    | 'rejected'
    | 'lastKnownGood'
    | 'lastAppliedCommit'
    | 'answers'
    | 'failedChecks'
  >;
  /** Of commits that are named: first lines of their messages. */
  readonly subjects: Readonly<Record<string, string>>;
  readonly postPromotion?:
    | { readonly state: string; readonly reason?: string | undefined; readonly cause?: string | undefined }
    | undefined;
  readonly runStartTime?: string | undefined;
  readonly conditions: readonly Condition[];
  readonly incidents: readonly IncidentView[];
  /** What a person can do, by the table of reasons. */
  readonly advice: string;
  readonly requests: readonly Request[];
  readonly timeline: Timeline;
  readonly pods: Section<readonly PodRow[]>;
  readonly changes: Section<readonly FieldChange[]>;
}

/** One object of a Source. */
export interface ObjectRow {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly tone: StatusTone;
  /** Why it is not healthy. */
  readonly problem: string;
}

/** Everything about one Source. */
export interface SourceView {
  readonly row: SourceRow;
  readonly url: string;
  readonly reference: string;
  readonly path: string;
  readonly status: Pick<SourceStatus, 'head' | 'appliedCommit' | 'appliedTime' | 'counts' | 'answers'>;
  readonly conditions: readonly Condition[];
  readonly canaries: readonly CanaryRow[];
  readonly requests: readonly Request[];
  readonly objects: Section<readonly ObjectRow[]>;
}

/** The user, and the controller that serves the page. */
export interface Session {
  readonly user: string;
  readonly version: string;
  readonly clusterName: string;
}
