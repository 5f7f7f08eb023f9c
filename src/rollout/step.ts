import { present } from '../api/kubernetes.ts';
import { knownReason, type RolloutReason } from '../api/reasons.ts';
import { type Context, contextOf } from './context.ts';
import { type Decided, finish } from './finish.ts';
import { type Action, act, combine, type Decision, type Effects, emit, laneOf, note } from './outcome.ts';
import { type HeadRule, type Outcome, type State, standingStill, stateOf } from './state.ts';
import { adopting } from './states/adopting.ts';
import { followHead } from './states/head.ts';
import { awaitsServices, switchProvider } from './states/moving.ts';
import {
  keepConfigCopies,
  paceRestores,
  removeRecords,
  repairRecord,
  scalePrimaryBack,
  withServices,
} from './states/restore.ts';
import { askRollback, rolledBack } from './states/rollback-hook.ts';
import { terminating } from './states/terminating.ts';
import { type Row, TABLE } from './table.ts';
import { allocate, isScaledToZero, shareOf } from './traffic/traffic.ts';
import { largestWeight } from './traffic/weights.ts';
import { handleVerbs } from './verbs/handle.ts';
import { runOf, type Side, type World } from './world.ts';

/** The most states that a release passes in one step; more would be a loop. */
const MOST_STATES = 8;

/**
 * Decides from the observed world of one Canary what to do next and what to report. Pure: no clock, no I/O, no randomness; the same world
 * gives the same decision, and after a crash at any point the next step continues (S33).
 */
export function step(world: World): Decision {
  const context = contextOf(world);
  if (world.canary.metadata.deletionTimestamp !== undefined) {
    const { intentFirst = false, ...effects } = terminating(context);
    const given = effects.actions ?? [];
    // Services are created again only for traffic that is moved.
    const actions = movesTraffic(effects) ? withServices(context, undefined, given) : given;
    return finish(context, { state: undefined, effects: { ...effects, actions }, intentFirst });
  }
  if (world.canary.spec.suspend) {
    const statusNote = note('Suspended', 'suspended: nothing is written until spec.suspend is removed', {
      action: 'nothing automatic',
    });
    const run = runOf(world.status);
    const effects = combine(statusNote, run ? { status: { run: present(standingStill(run)) } } : {});
    return finish(context, { state: undefined, effects, intentFirst: false });
  }
  const state = stateOf(context);
  const { taken, effects: answers } = handleVerbs(context, state);
  if (taken)
    return finish(context, { ...decided(context, taken, answers), intentFirst: !onlyLifts(state, taken) });
  const switching = switchProvider(context, state);
  if (switching) return finish(context, decided(context, switching, answers, true));
  const adopted = adopting(context, state);
  if (adopted?.leavesStatus)
    return {
      status: world.status,
      actions: [],
      intentFirst: false,
      check: undefined,
      events: [],
      wakeAfterMs: undefined,
    };
  const early = adopted ?? awaitsServices(context, state);
  if (early) return finish(context, withConfigCopies(context, decided(context, early, answers)));
  const outcome = paceRestores(context, runStates(context, state));
  // A pause on the primary's scaler is never ours; one that came with the copy would leave the primary without pods (flagger issue 1934).
  const unpaused: Action[] = world.scaler?.primary?.paused
    ? [{ type: 'PauseScaler', side: 'primary', paused: false }]
    : [];
  const before = combine(
    answers,
    reportMove(context, state),
    context.good ? repairRecord(context) : {},
    removeRecords(context),
    act(...unpaused, ...restoreReplicas(context, outcome)),
  );
  const intentFirst = outcome.next.kind !== state.kind;
  return finish(context, withConfigCopies(context, { ...decided(context, outcome, before), intentFirst }));
}

/**
 * A request lifted a rejection, and nothing else follows from it yet: the rejection is lifted before the answer is written. An answer that is there
 * already would be all that is left of the request if the Secret cannot be written, or the process ends in between.
 */
function onlyLifts(state: State, { next, unrejects = [] }: Outcome): boolean {
  return unrejects.length > 0 && next.kind === state.kind;
}

/** Reports a step of traffic once it was read back, since a write may be refused. */
function reportMove({ world: { status, route }, plan }: Context, state: State): Effects {
  const before = status.canaryWeight ?? 0;
  const weight = route?.canaryWeight ?? before;
  const report = (reason: RolloutReason, side: Side) =>
    emit('Normal', reason, `${side} weight ${shareOf(before, side)} % -> ${shareOf(weight, side)} %`);
  if (state.kind === 'Converging' && weight < before) return report('TrafficShifted', 'primary');
  if (state.kind !== 'Analysing' || plan.strategy.kind !== 'canary') return {};
  const { side = 'canary' } = state.run;
  const share = shareOf(weight, side);
  const isStep = share > shareOf(before, side) && share <= largestWeight(plan);
  return isStep ? report('WeightAdvanced', side) : {};
}

/** Held by onFailure halt: nothing is restored, so that a person can examine it. */
function isFrozen({ plan }: Context, state: State | undefined): boolean {
  return state?.kind === 'Held' && plan.postPromotion.onFailure === 'halt';
}

/** A primary that was scaled by hand is scaled back; not under onFailure halt, nor if this step writes it anyway. */
function restoreReplicas(context: Context, { next, actions = [] }: Outcome): Action[] {
  const isWritten = actions.some(
    ({ type }) => type === 'ApplyPrimary' || type === 'ScalePrimary' || type === 'ApplySettings',
  );
  return isFrozen(context, next) || isWritten || isScaledToZero(context.world)
    ? []
    : scalePrimaryBack(context);
}

function movesTraffic({ actions = [] }: Effects): boolean {
  return (
    actions.some(({ type }) => type === 'SetTraffic') &&
    !actions.some(({ type }) => type === 'EnsureServices')
  );
}

