import { isGateOpen } from '../../api/annotations.ts';
import type { CheckOutcome, CheckRequest } from '../../api/observed.ts';
import { stamp } from '../../api/time.ts';
import { hasHooks, request, requestKeyPrefix } from '../checks.ts';
import { type Context, elapsedMs } from '../context.ts';
import { type Effects, wake } from '../outcome.ts';
import type { Outcome, RunState, State } from '../state.ts';
import { describeRelease, isLost, type Run, rejectionOf } from '../world.ts';
import { isOnPrimary, startRevert, withdraw } from './transitions.ts';

/**
 * A webhook of type rollback approved: before the first write to the primary the release ends, after it the primary is reverted. In every
 * state of a release, gates included; Flagger leaves out Waiting and Promoting (flagger-behaviour 2.19, 9).
 */
export function rolledBack(context: Context, state: RunState): Outcome | undefined {
  const answer = lastAnswers(context, state.run)?.hooks.find(
    ({ type, verdict }) => type === 'rollback' && verdict === 'approved',
  );
  if (!answer || !mayRollBack(context, state)) return undefined;
  const { good, world } = context;
  const finding = `webhook ${answer.name} asked for a rollback`;
  const reason = 'RolledBackByWebhook';
  if (good && world.primary?.digest === state.run.digest && !isOnPrimary(context, state.run)) {
    if (isLost(good)) return undefined;
    return startRevert(context, state, good, { reason, finding, reject: true, control: false });
  }
  const message = `${describeRelease(state.run)} was cancelled: ${finding}`;
  return withdraw(context, state, { reason, finding, message });
}

/** Asks the webhooks of type rollback once per interval: together with a check that is due, else alone. */
export function askRollback(
  context: Context,
  state: State,
  check: CheckRequest | undefined,
): Pick<Effects, 'check' | 'wakesMs'> {
  const { plan, world } = context;
  if (state.kind === 'Resting' || state.kind === 'Initializing') return {};
  if (!hasHooks(context, 'rollback') || !mayRollBack(context, state)) return {};
  if (check) return { check: { ...check, hooks: [...check.hooks, 'rollback'] } };
  const { run } = state;
  const last = lastAnswers(context, run);
  const stem = `${requestKeyPrefix(run)}/rollback${isGateOpen(world.canary, 'rollback-gate') ? '+open' : ''}`;
  // Our own gate is asked at once when it opens, and then once per interval.
  const isAsked = last && (!stem.endsWith('+open') || last.key.startsWith(`${stem}/`));
  const ageMs = last ? elapsedMs(context, stamp(last.atMs)) : Number.POSITIVE_INFINITY;
  if (isAsked && ageMs < plan.intervalMs) return wake(plan.intervalMs - ageMs);
  const key = `${stem}/${last?.atMs ?? 0}`;
  return { check: request(context, run, { key, role: 'canary', purpose: 'analysis', hooks: ['rollback'] }) };
}

/** There is a release to go back to, and the revert has not begun; a release that was taken back under halt stays held. */
function mayRollBack(context: Context, { kind, run }: RunState): boolean {
  const { good } = context;
  if (kind === 'Ending' || kind === 'Reverting' || kind === 'RevertFailed' || run.revert) return false;
  if (kind === 'Held' && run.side === 'primary' && rejectionOf(context, run.digest)) return false;
  return !run.rollback && good !== undefined && good.digest !== run.digest;
}

function lastAnswers({ world }: Context, run: Run): CheckOutcome | undefined {
  const last = world.checks;
  const isOurs = last?.key.startsWith(`${requestKeyPrefix(run)}/`) === true;
  return isOurs && last.hooks.some(({ type }) => type === 'rollback') ? last : undefined;
}
