/** A switch between provider native and providers that copy the workload, without downtime (ADR 21). `move` in the status is such a switch. */
import { ALL_TO_CANARY } from '../../api/canary/plan.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { hasConverged, whyNotReady } from '../../health/readiness.ts';
import { canaryServes, reachableCanaryPods, servingPods } from '../../health/workload-view.ts';
import { type Context, remainingMs, untilSettledMs } from '../context.ts';
import {
  ALL,
  act,
  combine,
  type Effects,
  emit,
  NONE,
  note,
  type Preference,
  stall,
  wake,
} from '../outcome.ts';
import { type Outcome, type State, stay } from '../state.ts';
import { awaitsGit, handOverToGit } from '../traffic/other-backends.ts';
import { allocate, fullSize, isAllOn, podsNeeded, raisePrimary, rescueTraffic } from '../traffic/traffic.ts';
import { handBackTraffic, handScalerBack } from './terminating.ts';

type ProviderSwitch = NonNullable<CanaryStatus['move']>;

/**
 * The spec names a provider of the other sort than the one in effect. A release under way ends first, with the provider it began with.
 * Undefined where nothing moves.
 */
export function switchProvider(context: Context, state: State): Outcome | undefined {
  const { movesTo, sharesWorkload, status } = context.world;
  if (movesTo === undefined || status.run) return undefined;
  return {
    ...stay(state, sharesWorkload ? switchToCopies(context, movesTo) : switchToNative(context, movesTo)),
    prefers: NONE,
  };
}

/** The target takes the traffic as when the Canary is deleted; only then the primary is deleted. Services and routes stay without an owner. */
function switchToNative(context: Context, to: string): Effects {
  const { world, plan, now } = context;
  const begun: ProviderSwitch = world.status.move?.to === to ? world.status.move : { to, startTime: now };
  // The primary is deleted last, after all traffic was read back on the target: another tool may own the route by now.
  if (!world.primary && begun.handedOverTime !== undefined)
    return combine(
      act({ type: 'ReleaseCopies' }),
      { status: { provider: to, move: undefined, scaler: undefined } },
      emit('Normal', 'Moved', 'the target carries all traffic; releases are rolled out in place from now on'),
    );
  // Git's own route is in force, and a stale read may still show the primary: it is deleted without another move of traffic.
  if (begun.handedOverTime !== undefined && world.routeInGit === true && world.route?.others === 'alone')
    return combine({ status: { move: begun } }, act({ type: 'ReleaseCopies' }));
  const statusNote = movingNote(context, begun, {
    message: `moving to provider ${to}, the target takes the traffic: ${whyNotReady(world.target)}`,
    action: 'the primary is deleted once the target carries all traffic',
  });
  const waiting = (move: ProviderSwitch, ...effects: readonly Effects[]) => {
    const { handedOverTime: _, ...rest } = move;
    return combine(...effects, statusNote, { status: { move: rest } });
  };
  if (awaitsGit(world)) return waiting(begun);
  const { readyTime: before, ...rest } = begun;
  const { readyTime, ...handBack } = handBackTraffic(context, before);
  if (!handBack.isDone) return waiting(readyTime ? { ...rest, readyTime } : rest, handBack.effects);
  const move = { ...begun, handedOverTime: begun.handedOverTime ?? now };
  const known = combine(handBack.effects, statusNote, { status: { move } });
  const leftMs = untilSettledMs(context, move.handedOverTime);
  if (leftMs > 0) return combine(known, wake(leftMs));
  const git = handOverToGit(context);
  if (!git.isDone) return combine(known, git.effects);
  const scaler = handScalerBack(context, plan.progressDeadlineMs);
  return combine(known, scaler.isDone ? act({ type: 'ReleaseCopies' }) : scaler.effects);
}

/** No release begins before a move has ended: one that takes longer than pods may take is a person's. */
function movingNote(
  context: Context,
  { startTime }: ProviderSwitch,
  { message, action }: { readonly message: string; readonly action: string },
): Effects {
  const leftMs = remainingMs(context, startTime, context.plan.progressDeadlineMs);
  return leftMs > 0 ? combine(note('Moving', message, { action }), wake(leftMs)) : stall('Moving', message);
}

/** The workload first runs one release completely, with no partition left. Then it is the target, which serves alone. */
function switchToCopies(context: Context, to: string): Effects {
  const statusNote = note('Moving', `moving to provider ${to} once the workload runs the last-known-good`);
  const traffic = allocate(context, undefined, ALL.primary);
  if ((traffic.actions ?? []).length > 0 || !isAllOn(context, 'primary')) return combine(statusNote, traffic);
  return combine(
    statusNote,
    { status: { provider: to, move: { to, startTime: context.now } } },
    emit(
      'Normal',
      'Moving',
      `moving to provider ${to}: starting the primary; the target serves until it is ready`,
    ),
  );
}

