import { knownReason } from '../api/reasons.ts';
import { type Action, type Decision, laneOf } from './action.ts';
import { type Context, contextOf } from './context.ts';
import { type Decided, finish } from './finish.ts';
import { keepConfigCopies, withServices } from './generated-objects.ts';
import { act, combine, type Effects, note, type Outcome } from './outcome.ts';
import { repairRecord } from './records.ts';
import { type State, stateOf } from './state.ts';
import { adopting } from './states/adopting.ts';
import { followHead, type HeadRule } from './states/head.ts';
import { awaitsServices, switchProvider } from './states/moving.ts';
import { scalePrimaryBack } from './states/recreate.ts';
import { askRollback, rolledBack } from './states/rollback-hook.ts';
import { type DeletionEffects, terminating } from './states/terminating.ts';
import { type Row, TABLE } from './table.ts';
import { isScaledToZero, unpausePrimaryScaler } from './traffic/scalers.ts';
import { allocate } from './traffic/traffic.ts';
import { handleVerbs } from './verbs/handle.ts';
import type { World } from './world.ts';

/** A release passes at most so many states in one step; more would be a circle. */
const MOST_STATES = 8;

/**
 * The heart: from what was observed of one Canary, what to do next and what to say about it. Pure: no clock, no I/O, no randomness; the
 * same world gives the same decision, and repeating a decision after a crash at any point carries on (S33).
 */
export function step(world: World): Decision {
  const context = contextOf(world);
  if (world.canary.metadata.deletionTimestamp !== undefined)
    return finish(context, deletionDecision(context, terminating(context)));
  if (world.canary.spec.suspend) {
    const words = note('Suspended', 'suspended: nothing is written until spec.suspend is removed', {
      action: 'nothing automatic',
    });
    return finish(context, { state: undefined, effects: words, intentFirst: false });
  }
  const state = stateOf(context);
  const { taken, effects: asked } = handleVerbs(context, state);
  if (taken) return finish(context, { ...decided(context, taken, asked), intentFirst: true });
  const moved = switchProvider(context, state);
  if (moved) return finish(context, decided(context, moved, asked, true));
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
  if (early) return finish(context, withConfigCopies(context, decided(context, early, asked)));
  const gone = runStates(context, state);
  const before = combine(
    asked,
    context.good ? repairRecord(context) : {},
    act(...unpausePrimaryScaler(world), ...restoreReplicas(context, gone)),
  );
  const intentFirst = gone.next.kind !== state.kind;
  return finish(context, withConfigCopies(context, { ...decided(context, gone, before), intentFirst }));
}

/** Held by onFailure halt: nothing is restored, so that a person can look at it. */
function isFrozen({ plan }: Context, state: State | undefined): boolean {
  return state?.kind === 'Held' && plan.postPromotion.onFailure === 'halt';
}

/** A primary that was scaled by hand is scaled back; not under onFailure halt, and not when it is written anyway. */
function restoreReplicas(context: Context, { next, actions = [] }: Outcome): Action[] {
  const isWritten = actions.some(
    ({ type }) => type === 'ApplyPrimary' || type === 'ScalePrimary' || type === 'ApplySettings',
  );
  return isFrozen(context, next) || isWritten || isScaledToZero(context.world)
    ? []
    : scalePrimaryBack(context);
}

/** On its way out: Services are made again only for traffic that is moved. */
function deletionDecision(context: Context, { intentFirst = false, ...effects }: DeletionEffects): Decided {
  const given = effects.actions ?? [];
  const actions = movesTraffic(effects) ? withServices(context, undefined, given) : given;
  return { state: undefined, effects: { ...effects, actions }, intentFirst };
}

function movesTraffic({ actions = [] }: Effects): boolean {
  return (
    actions.some(({ type }) => type === 'SetTraffic') &&
    !actions.some(({ type }) => type === 'EnsureServices')
  );
}

/** The state's handler, and that of each state it enters: the last one acts, those before only spoke. */
function runStates(context: Context, first: State): Outcome {
  let state = first;
  let told: Effects = {};
  for (let passed = 0; passed < MOST_STATES; passed += 1) {
    const row = TABLE[state.kind] as Row<typeof state.kind>;
    const outcome = interruptedBy(context, state, row) ?? row.handle(context, state as never);
    if (!entersState(state, outcome.next) || outcome.next.kind === 'Resting')
      return { ...outcome, ...combine(told, outcome) };
    const { note: _, ...words } = outcome;
    told = combine(told, words);
    state = outcome.next;
  }
  return { next: state, ...told };
}

