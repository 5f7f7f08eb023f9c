/** From copies to rolling out in place and back, without a moment in which nobody serves (ADR 21). */
import { ALL_TO_CANARY } from '../../api/canary/plan.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { hasConverged, servingPods, whyNotReady } from '../../health/readiness.ts';
import { type Context, remainingMs } from '../context.ts';
import {
  ALL,
  act,
  combine,
  type Effects,
  NONE,
  note,
  type Outcome,
  type Preference,
  say,
  stay,
  wake,
} from '../outcome.ts';
import { SETTLE_MS } from '../progress.ts';
import type { State } from '../state.ts';
import { canaryPods, canaryServes, fullSize, podsNeeded, scalerOf } from '../traffic/capacity.ts';
import { awaitsGit, handsOverToGit } from '../traffic/other-backends.ts';
import { raisePrimary } from '../traffic/scalers.ts';
import { allocate, isAllOn, rescueTraffic } from '../traffic/traffic.ts';
import { handBackTraffic, hasScalerBack } from './terminating.ts';

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

/** The target takes the traffic as when the Canary is deleted; only then does the primary go, and what was made stays without an owner. */
function switchToNative(context: Context, to: string): Effects {
  const { world, plan, now } = context;
  const begun: ProviderSwitch = world.status.move?.to === to ? world.status.move : { to, startTime: now };
  // It went last, with all traffic read back on the target: whose route this is by now is not the rollout's business any more.
  if (!world.primary && begun.handedOverTime !== undefined) return switchedToNative(to);
  if (isHandedToGit(context, begun))
    return combine({ status: { move: begun } }, act({ type: 'ReleaseCopies' }));
  const words = note(
    'Moving',
    `moving to provider ${to}, the target takes the traffic: ${whyNotReady(world.target)}`,
    {
      action: 'the primary is deleted once the target carries all traffic',
    },
  );
  const waiting = (move: ProviderSwitch, ...effects: readonly Effects[]) => {
    const { handedOverTime: _, ...rest } = move;
    return combine(...effects, words, { status: { move: rest } });
  };
  if (awaitsGit(world)) return waiting(begun);
  const endpoints = waitsForEndpoints(context, begun);
  if (endpoints.waits) return waiting(endpoints.move, endpoints.effects);
  const back = handBackTraffic(context);
  if (!back.isThere) return waiting(endpoints.move, back.effects);
  const move = { ...endpoints.move, handedOverTime: endpoints.move.handedOverTime ?? now };
  const here = combine(back.effects, words, { status: { move } });
  const leftMs = remainingMs(context, move.handedOverTime, SETTLE_MS);
  if (leftMs > 0) return combine(here, wake(leftMs));
  const git = handsOverToGit(context);
  if (!git.isOver) return combine(here, git.effects);
  const scaler = hasScalerBack(context, plan.progressDeadlineMs);
  return scaler.isBack ? combine(here, act({ type: 'ReleaseCopies' })) : combine(here, scaler.effects);
}

/** The route is Git's own by now, and a look may still show the primary: nothing of ours is put in order behind it any more. */
function isHandedToGit({ world }: Context, { handedOverTime }: ProviderSwitch): boolean {
  return handedOverTime !== undefined && world.routeInGit === true && world.route?.others === 'alone';
}

/** Everything else was let go before the primary; what was not is let go now. */
function switchedToNative(to: string): Effects {
  return combine(
    act({ type: 'ReleaseCopies' }),
    { status: { provider: to, move: undefined, scaler: undefined } },
    say('Normal', 'Moved', 'the target carries all traffic; releases are rolled out in place from now on'),
  );
}

/** The target could carry all traffic, and the data plane may not have heard of its pods yet. */
function waitsForEndpoints(
  context: Context,
  before: ProviderSwitch,
): { readonly waits: boolean; readonly move: ProviderSwitch; readonly effects: Effects } {
  const { target } = context.world;
  const isWhole = target?.digest === context.good?.digest && canaryPods(target) >= fullSize(context.world);
  const { readyTime: _, ...rest } = before;
  const move: ProviderSwitch = isWhole ? { ...rest, readyTime: before.readyTime ?? context.now } : rest;
  if (!isWhole || isAllOn(context, 'canary')) return { waits: false, move, effects: {} };
  const rescue = rescueTraffic(context);
  if (rescue) return { waits: true, move, effects: rescue };
  const leftMs = remainingMs(context, move.readyTime, SETTLE_MS);
  return { waits: leftMs > 0, move, effects: wake(leftMs) };
}

