/**
 * The state: a discriminated union, the codec between it and the status (issue 11), and what its handlers return. What each state means for
 * traffic, head, deadlines and people is in table.ts.
 */
import type {
  CanaryPhase,
  CanaryStatus,
  PostPromotionState,
  PostPromotionStatus,
} from '../api/canary/status.ts';
import { present } from '../api/kubernetes.ts';
import { knownReason, type RolloutReason } from '../api/reasons.ts';
import { type Context, notInTheFuture, withLastChanges } from './context.ts';
import { combine, type Effects, type Preference } from './outcome.ts';
import { type Ending, type RevertCause, type Run, runOf } from './world.ts';

/** `status.postPromotion` without the state. */
interface Post {
  readonly reason?: string | undefined;
  readonly startTime?: string | undefined;
  readonly failedChecks?: number | undefined;
  readonly passedChecks?: number | undefined;
  readonly cause?: string | undefined;
  readonly [further: string]: unknown;
}

interface WithRun {
  readonly run: Run;
  /** Failed checks and iterations of the analysis. */
  readonly failedChecks: number;
  readonly iterations: number;
}

interface WithPost extends WithRun {
  readonly post: Post;
}

/** Every state; table.ts describes them. `phase` is Flagger's phase, if it does not follow from the state. */
export type State =
  | { readonly kind: 'Initializing'; readonly run: Run | undefined; readonly phase: CanaryPhase | undefined }
  | { readonly kind: 'Resting'; readonly phase: CanaryPhase | undefined; readonly failedChecks: number }
  | (WithRun & { readonly kind: 'Waiting'; readonly phase: CanaryPhase | undefined })
  | (WithRun & { readonly kind: 'Starting' })
  | (WithRun & { readonly kind: 'Analysing'; readonly isGateClosed: boolean })
  | (WithPost & { readonly kind: 'Promoting' })
  | (WithPost & { readonly kind: 'Converging' })
  | (WithPost & { readonly kind: 'Verifying' })
  | (WithPost & { readonly kind: 'Held'; readonly reason: RolloutReason })
  | (WithPost & { readonly kind: 'Reverting'; readonly cause: RevertCause; readonly phase: CanaryPhase })
  | (WithPost & { readonly kind: 'RevertFailed'; readonly reason: RolloutReason })
  | (WithRun & {
      readonly kind: 'Ending';
      readonly ending: Ending;
      readonly phase: CanaryPhase;
      readonly post?: PostPromotionStatus;
    });

/** Name of a state. */
export type StateKind = State['kind'];

/** A state with a release under way. */
export type RunState = Extract<State, { readonly failedChecks: number; readonly run: Run }>;

/** The state of this kind. */
export type StateOf<Kind extends StateKind> = Extract<State, { readonly kind: Kind }>;

/** How a state follows head. */
export type HeadRule =
  /** The last-known-good or a rejected release ends the release; a newer one takes its place. */
  | 'replaces'
  /** The last-known-good reverts it at once; a newer one waits for the end of this one, or for the state's own rule. */
  | 'takesBack'
  /** Only the state itself looks at head. */
  | 'ownRule';

/**
 * What a state's handler returns. `next` of another kind is handled in the same step; such an outcome has no actions, so that no state acts
 * for another one.
 */
export interface Outcome extends Effects {
  readonly next: State;
  /** Which side should serve, if it is not what the row of the state says. */
  readonly prefers?: Preference;
}

/** Stays in the same kind of state. */
export function stay(next: State, ...effects: readonly Effects[]): Outcome {
  return { next, ...combine(...effects) };
}

/** Enters another state. */
export function enter(next: State, effects: Omit<Effects, 'actions' | 'check'> = {}): Outcome {
  return { next, ...effects };
}

/** Reads the state from the status, written by this version or an older one; times in the future count as now (S30). */
export function stateOf(context: Context): State {
  const { world, good } = context;
  const { status } = world;
  const stored = runOf(status);
  const run =
    stored &&
    withLastChanges(context, { ...notInTheFuture(stored, context.now), startTime: stored.startTime });
  const { phase } = status;
  if (!good) return { kind: 'Initializing', run, phase };
  if (phase === 'Initializing' && run) return { kind: 'Initializing', run, phase };
  const failedChecks = status.failedChecks ?? 0;
  if (!run) return { kind: 'Resting', phase, failedChecks };
  const base = { run, failedChecks, iterations: status.iterations ?? 0 };
  if (run.ending) {
    const post = status.postPromotion ? { post: status.postPromotion } : {};
    return { ...base, ...post, kind: 'Ending', ending: run.ending, phase: phase || 'Progressing' };
  }
  if (status.postPromotion) {
    const { state, ...rest }: Post & { state: PostPromotionState } = status.postPromotion;
    return afterFirstWrite(context, { ...base, post: notInTheFuture(rest, context.now) }, state);
  }
  if (run.awaitsConfirmation || run.awaitsWindow) return { ...base, kind: 'Waiting', phase };
  return trialState(context, base, phase === 'WaitingPromotion');
}

