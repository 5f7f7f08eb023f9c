/**
 * One row per state: who should serve, how it follows head, which deadline ends it, what runs and may be written meanwhile, and what people
 * are told comes next. The program runs by it, and docs/guides/states.md is made from it.
 */
import type { Context } from './context.ts';
import { ALL, type Next, NONE, type Outcome, type Preference, STAY } from './outcome.ts';
import type { StateKind, StateOf } from './state.ts';
import { analysing, analysingPrefers } from './states/analysing.ts';
import { ending, endingPrefers } from './states/ending.ts';
import type { HeadRule } from './states/head.ts';
import { held, heldPrefers } from './states/held.ts';
import { initializing } from './states/initializing.ts';
import { converging, convergingPrefers, promoting, promotingPrefers } from './states/promoting.ts';
import { resting, restingPrefers } from './states/resting.ts';
import { revertFailed, revertFailedPrefers, reverting, revertingPrefers } from './states/reverting.ts';
import { starting, startingPrefers, waiting } from './states/starting.ts';
import { verifying } from './states/verifying.ts';

/** What a state means. Texts are for people and stand in the docs. */
export interface Row<Kind extends StateKind> {
  /** Flagger's phase, and postPromotion.state where there is one. */
  readonly phase: string;
  readonly meaning: string;
  /** Who should serve. */
  readonly serves: string;
  readonly prefers: (context: Context, state: StateOf<Kind>) => Preference;
  readonly head: HeadRule;
  /** What head does. */
  readonly followsHead: string;
  /** Which deadline ends it, and where that leads. */
  readonly deadline: string;
  /** Checks that run. */
  readonly checks: 'none' | 'analysis' | 'after promotion' | 'control';
  /** What may be written. */
  readonly writes: string;
  readonly next: (state: StateOf<Kind>) => Next | undefined;
  readonly handle: (context: Context, state: StateOf<Kind>) => Outcome;
}

const nextIs = (action: string) => () => ({ action });
const NOTHING = () => undefined;

