/**
 * One row per state: which side should serve, how it follows head, which deadline ends it, which checks run, what is written, and what
 * happens next. `step` runs it, and docs/guides/states.md is generated from it.
 */

import type { Context } from './context.ts';
import { ALL, type Next, NONE, type Preference, STAY } from './outcome.ts';
import type { HeadRule, Outcome, StateKind, StateOf } from './state.ts';
import { analysing } from './states/analysing.ts';
import { ending, endingPrefers } from './states/ending.ts';
import { held, heldPrefers } from './states/held.ts';
import { initializing } from './states/initializing.ts';
import { converging, convergingPrefers, promoting, promotingPrefers } from './states/promoting.ts';
import { resting } from './states/resting.ts';
import { revertFailed, revertFailedPrefers, reverting, revertingPrefers } from './states/reverting.ts';
import { starting, startingPrefers, waiting } from './states/starting.ts';
import { verifying } from './states/verifying.ts';

/** A state. Its texts are part of the docs. */
export interface Row<Kind extends StateKind> {
  /** Flagger's phase, and postPromotion.state where there is one. */
  readonly phase: string;
  readonly meaning: string;
  /** Which side should serve. */
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

/** Every state. */
export const TABLE: { readonly [Kind in StateKind]: Row<Kind> } = {
  Initializing: {
    phase: 'Initializing',
    meaning: 'no release is proven good yet; the newest commit goes straight to the primary',
    serves: 'what served before, until the primary is ready',
    prefers: () => NONE,
    head: 'ownRule',
    followsHead: 'a newer commit is written to the primary at once',
    deadline: 'progressDeadlineSeconds without progress: reported; the next commit is tried',
    checks: 'none',
    writes: 'primary, record, Services and route; the target is scaled to zero',
    next: () => undefined,
    handle: initializing,
  },
  Resting: {
    phase: 'Initialized, Succeeded or Failed',
    meaning: 'no release is under way',
    serves: 'the primary with the last-known-good',
    // A switch of providers may be moving it (see moving.ts).
    prefers: ({ world: { status, primary } }) =>
      status.move || !primary?.digest ? STAY : { kind: 'all', side: 'primary', reapply: true },
    head: 'ownRule',
    followsHead: 'a new release is started unless it was rejected',
    deadline: 'none: nothing to wait for',
    checks: 'none',
    writes: 'settings and replicas; deleted objects are restored; the target is scaled to zero',
    next: () => undefined,
    handle: resting,
  },
  Waiting: {
    phase: 'Waiting (the previous phase until the first answer)',
    meaning: 'a window is closed, or confirm-rollout has not approved',
    serves: 'the primary with the last-known-good; the canary if the release is to be tried on the primary',
    prefers: (_, { run }) => (run.side === 'primary' ? ALL.canary : ALL.primary),
    head: 'replaces',
    followsHead: 'a newer commit replaces it; the last-known-good or a rejected release ends it',
    deadline: 'the opening of the window; the deadline of the gate, which fails the release',
    checks: 'none',
    writes: 'settings; the target is scaled to zero, unless it serves',
    next: () => undefined,
    handle: waiting,
  },
  Starting: {
    phase: 'Progressing',
    meaning: 'traffic leaves the side that it is tried on, its record is saved, its pods are started',
    serves: 'the other side',
    prefers: startingPrefers,
    head: 'replaces',
    followsHead: 'a newer commit replaces it; the last-known-good or a rejected release ends it',
    deadline:
      'progressDeadlineSeconds: if the primary never becomes ready for the traffic, the release is tried on the primary',
    checks: 'none',
    writes: 'record, the tried side',
    next: () => ({ action: 'analysis once its pods are ready' }),
    handle: starting,
  },
  Analysing: {
    phase: 'Progressing or WaitingPromotion',
    meaning: 'the release goes through its steps and checks',
    serves: 'both, by the weight of the last step',
    // With both sides in one workload a step takes several writes, and it is written again if it was changed.
    prefers: ({ world: { route, sharesWorkload } }) => {
      const percent = route?.canaryWeight ?? 0;
      return sharesWorkload && percent > 0 ? { kind: 'share', side: 'canary', percent } : STAY;
    },
    head: 'replaces',
    followsHead: 'a newer commit replaces it; the last-known-good or a rejected release ends it',
    deadline:
      'progressDeadlineSeconds without progress of its pods, or without a check result: it fails; without pods for the next share: reported; the deadline of a gate',
    checks: 'analysis',
    writes: 'route, pods of the tried side',
    next: () => ({ action: 'the next check, then the next step' }),
    handle: analysing,
  },
  Promoting: {
    phase: 'Promoting, Converging',
    meaning: 'the analysis passed; records are saved and traffic is moved before the primary is written',
    serves: 'the canary if writing the primary would take its last ready pod, else unchanged',
    prefers: promotingPrefers,
    head: 'replaces',
    followsHead: 'a newer commit replaces it; the last-known-good or a rejected release ends it',
    deadline: 'progressDeadlineSeconds without enough ready pods for all traffic: it fails',
    checks: 'none',
    writes: 'records, route, then the primary',
    next: () => ({ action: 'the primary is written' }),
    handle: promoting,
  },
  Converging: {
    phase: 'Promoting, Converging',
    meaning: 'the primary rolls out the release, then gets the traffic',
    serves: 'unchanged until the primary is ready, then the primary',
    prefers: convergingPrefers,
    head: 'takesBack',
    followsHead: 'the last-known-good reverts it; a newer commit waits until it has ended',
    deadline: 'progressDeadlineSeconds without progress: held or reverted, as onFailure says',
    checks: 'none',
    writes: 'route; the primary if it was changed from outside',
    next: () => ({ action: 'verification once all traffic is on the primary' }),
    handle: converging,
  },
  Verifying: {
    phase: 'Finalising, Verifying',
    meaning: 'all traffic is on the primary; checks after promotion run, the canary stays up',
    serves: 'the primary',
    prefers: () => STAY,
    head: 'takesBack',
    followsHead:
      'the last-known-good reverts it; a newer commit ends verification after one passed check, unless confirm-rollout has to approve it',
    deadline:
      'successThreshold passed checks: good; threshold failed checks: reverted or held; progressDeadlineSeconds without a result: held',
    checks: 'after promotion',
    writes: 'its record, marked as proven; the primary if it was changed from outside',
    next: () => ({ action: 'the next check' }),
    handle: verifying,
  },
  Held: {
    phase: 'Promoting, Held',
    meaning: 'the primary did not become ready with it, or its checks failed or have no answer',
    serves: 'the healthy canary; the primary if checks have no answer or fail for many Canaries',
    prefers: heldPrefers,
    head: 'takesBack',
    followsHead:
      'the last-known-good reverts it; a newer commit is rolled out from the last-known-good, with onFailure manual or after a rollback on the primary, or on the canary if it does not get the pods for all traffic within progressDeadlineSeconds',
    deadline:
      'auto: reverted after progressDeadlineSeconds without progress; revert: at once; hold and manual: none',
    checks: 'after promotion',
    writes: 'deleted workloads are restored; with manual nothing',
    next: () => ({ action: 'as spec.postPromotion.onFailure says' }),
    handle: held,
  },
  Reverting: {
    phase: 'the previous phase, Reverting',
    meaning:
      'the primary gets the last-known-good, then the traffic; then the failed check is repeated on it',
    serves: 'whichever side can serve, then the primary',
    prefers: revertingPrefers,
    head: 'ownRule',
    followsHead: 'ignored until it has ended',
    deadline:
      'progressDeadlineSeconds without progress of the last-known-good, or while the API server refuses to write it: Failed and Held; if it is ready, and only has fewer pods than all traffic needs, it gets all traffic',
    checks: 'control',
    writes: 'the primary, route, the rejection',
    next: () => ({ action: 'traffic to the primary once it is ready' }),
    handle: reverting,
  },
  RevertFailed: {
    phase: 'Failed, Held',
    meaning: 'the last-known-good cannot be written, does not become ready, or fails the same check',
    serves: 'whichever side is ready',
    prefers: revertFailedPrefers,
    head: 'ownRule',
    followsHead:
      'a newer commit is still tried: on the primary while the canary carries all traffic; on the canary if it serves nothing, or does not get the pods for that within progressDeadlineSeconds',
    deadline: 'none: reported; it ends when the last-known-good becomes ready',
    checks: 'none',
    writes:
      'deleted workloads are restored, and a last-known-good that was refused is tried again; a canary without requests is scaled to zero if only its room is missing',
    next: ({ reason }) => ({
      action:
        reason === 'LKGFailsToo'
          ? 'nothing automatic'
          : 'it ends when the last-known-good is ready; a newer commit is tried',
    }),
    handle: revertFailed,
  },
  Ending: {
    phase: 'the previous phase',
    meaning: 'its outcome is decided; traffic moves back and the canary is scaled to zero',
    serves: 'the primary; a failed canary loses at once what the primary can carry',
    prefers: endingPrefers,
    head: 'ownRule',
    followsHead: 'ignored until it has ended',
    deadline:
      'progressDeadlineSeconds: all traffic to the ready pods of the primary; without any, Failed and Held',
    checks: 'none',
    writes: 'route, scalers, the rejection; the target is scaled to zero',
    next: () => ({ action: 'traffic to the primary, then the canary to zero' }),
    handle: ending,
  },
};