/** Starting until the release was written to its side, then Analysing. */
export function trialState({ world }: Context, base: WithRun, isGateClosed = false): State {
  const { failedChecks, iterations, run } = base;
  const common = { run, failedChecks, iterations };
  const view = run.side === 'primary' ? world.primary : world.target;
  const isForeign = world.foreignTarget && run.side !== 'primary';
  const isStarted = view?.digest === run.digest && (!isForeign || run.broughtUp === true);
  return isStarted ? { ...common, kind: 'Analysing', isGateClosed } : { ...common, kind: 'Starting' };
}

/** After the analysis, by `status.postPromotion.state`. */
function afterFirstWrite(context: Context, base: WithPost, state: PostPromotionState): State {
  const { run, post } = base;
  const { phase = 'Promoting' } = context.world.status;
  // A CRD of another tool may have pruned the bookkeeping: the revert continues, and rejects nothing.
  const cause = run.revert ?? {
    reason: knownReason(post.reason, 'NotLastKnownGood'),
    finding: post.cause ?? '',
    reject: false,
    control: false,
  };
  switch (state) {
    case 'Converging':
      return promotionState(context, base);
    case 'Verifying':
      return { ...base, kind: 'Verifying' };
    case 'Held':
      return phase === 'Failed'
        ? { ...base, kind: 'RevertFailed', reason: knownReason(post.reason, 'LKGNotReady') }
        : { ...base, kind: 'Held', reason: knownReason(post.reason, 'PrimaryNotReady') };
    case 'Reverting':
      return { ...base, kind: 'Reverting', phase, cause };
  }
}

/** Promoting until the primary was written, then Converging. */
export function promotionState({ world }: Context, base: WithPost): State {
  const { run, failedChecks, iterations, post } = base;
  const kind = world.primary?.digest === run.digest ? 'Converging' : 'Promoting';
  return { run, failedChecks, iterations, post, kind };
}

/** The part of the status that holds the state. */
export function statusOf(
  state: State,
): Pick<CanaryStatus, 'phase' | 'postPromotion' | 'run' | 'failedChecks' | 'iterations'> {
  const phase = phaseOf(state);
  if (state.kind === 'Resting' || state.kind === 'Initializing') {
    const run = state.kind === 'Initializing' ? state.run : undefined;
    const failedChecks = state.kind === 'Resting' ? state.failedChecks : 0;
    return { ...phase, postPromotion: undefined, run: run && present(run), failedChecks, iterations: 0 };
  }
  const { failedChecks, iterations } = state;
  // The run keeps how the release ends, or why it is reverted.
  const run = present({
    ...state.run,
    ...(state.kind === 'Ending' ? { ending: state.ending } : {}),
    ...(state.kind === 'Reverting' ? { revert: state.cause } : {}),
  });
  return { postPromotion: undefined, ...phase, run, failedChecks, iterations };
}

function phaseOf(state: State): Pick<CanaryStatus, 'phase' | 'postPromotion'> {
  switch (state.kind) {
    case 'Initializing':
      return { phase: 'Initializing' };
    case 'Resting':
    case 'Waiting':
      return { phase: state.phase };
    case 'Starting':
      return { phase: 'Progressing' };
    case 'Analysing':
      return { phase: state.isGateClosed ? 'WaitingPromotion' : 'Progressing' };
    case 'Promoting':
    case 'Converging':
      return { phase: 'Promoting', postPromotion: { ...state.post, state: 'Converging' } };
    case 'Verifying':
      return { phase: 'Finalising', postPromotion: { ...state.post, state: 'Verifying' } };
    case 'Held':
      return { phase: 'Promoting', postPromotion: { ...state.post, state: 'Held', reason: state.reason } };
    case 'Reverting':
      return { phase: state.phase, postPromotion: { ...state.post, state: 'Reverting' } };
    case 'RevertFailed':
      return { phase: 'Failed', postPromotion: { ...state.post, state: 'Held', reason: state.reason } };
    case 'Ending':
      return { phase: state.phase, postPromotion: state.post };
  }
}

/** A state with these fields of its run replaced. */
export function withRun<S extends RunState>(state: S, run: Partial<Run>): S {
  return { ...state, run: { ...state.run, ...run } };
}

/** The run without these fields. */
export function without<Key extends keyof Run>(run: Run, ...keys: readonly Key[]): Run {
  const left: ReadonlySet<string> = new Set(keys);
  return Object.fromEntries(Object.entries(run).filter(([key]) => !left.has(key))) as unknown as Run;
}

/** The run while it stands still on purpose, so that neither gates nor checks are asked: deadlines restart afterwards. */
export function standingStill(run: Run): Run {
  return without(run, 'closedGate', 'unknownSince', 'progressKey');
}
