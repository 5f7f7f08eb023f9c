/** What a plan is asked for, and what it may read besides the repository. */
import type { Canary } from '../../api/canary/canary.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import type { Snapshot } from '../../engine/sync/context/context.ts';
import type { LocalRepository } from '../../git/store/local-repository.ts';
import type { CanarySide } from './canary-plan.ts';
import type { FlightPlan } from './flight-plan.ts';
import type { PromotedStates } from './promoted-state.ts';
import type { DryRunAnswer, Measured } from './report.ts';
import type { SourcePair } from './sources.ts';

/** What is compared. */
export interface PlanRequest {
  readonly repository: LocalRepository;
  readonly base: string;
  /** Undefined: the working tree. */
  readonly head: string | undefined;
  /** Sources that are not in the repository. */
  readonly sources: readonly Source[];
  /** Folders that stand for the paths of Sources. */
  readonly paths: readonly string[];
  /** Of objects in those folders that name none. */
  readonly namespace: string;
  /** Only Sources that follow it. */
  readonly branch: string | undefined;
  readonly minIntervalMs: number;
  readonly defaultProvider: string;
}

/** Which Canaries are looked up. */
export interface LookQuestion {
  readonly keys: readonly string[];
  readonly source: Source;
  /** Empty for the working tree. */
  readonly baseCommit: string;
}

/** Which metrics are asked. */
interface MeasureQuestion {
  readonly canary: Canary;
  readonly flight: FlightPlan;
  /** MetricTemplates of head. */
  readonly templates: readonly KubernetesObject[];
}

/** Which objects the API server is asked about. */
interface DryRunQuestion {
  readonly source: Source;
  readonly side: RenderedSource;
  /** `objectKey` of what the commit changes. */
  readonly changed: ReadonlySet<string>;
}

/** What a Source holds at one commit, or in the working tree. */
export interface RenderedSource extends Pick<Snapshot, 'entries' | 'rest' | 'plans'> {
  /** `file:line: field: message`. */
  readonly problems: readonly string[];
  readonly canaries: ReadonlyMap<string, CanarySide>;
  /** Files of which nothing was taken; an empty name is all of them. */
  readonly brokenFiles: ReadonlySet<string>;
  /** The path is not there. */
  readonly isAbsent: boolean;
}

/** What is asked besides the repository; each part may be missing. None of them rejects: `notes` say what cannot be read. */
export interface PlanProbes {
  /** What is promoted, by Canary key. */
  readonly look?: ((question: LookQuestion) => Promise<PromotedStates>) | undefined;
  /** Current values of what a flight plan measures. */
  readonly measure?: ((question: MeasureQuestion) => Promise<readonly Measured[]>) | undefined;
  readonly dryRun?: ((question: DryRunQuestion) => Promise<DryRunAnswer>) | undefined;
  /** What could not be read, and why. */
  readonly notes?: readonly string[];
}

/** One Source with both sides rendered. */
export interface RenderedPair extends SourcePair {
  readonly beforeSide: RenderedSource;
  readonly afterSide: RenderedSource;
}