/** What a webhook of type rollback, or head, makes of a release before its state is asked. */
function interruptedBy(
  context: Context,
  state: State,
  { head }: { readonly head: HeadRule },
): Outcome | undefined {
  if (state.kind === 'Resting' || state.kind === 'Initializing') return undefined;
  const back = state.kind === 'Ending' ? undefined : rolledBack(context, state);
  return back ?? followHead(context, state, head);
}

/** Another state, or the same one for another release. */
function entersState(before: State, after: State): boolean {
  if (before.kind !== after.kind) return true;
  const of = (state: State) => ('run' in state ? state.run?.digest : undefined);
  return of(before) !== of(after) && after.kind !== 'Initializing';
}

/** The decision of a state: its effects, the traffic it prefers, and what happens next by its row. `moves`: Services only for traffic that is moved. */
function decided(context: Context, outcome: Outcome, before: Effects, moves = false): Decided {
  const { next } = outcome;
  const row = TABLE[next.kind] as Row<typeof next.kind>;
  const run = 'run' in next ? next.run : undefined;
  const prefers = outcome.prefers ?? row.prefers(context, next as never);
  const traffic = allocate(context, run, prefers);
  const effects = combine(before, traffic, outcome, askRollback(context, next, outcome.check));
  const rejected = withRejections(context, effects, triedDigest(next));
  const actions = rejected.actions ?? [];
  const isServed = moves ? movesTraffic(rejected) : context.good !== undefined;
  const withAll = inOrder(isServed ? withServices(context, run, actions) : actions);
  const told =
    rejected.note && !rejected.note.stalled && !rejected.note.next
      ? { ...rejected.note, next: row.next(next as never) }
      : rejected.note;
  return {
    state: next,
    effects: { ...rejected, actions: withAll, ...(told ? { note: told } : {}) },
    intentFirst: false,
  };
}

/** Pods before the traffic that they are for, traffic before what takes pods away, and bookkeeping last: any prefix is safe (S33). */
function inOrder(actions: readonly Action[]): Action[] {
  return actions.toSorted((a, b) => rankOf(a) - rankOf(b));
}

function rankOf(action: Action): number {
  if (bringsPods(action)) return 0;
  if (action.type === 'EnsureServices' || action.type === 'SetTraffic') return 1;
  // A record comes before the template that it keeps (S10).
  return laneOf(action) === 'bookkeeping' && action.type !== 'SaveRecord' ? 3 : 2;
}

function bringsPods(action: Action): boolean {
  if (action.type === 'SetScalerFloor') return action.minReplicas !== undefined;
  if (action.type === 'PauseScaler') return !action.paused;
  return (action.type === 'ScaleCanary' || action.type === 'ScalePrimary') && action.replicas > 0;
}

/** Restores missing copies of config, whatever else is done, except under onFailure halt. */
function withConfigCopies(context: Context, decision: Decided): Decided {
  const { state, effects } = decision;
  if (isFrozen(context, state)) return decision;
  return { ...decision, effects: combine(effects, keepConfigCopies(context, effects.actions ?? [])) };
}

/** The digest that is being tried: a retry lifted its rejection, which goes until it is read back that it went. */
function triedDigest(state: State): string | undefined {
  const isTried = state.kind === 'Waiting' || state.kind === 'Starting' || state.kind === 'Analysing';
  return isTried ? state.run.digest : undefined;
}

/** Digests that are barred stand in the status first, and are written to their Secret until they are read back from there (S14; issue 11, 5). */
function withRejections(context: Context, effects: Effects, tried: string | undefined): Effects {
  const { world, now } = context;
  const unrejects = new Set([...(effects.unrejects ?? []), ...(tried ? [tried] : [])]);
  const known = context.rejections.filter(({ digest }) => !unrejects.has(digest));
  const rejects = (effects.rejects ?? []).filter(
    ({ digest }, index, all) =>
      !known.some((one) => one.digest === digest) && all.findIndex((one) => one.digest === digest) === index,
  );
  const added = rejects.map(({ digest, commit, reason, cause }) => ({
    ...{ digest, commit, reason, time: now, pending: true },
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