/** A switch to copies; `isDone`: the primary has all traffic, or there is no switch. */
interface SwitchToCopies {
  readonly isDone: boolean;
  readonly effects: Effects;
  readonly prefers?: Preference;
}

/**
 * The primary takes all traffic from the target, which served alone. Done when the primary has had it for as long as the data plane needs to
 * follow: only then may the target be scaled down.
 */
export function finishSwitchToCopies(context: Context): SwitchToCopies {
  const { world, now } = context;
  const { primary, route, status, canary, options } = world;
  const to = canary.spec.provider ?? options.defaultProvider;
  if (!status.move) return { isDone: true, effects: {} };
  // A switch to the other provider was called back: it begins again with whichever side has the traffic.
  const isCalledBack = status.move.to !== to;
  if (isCalledBack && isAllOn(context, 'primary'))
    return { isDone: true, effects: { status: { move: undefined } } };
  const move: ProviderSwitch = isCalledBack ? { to, startTime: now } : status.move;
  const statusNote = movingNote(context, move, {
    message: `moving to provider ${move.to}, the target serves: ${whyNotReady(primary)}`,
    action: 'the target is scaled to zero once the primary carries all traffic',
  });
  const continues = (...effects: readonly Effects[]) =>
    ({ isDone: false, effects: combine(...effects), prefers: NONE }) as const;
  const rescue = rescueTraffic(context);
  if (rescue) return continues(rescue, { status: { move } });
  const ready = preparePrimary(context, move);
  const known = combine(ready.effects, statusNote, { status: { move: ready.move } });
  if (!ready.isReady) return continues(known);
  if (!isAllOn(context, 'primary') || route?.accepted !== true)
    return continues(known, allocate(context, undefined, ALL.primary));
  const handedOver = { ...ready.move, handedOverTime: ready.move.handedOverTime ?? now };
  const leftMs = untilSettledMs(context, handedOver.handedOverTime);
  if (leftMs > 0) return continues(known, { status: { move: handedOver } }, wake(leftMs));
  const event = emit(
    'Normal',
    'Moved',
    'the primary carries all traffic; the target stays at zero until the next release',
  );
  return { isDone: true, effects: combine({ status: { move: undefined } }, event) };
}

/** Right after a switch to a provider that copies: its Services are created, and get no traffic before the data plane knows them. */
export function awaitsServices(context: Context, state: State): Outcome | undefined {
  const { move, run } = context.world.status;
  if (!move || run || context.world.sharesWorkload || context.world.primary) return undefined;
  const leftMs = untilSettledMs(context, move.startTime);
  if (leftMs === 0) return undefined;
  const statusNote = note(
    'Moving',
    `moving to provider ${move.to}, the target serves: creating the Services first`,
  );
  return { ...stay(state, statusNote, wake(leftMs)), prefers: NONE };
}

/** Whether the primary can carry all traffic and the data plane knows its pods. Until then the target has it, whatever an older route says. */
function preparePrimary(
  context: Context,
  before: ProviderSwitch,
): { readonly isReady: boolean; readonly move: ProviderSwitch; readonly effects: Effects } {
  const { world, plan } = context;
  const { primary, target, scaler } = world;
  const isScaled = !scaler || scaler.primary !== undefined;
  const grown = act(...(isScaled ? raisePrimary(world) : [{ type: 'ApplyScalers' } as const]));
  const enough = !world.scaler?.primary || servingPods(primary) >= podsNeeded(context, 'primary', 100);
  const isComplete = isScaled && hasConverged(primary, plan.primaryReadyPercent) && enough;
  const move = isComplete ? { ...before, readyTime: before.readyTime ?? context.now } : before;
  if (isComplete || move.handedOverTime !== undefined) {
    const leftMs = isAllOn(context, 'primary') ? 0 : untilSettledMs(context, move.readyTime);
    return { isReady: leftMs === 0, move, effects: combine(grown, wake(leftMs)) };
  }
  const mayCarry = servingPods(primary) === 0 || reachableCanaryPods(target) >= fullSize(world);
  const toTarget = !isAllOn(context, 'canary') && canaryServes(target) && mayCarry;
  return {
    isReady: false,
    move,
    effects: toTarget ? combine(grown, act({ type: 'SetTraffic', route: ALL_TO_CANARY })) : grown,
  };
}