/** Every state. */
export const TABLE: { readonly [Kind in StateKind]: Row<Kind> } = {
  Initializing: {
    phase: 'Initializing',
    meaning: 'nothing has proven itself yet; the newest commit goes straight to the primary',
    serves: 'what served before, until the primary is up',
    prefers: () => NONE,
    head: 'ownRule',
    followsHead: 'a newer commit is written to the primary at once',
    deadline: 'progressDeadlineSeconds without progress: it is told, and the next commit gets another try',
    checks: 'none',
    writes: 'primary, record, Services, route; the target at zero',
    next: NOTHING,
    handle: initializing,
  },
  Resting: {
    phase: 'Initialized, Succeeded or Failed',
    meaning: 'no release is under way',
    serves: 'the primary with the last-known-good',
    prefers: restingPrefers,
    head: 'ownRule',
    followsHead: 'a new digest that was not rejected is admitted',
    deadline: 'none: nothing is waited for',
    checks: 'none',
    writes: 'settings and replicas, what somebody deleted, the target at zero',
    next: NOTHING,
    handle: resting,
  },
  Waiting: {
    phase: 'Waiting (the phase before, until the first answer)',
    meaning: 'a window is closed, or confirm-rollout has not approved',
    serves: 'the primary with the last-known-good',
    prefers: () => ALL.primary,
    head: 'replaces',
    followsHead: 'a newer commit takes its place; the last-known-good or a rejected one ends it',
    deadline: 'the opening of the window; the deadline of the gate, which fails the release',
    checks: 'none',
    writes: 'settings, and the target at zero',
    next: NOTHING,
    handle: waiting,
  },
  Starting: {
    phase: 'Progressing',
    meaning: 'the side it is tried on is cleared of traffic, its record is kept, its pods are written',
    serves: 'the other side',
    prefers: startingPrefers,
    head: 'replaces',
    followsHead: 'a newer commit takes its place; the last-known-good or a rejected one ends it',
    deadline:
      'progressDeadlineSeconds: a primary that never takes the traffic is where the release is tried then',
    checks: 'none',
    writes: 'record, the tried side',
    next: nextIs('analysis once its pods are ready'),
    handle: starting,
  },
  Analysing: {
    phase: 'Progressing or WaitingPromotion',
    meaning: 'steps and checks',
    serves: 'both, by the last step',
    prefers: analysingPrefers,
    head: 'replaces',
    followsHead: 'a newer commit takes its place; the last-known-good or a rejected one ends it',
    deadline:
      'progressDeadlineSeconds without progress of its pods, or without a verdict: it fails; the deadline of a gate',
    checks: 'analysis',
    writes: 'route, pods of the tried side',
    next: nextIs('the next check, then the next step'),
    handle: analysing,
  },
  Promoting: {
    phase: 'Promoting, Converging',
    meaning: 'it passed; records and traffic are brought in place for the write to the primary',
    serves: 'the canary where the write would take the last ready pod of the primary, else as it is',
    prefers: promotingPrefers,
    head: 'replaces',
    followsHead: 'a newer commit takes its place; the last-known-good or a rejected one ends it',
    deadline: 'progressDeadlineSeconds without the pods to take all traffic: it fails',
    checks: 'none',
    writes: 'records, route, then the primary',
    next: nextIs('the primary is written'),
    handle: promoting,
  },
  Converging: {
    phase: 'Promoting, Converging',
    meaning: 'the primary was written, converges and gets the traffic',
    serves: 'as it is until the primary is whole, then the primary',
    prefers: convergingPrefers,
    head: 'takesBack',
    followsHead: 'the last-known-good takes it back; a newer commit waits for its end',
    deadline: 'progressDeadlineSeconds without progress: held or reverted, by onFailure',
    checks: 'none',
    writes: 'route, the primary where somebody changed it',
    next: nextIs('verification once all traffic is on the primary'),
    handle: converging,
  },
  Verifying: {
    phase: 'Finalising, Verifying',
    meaning: 'all traffic on the primary, checks go on, the canary stays',
    serves: 'the primary',
    prefers: () => STAY,
    head: 'takesBack',
    followsHead: 'the last-known-good takes it back; a newer commit ends verification after one pass',
    deadline:
      'successThreshold passes: good; threshold failures: reverted or held; progressDeadlineSeconds without a verdict: held',
    checks: 'after promotion',
    writes: 'the stamp of its record, the primary where somebody changed it',
    next: nextIs('next check'),
    handle: verifying,
  },
  Held: {
    phase: 'Promoting, Held',
    meaning: 'the primary did not take it over, or checks failed or cannot be had',
    serves: 'the healthy canary; the primary where checks cannot be had, or fail for many',
    prefers: heldPrefers,
    head: 'takesBack',
    followsHead:
      'the last-known-good takes it back; a newer commit is rolled out from the last-known-good, with halt through the primary',
    deadline:
      'auto: progressDeadlineSeconds without progress, then reverted; revert: at once; hold and halt: none',
    checks: 'after promotion',
    writes: 'copies that somebody deleted; with halt nothing',
    next: nextIs('by spec.postPromotion.onFailure'),
    handle: held,
  },
  Reverting: {
    phase: 'as before it, Reverting',
    meaning: 'the primary gets the last-known-good, then the traffic, then the failed check is asked of it',
    serves: 'whoever can stand in, then the primary',
    prefers: revertingPrefers,
    head: 'ownRule',
    followsHead: 'nothing changes until it has ended',
    deadline: 'progressDeadlineSeconds without progress of the last-known-good: Failed and Held',
    checks: 'control',
    writes: 'the primary, route, the rejection',
    next: nextIs('traffic to the primary once it is ready'),
    handle: reverting,
  },
  Fallen: {
    phase: 'Failed, Held',
    meaning: 'the last-known-good itself does not come up, or fails the same check',
    serves: 'whoever is ready',
    prefers: revertFailedPrefers,
    head: 'ownRule',
    followsHead: 'a newer commit gets through: on the primary while the canary serves, else on the canary',
    deadline: 'none: it heals when the last-known-good does, and people were told',
    checks: 'none',
    writes: 'copies that somebody deleted',
    next: ({ reason }) => ({
      action:
        reason === 'LKGFailsToo'
          ? 'nothing automatic'
          : 'it ends when the last-known-good is ready; a newer commit is tried',
    }),
    handle: revertFailed,
  },
  Ending: {
    phase: 'as before it',
    meaning: 'it is decided how it ends',
    serves: 'the primary; a failed canary loses at once what the primary carries',
    prefers: endingPrefers,
    head: 'ownRule',
    followsHead: 'nothing changes until it has ended',
    deadline:
      'progressDeadlineSeconds: all traffic to whatever is ready of the primary; where nothing is, Failed and Held',
    checks: 'none',
    writes: 'route, the target at zero, scalers, the rejection',
    next: nextIs('traffic to the primary, then the canary to zero'),
    handle: ending,
  },
};