/** Runs the state's handler, and that of each state it enters. Only the last one acts; of those before events and status fields count. */
function runStates(context: Context, first: State): Outcome {
  let state = first;
  let effects: Effects = {};
  for (let passed = 0; passed < MOST_STATES; passed += 1) {
    const row = TABLE[state.kind] as Row<typeof state.kind>;
    const outcome = interruptedBy(context, state, row) ?? row.handle(context, state as never);
    const { next, note: statusNote, ...lasting } = outcome;
    // How a release ends is in the status before it is over: the condition Reverted and alerts are made of that.
    if (next.kind === 'Resting' && state.kind === 'Ending' && first.kind !== 'Ending')
      return { next: state, ...combine(effects, statusNote ? { note: statusNote } : {}) };
    // The same kind of state for another release is another state, too.
    const isSameRelease = digestUnderWay(state) === digestUnderWay(next) || next.kind === 'Initializing';
    if ((next.kind === state.kind && isSameRelease) || next.kind === 'Resting')
      return { ...outcome, ...combine(effects, outcome) };
    effects = combine(effects, lasting);
    state = next;
  }
  return { next: state, ...effects };
}

function digestUnderWay(state: State): string | undefined {
  return 'run' in state ? state.run?.digest : undefined;
}

/** A webhook of type rollback, or head, may end a release before its state's handler runs. */
function interruptedBy(
  context: Context,
  state: State,
  { head }: { readonly head: HeadRule },
): Outcome | undefined {
  if (state.kind === 'Resting' || state.kind === 'Initializing') return undefined;
  const back = state.kind === 'Ending' ? undefined : rolledBack(context, state);
  return back ?? followHead(context, state, head);
}

/**
 * The decision of a state: its effects, the traffic it prefers, and by its row what happens next. `isSwitching`: Services are created only
 * for traffic that is moved.
 */
function decided(context: Context, outcome: Outcome, before: Effects, isSwitching = false): Decided {
  const { next } = outcome;
  const row = TABLE[next.kind] as Row<typeof next.kind>;
  const run = 'run' in next ? next.run : undefined;
  const prefers = outcome.prefers ?? row.prefers(context, next as never);
  const traffic = allocate(context, run, prefers);
  const effects = combine(before, traffic, outcome, askRollback(context, next, outcome.check));
  // A retry lifted the rejection of the release that is tried: it is deleted until its deletion was read back.
  const isTried = next.kind === 'Waiting' || next.kind === 'Starting' || next.kind === 'Analysing';
  const rejected = withRejections(context, effects, isTried ? next.run.digest : undefined);
  const needsServices = isSwitching ? movesTraffic(rejected) : context.good !== undefined;
  const given = rejected.actions ?? [];
  const actions = needsServices ? withServices(context, run, given) : given;
  const statusNote =
    rejected.note && !rejected.note.stalled && !rejected.note.next
      ? { ...rejected.note, next: row.next(next as never) }
      : rejected.note;
  return {
    state: next,
    effects: {
      ...rejected,
      actions: actions.toSorted((a, b) => rankOf(a) - rankOf(b)),
      ...(statusNote ? { note: statusNote } : {}),
    },
    intentFirst: false,
  };
}

/** The order of actions: pods before their traffic, traffic before pods are removed, bookkeeping last. Any prefix is safe (S33). */
function rankOf(action: Action): number {
  if (bringsPods(action)) return 0;
  if (action.type === 'EnsureServices' || action.type === 'SetTraffic') return 1;
  // A record is saved before its release is written (S10).
  return laneOf(action) === 'bookkeeping' && action.type !== 'SaveRecord' ? 3 : 2;
}

function bringsPods(action: Action): boolean {
  if (action.type === 'SetScalerFloor') return action.minReplicas !== undefined;
  if (action.type === 'PauseScaler') return !action.paused;
  return (action.type === 'ScaleCanary' || action.type === 'ScalePrimary') && action.replicas > 0;
}

/** Restores missing copies of config in every state, except under onFailure halt. */
function withConfigCopies(context: Context, decision: Decided): Decided {
  const { state, effects } = decision;
  if (isFrozen(context, state)) return decision;
  return { ...decision, effects: combine(effects, keepConfigCopies(context, effects.actions ?? [])) };
}

/** Rejections are in the status first, and are written to their Secret until they were read back from there (S14; issue 11, 5). */
function withRejections(context: Context, effects: Effects, tried: string | undefined): Effects {
  const { world, now } = context;
  const unrejects = new Set([...(effects.unrejects ?? []), ...(tried ? [tried] : [])]);
  const known = context.rejections.filter(({ digest }) => !unrejects.has(digest));
  const rejects = (effects.rejects ?? []).filter(
    ({ digest }, index, all) =>
      !known.some((one) => one.digest === digest) && all.findIndex((one) => one.digest === digest) === index,
  );
  const added = rejects.map(({ digest, commit, reason, cause }) => ({
    digest,
    commit,
    reason,
    time: now,
    pending: true,
    ...(cause === undefined ? {} : { cause }),
  }));
  const rejected = [...known, ...added];
  const isSaved = (digest: string) => world.rejected.some((one) => one.digest === digest);
  const writes: Action[] = rejected
    .filter(({ digest }) => world.rejectionsProblem === undefined && !isSaved(digest))
    .map(({ digest, commit, reason, cause }) => ({
      type: 'Reject',
      digest,
      commit,
      reason: knownReason(reason, 'Rejected'),
      ...(cause ? { cause } : {}),
    }));
  const lifted: Action[] = [...unrejects].filter(isSaved).map((digest) => ({ type: 'Unreject', digest }));
  return combine(effects, { status: { rejected } }, act(...writes, ...lifted));
}
