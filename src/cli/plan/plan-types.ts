/** What a plan is asked for, and whom it may ask. */
import type { Canary } from '../../api/canary.ts';
import type { Source } from '../../api/source.ts';
import type { LocalRepository } from '../../git/local-repository.ts';
import type { Flight } from './flight.ts';
import type { Measured } from './measured.ts';
import type { Looked } from './promoted.ts';
import type { DryRunFinding } from './report.ts';
import type { SideOfSource } from './side.ts';
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
  /** Only Sources that follow it. */
  readonly branch: string | undefined;
  readonly minIntervalMs: number;
  readonly defaultProvider: string;
}

/** What is asked beside the repository; each part may be missing. None of them rejects: what cannot be had is told. */
export interface PlanProbes {
  /** What is promoted, by Canary key. */
  readonly look?: ((keys: readonly string[]) => Promise<Looked>) | undefined;
  /** Current values of what a flight plan measures. */
  readonly measure?: ((canary: Canary, flight: Flight) => Promise<readonly Measured[]>) | undefined;
  readonly dryRun?:
    | ((
        source: Source,
        side: SideOfSource,
      ) => Promise<{ findings: readonly DryRunFinding[]; notes: readonly string[] }>)
    | undefined;
}

/** One Source with both sides rendered. */
export interface RenderedPair extends SourcePair {
  readonly beforeSide: SideOfSource;
  readonly afterSide: SideOfSource;
}
