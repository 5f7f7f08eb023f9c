/** Everything `holdfast plan` says, as `-o json` prints it (docs/guides/review.md). Within v1 fields are added, never changed or removed. */
import type { CommitInfo } from '../../api/commit.ts';
import type { FlightMetric, FlightPlan } from './flight-plan.ts';
import type { PromotedState } from './promoted-state.ts';

/** A side of the comparison. */
export interface PlanSide {
  /** As it was asked for; the working tree has none. */
  readonly revision: string;
  /** Undefined: the working tree, with what is not committed. */
  readonly commit?: Pick<CommitInfo, 'commit' | 'subject'>;
}

/** What an object is to its Source. `target`, `config` and `scaler` are written by rollouts and not by the Source itself. */
export type ObjectRole = 'target' | 'config' | 'scaler' | 'canary' | 'other';

/** What becomes of an object in the cluster that leaves Git. */
export type RemovalFate = 'pruned' | 'handedBack' | 'waitsForApproval' | 'stays';

/** One object that differs between the two sides. */
export interface ObjectChange {
  readonly change: 'added' | 'changed' | 'removed';
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly role: ObjectRole;
  /** `namespace/name` of the Canaries it belongs to. */
  readonly canaries: readonly string[];
  /** `path:line` of it at head; of a removed one at base. */
  readonly origin: string;
  /** Lines of its YAML, each behind `+`, `-` or a space; `...` stands for lines that are equal. What is secret is hidden. */
  readonly diff: readonly string[];
  /** What becomes of a removed one in the cluster. */
  readonly fate?: RemovalFate;
  readonly fateReason?: string;
}

/** What a commit means for one Canary. */
export interface CanaryPlanned {
  /** `namespace/name`. */
  readonly canary: string;
  /**
   * `release`: a rollout begins. `first`: there is nothing before it. `again`: head is what is proven already. `rejected`: head holds a release
   * that was rejected. `settings`: replicas and the like alone, applied without analysis. `spec`: the Canary alone. `frozen`: something about it
   * is broken, and what was before stays. `missing`: its target is not in the Source. `removed`: the Canary leaves Git. `none`: nothing of it
   * changes, but base is not what runs.
   */
  readonly change:
    | 'release'
    | 'first'
    | 'again'
    | 'rejected'
    | 'settings'
    | 'spec'
    | 'frozen'
    | 'missing'
    | 'removed'
    | 'none';
  /** One sentence. */
  readonly summary: string;
  /** Present for `release`, `first` and `again`. */
  readonly flight?: FlightPlan;
  readonly measured?: readonly Measured[];
  readonly revert?: Revertible;
  /** What is promoted and serves, where it was looked up. */
  readonly standing?: PromotedState;
}

/** Whether and how the release could be taken back. */
export interface Revertible {
  /** `unknown`: what is promoted was not looked up. */
  readonly possible: 'yes' | 'no' | 'unknown';
  readonly onFailure: 'auto' | 'hold' | 'revert' | 'halt';
  /** What a revert goes back to, and who says so. */
  readonly to?: {
    readonly commit: string;
    readonly subject: string;
    readonly from: 'cluster' | 'ledger' | 'base';
  };
  /** One sentence. */
  readonly why: string;
}

/** Rules about one-way changes. */
type OneWayRule =
  | 'immutableField'
  | 'recreated'
  | 'deletion'
  | 'crdVersion'
  | 'volumeSize'
  | 'jobRuns'
  | 'serviceType'
  | 'frozenConfig'
  | 'configKeys';

/** A change that cannot be taken back by going back in Git, or that the API server cannot make in place. */
export interface OneWayChange {
  readonly rule: OneWayRule;
  /** `oneWay`: going back does not undo it. `refused`: the API server cannot change this in place. `note`: it matters, and comes back. */
  readonly severity: 'oneWay' | 'refused' | 'note';
  /** `Kind namespace/name`. */
  readonly object: string;
  /** `path:line`. */
  readonly origin: string;
  /** What happens, in one sentence. */
  readonly message: string;
}

/** What the API server says about one object of head, asked as a dry run. */
export interface DryRunFinding {
  readonly object: string;
  readonly state: 'differs' | 'missing' | 'refused';
  /** `field: now -> then`, values of Secrets hidden. */
  readonly fields: readonly string[];
  readonly message?: string;
}

/** What the API server answered to a dry run. */
export interface DryRunAnswer {
  readonly findings: readonly DryRunFinding[];
  /** Why some objects could not be asked about. */
  readonly notes: readonly string[];
}

/** One Source. */
export interface SourcePlanned {
  /** `namespace/name`; the path where no Source was found. */
  readonly source: string;
  readonly path: string;
  readonly change: 'same' | 'changed' | 'added' | 'removed';
  /** `file:line: field: message`. While head has one, nothing is pruned, and what it concerns stays as it is. */
  readonly problems: readonly string[];
  readonly objects: readonly ObjectChange[];
  readonly canaries: readonly CanaryPlanned[];
  readonly oneWay: readonly OneWayChange[];
  /** Absent: not asked. */
  readonly dryRun?: readonly DryRunFinding[];
  /** What is not in this plan, and why; and what of head is doubtful, with file and line. */
  readonly notes: readonly string[];
}

/** The whole. */
export interface PlanReport {
  readonly base: PlanSide;
  readonly head: PlanSide;
  readonly summary: PlanSummary;
  readonly sources: readonly SourcePlanned[];
  readonly notes: readonly string[];
}

/** Counts over all Sources. */
interface PlanSummary {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Canaries with a flight. */
  readonly rollouts: number;
  readonly oneWay: number;
  /** Changes that the API server cannot make, by the rules here or by what it said. */
  readonly refused: number;
  readonly problems: number;
}

// What a metric of a flight plan is now.

/** The current value of one metric on the primary, which serves. */
export interface Measured {
  readonly name: string;
  readonly when: FlightMetric['when'];
  readonly value?: number;
  readonly verdict: 'pass' | 'fail' | 'unknown';
  /** Why there is no value. */
  readonly detail?: string;
}

/** Counts over all Sources. Pure. */
export function summaryOf(sources: readonly SourcePlanned[]): PlanSummary {
  const objects = sources.flatMap((source) => source.objects);
  const findings = sources.flatMap(({ oneWay }) => oneWay);
  const refusals = sources.flatMap(({ dryRun = [] }) => dryRun.filter(({ state }) => state === 'refused'));
  const known = new Set(
    findings.filter(({ severity }) => severity === 'refused').map(({ object }) => object),
  );
  const of = (change: string) => objects.filter((object) => object.change === change).length;
  return {
    added: of('added'),
    changed: of('changed'),
    removed: of('removed'),
    rollouts: sources.flatMap(({ canaries }) => canaries).filter(({ flight }) => flight !== undefined).length,
    oneWay: findings.filter(({ severity }) => severity === 'oneWay').length,
    refused: known.size + refusals.filter(({ object }) => !known.has(object)).length,
    problems: sources.flatMap(({ problems }) => problems).length,
  };
}
