import { isGateOpen } from '../../api/gates.ts';
import { type Draft, wakeIn } from '../draft.ts';
import { hasHooks, keyPrefix, request } from '../hooks.ts';
import { lastKnownGood, type Run } from '../run.ts';
import { sinceMs, stamp } from '../units.ts';
import type { CheckOutcome } from '../world.ts';
import { nameOf } from './admit.ts';
import { end } from './ending.ts';
import { startRevert } from './reverting.ts';

/**
 * A webhook of type rollback approved: before the first write to the primary the release ends, after it the primary goes back. In every
 * state of a release, gates included, where Flagger leaves out Waiting and Promoting (flagger-behaviour 2.19, 9). True when it was.
 */
export function rolledBack(draft: Draft, run: Run): boolean {
  const answer = lastAnswers(draft, run)?.hooks.find(
    ({ type, verdict }) => type === 'rollback' && verdict === 'approved',
  );
  if (!answer || !mayRollBack(draft, run)) return false;
  const finding = `webhook ${answer.name} asked for a rollback`;
  const good = lastKnownGood(draft.world);
  if (good && draft.world.primary?.digest === run.digest) {
    startRevert(draft, run, good, { reason: 'RolledBackByWebhook', finding, reject: true, control: false });
    return true;
  }
  delete draft.status.postPromotion;
  draft.status.phase = 'Progressing';
  const message = `${nameOf(run)} was taken back: ${finding}`;
  end(draft, run, { phase: 'Failed', reason: 'RolledBackByWebhook', message }, 'RolledBackByWebhook');
  return true;
}

/** Asks the webhooks of type rollback once per interval: together with what is asked anyway, else by themselves. */
export function askRollback(draft: Draft): void {
  const { run, check, plan, world } = draft;
  if (!run || !hasHooks(draft, 'rollback') || !mayRollBack(draft, run)) return;
  if (check) {
    draft.check = { ...check, hooks: [...check.hooks, 'rollback'] };
    return;
  }
  const last = lastAnswers(draft, run);
  const ageMs = last && sinceMs(world.nowMs, stamp(last.atMs));
  const stem = `${keyPrefix(run)}/rollback${isGateOpen(world.canary, 'rollback-gate') ? '+open' : ''}`;
  // A gate of our own that opens is asked at once, and then as often as before.
  const isAsked = last && (!stem.endsWith('+open') || last.key.startsWith(`${stem}/`));
  if (isAsked && ageMs !== undefined && ageMs < plan.intervalMs)
    return wakeIn(draft, plan.intervalMs - ageMs);
  const key = `${stem}/${last?.atMs ?? 0}`;
  request(draft, run, { key, role: 'canary', purpose: 'analysis', hooks: ['rollback'] });
}

/** There is something to go back to, and the release is not on its way there. */
function mayRollBack({ status, world }: Draft, run: Run): boolean {
  const good = lastKnownGood(world);
  if (run.ending || run.revert || run.rollback || !good || good.digest === run.digest) return false;
  return status.phase !== 'Failed' || status.postPromotion === undefined;
}

function lastAnswers({ world }: Draft, run: Run): CheckOutcome | undefined {
  const last = world.checks;
  const isOurs = last?.key.startsWith(`${keyPrefix(run)}/`) === true;
  return isOurs && last.hooks.some(({ type }) => type === 'rollback') ? last : undefined;
}