/** The workload is whole first, and nothing of it is held. From then on it is a target that serves alone. */
function switchToCopies(context: Context, to: string): Effects {
  const words = note('Moving', `moving to provider ${to} once the workload runs the last-known-good`);
  const back = allocate(context, undefined, ALL.primary);
  if ((back.actions ?? []).length > 0 || !isAllOn(context, 'primary')) return combine(words, back);
  return combine(
    words,
    { status: { provider: to, move: { to, startTime: context.now } } },
    say(
      'Normal',
      'Moving',
      `moving to provider ${to}: starting the primary; the target serves until it is ready`,
    ),
  );
}

/** How a move to copies stands; `isOver` once the primary has all traffic, or where nothing moves. */
interface TakeOver {
  readonly isOver: boolean;
  readonly effects: Effects;
  readonly prefers?: Preference;
}

/**
 * The primary takes the traffic over from the target that served alone until now. Over once it has all of it, for as long as the data plane takes
 * to hear of that: only then may the target rest.
 */
export function finishSwitchToCopies(context: Context): TakeOver {
  const here = currentSwitch(context);
  if (!here.move) return { isOver: true, effects: here.isOver ? { status: { move: undefined } } : {} };
  const { world, now } = context;
  const { primary, route } = world;
  const { move } = here;
  const words = note('Moving', `moving to provider ${move.to}, the target serves: ${whyNotReady(primary)}`, {
    action: 'the target is scaled to zero once the primary carries all traffic',
  });
  const goesOn = (...effects: readonly Effects[]) =>
    ({ isOver: false, effects: combine(...effects), prefers: NONE }) as const;
  const rescue = rescueTraffic(context);
  if (rescue) return goesOn(rescue, { status: { move } });
  const up = primaryUp(context, move);
  const known = combine(up.effects, words, { status: { move: up.move } });
  if (!up.isUp) return goesOn(known);
  if (!isAllOn(context, 'primary') || route?.accepted !== true)
    return goesOn(known, allocate(context, undefined, ALL.primary));
  const handedOver = { ...up.move, handedOverTime: up.move.handedOverTime ?? now };
  const leftMs = remainingMs(context, handedOver.handedOverTime, SETTLE_MS);
  if (leftMs > 0) return goesOn(known, { status: { move: handedOver } }, wake(leftMs));
  const told = say(
    'Normal',
    'Moved',
    'the primary carries all traffic; the target stays at zero until the next release',
  );
  return { isOver: true, effects: combine({ status: { move: undefined } }, told) };
}

/** Right after a provider that copies came into effect: its Services are made, and nothing goes to them before the data plane has heard of that. */
export function awaitsServices(context: Context, state: State): Outcome | undefined {
  const { move, run } = context.world.status;
  if (!move || run || context.world.sharesWorkload || context.world.primary) return undefined;
  const leftMs = remainingMs(context, move.startTime, SETTLE_MS);
  if (leftMs === 0) return undefined;
  const words = note(
    'Moving',
    `moving to provider ${move.to}, the target serves: creating the Services first`,
  );
  return { ...stay(state, words, wake(leftMs)), prefers: NONE };
}

/** On the way to the provider in effect. One that was on its way to the other one, and was called back, begins with whoever has the traffic. */
function currentSwitch(context: Context): {
  readonly move: ProviderSwitch | undefined;
  readonly isOver?: true;
} {
  const { status, canary, options } = context.world;
  const to = canary.spec.provider ?? options.defaultProvider;
  if (!status.move || status.move.to === to) return { move: status.move };
  return isAllOn(context, 'primary')
    ? { move: undefined, isOver: true }
    : { move: { to, startTime: context.now } };
}

/** It can carry all traffic, and the data plane has heard of its pods; until then the target has it, whatever a route says that was there before. */
function primaryUp(
  context: Context,
  before: ProviderSwitch,
): { readonly isUp: boolean; readonly move: ProviderSwitch; readonly effects: Effects } {
  const { world, plan } = context;
  const { primary, target, scaler } = world;
  const isScaled = !scaler || scaler.primary !== undefined;
  const grown = act(...(isScaled ? raisePrimary(world) : [{ type: 'ApplyScalers' } as const]));
  const enough = !scalerOf(world, 'primary') || servingPods(primary) >= podsNeeded(context, 'primary', 100);
  const isWhole = isScaled && hasConverged(primary, plan.primaryReadyPercent) && enough;
  const move = isWhole ? { ...before, readyTime: before.readyTime ?? context.now } : before;
  if (isWhole || move.handedOverTime !== undefined) {
    const leftMs = isAllOn(context, 'primary') ? 0 : remainingMs(context, move.readyTime, SETTLE_MS);
    return { isUp: leftMs === 0, move, effects: combine(grown, wake(leftMs)) };
  }
  const mayCarry = servingPods(primary) === 0 || canaryPods(target) >= fullSize(world);
  const back = !isAllOn(context, 'canary') && canaryServes(target) && mayCarry;
  return {
    isUp: false,
    move,
    effects: back ? combine(grown, act({ type: 'SetTraffic', route: ALL_TO_CANARY })) : grown,
  };
}
