import { durationOr } from '../api/duration.ts';
import { isGateOpen } from '../api/gates.ts';
import { hooksOf } from '../api/hooks.ts';
import type { RolloutReason } from '../api/reasons.ts';
import { type Draft, note, now, say, wakeIn } from './draft.ts';
import { hasHooks, keyPrefix, poll, verdictOfHooks, whyClosed } from './hooks.ts';
import type { ClosedGate, Run } from './run.ts';
import { sinceMs } from './units.ts';
import { isApproved } from './verbs.ts';
import { verdictOf } from './verdict.ts';
import type { CheckOutcome } from './world.ts';

/** The gates between a passed check and what it leads to. */
export type GateType = ClosedGate['type'];

/** How a question to gates stands. */
export type GateState =
  /** Every gate approves, or there is none. */
  | { kind: 'open' }
  /** The answers are on their way; the request is in the draft. */
  | { kind: 'asking' }
  /** A gate said no, or did not answer: it was noted when that was news. `overdue`: its deadline has passed. */
  | { kind: 'closed'; gate: ClosedGate; overdue: boolean };

const REASONS: Readonly<Record<GateType, RolloutReason>> = {
  'confirm-rollout': 'Waiting',
  'confirm-traffic-increase': 'WaitingForTrafficIncrease',
  'confirm-promotion': 'WaitingPromotion',
};

/** In the keys of questions that are asked while our own gate is open: another question than before, which need not wait for the next interval. */
const OPEN = '+open';

/** A person opened the closed gate, and the last check at this step passed: the next move need not wait for another one. */
export function isOpenedByHand(draft: Draft, run: Run): boolean {
  const { status, world } = draft;
  if (!run.closedGate) return false;
  const isNews = isGateOpen(world.canary, 'gate') && world.checks?.key.includes(`${OPEN}/`) !== true;
  const opened =
    isNews || (run.closedGate.type === 'confirm-promotion' && isApproved(run, 'WaitingPromotion'));
  return opened && verdictOf(status.checks ?? []) === 'pass';
}

/** Asks these gates, all at once. What a person approved and what has no webhooks is open. */
export function askGates(draft: Draft, run: Run, wanted: readonly GateType[]): GateState {
  const types = wanted.filter((type) => hasHooks(draft, type) && !isApprovedType(run, type));
  if (types.length === 0) return passed(draft, run);
  const own = isGateOpen(draft.world.canary, 'gate') ? OPEN : '';
  const stem = `${keyPrefix(run)}/${types.join('+')}${own}`;
  const outcome = poll(draft, run, { stem, types, everyMs: draft.plan.intervalMs });
  if (!outcome) return { kind: 'asking' };
  const type = types.find((candidate) => verdictOfHooks(draft, outcome, candidate) !== 'approved');
  return type ? closed(draft, run, type, outcome) : passed(draft, run);
}

/** The reason under which people hear of a closed gate. */
export function gateReason(type: GateType): RolloutReason {
  return REASONS[type];
}

/** Says why a release stands still; the words stay the same for as long as the gate is closed, so that nothing is written again. */
export function noteClosed(draft: Draft, { type, why }: ClosedGate, what: string): void {
  note(draft, REASONS[type], `${what} waits for ${type}: ${why}`, { action: 'goes on when the gate opens' });
}

function isApprovedType(run: Run, type: GateType): boolean {
  if (type === 'confirm-rollout') return isApproved(run, 'Waiting');
  return type === 'confirm-promotion' && isApproved(run, 'WaitingPromotion');
}

function passed(draft: Draft, run: Run): GateState {
  if (run.closedGate) {
    say(draft, 'Normal', 'GateOpened', `${run.closedGate.type} is open`);
    delete run.closedGate;
  }
  return { kind: 'open' };
}

function closed(draft: Draft, run: Run, type: GateType, outcome: CheckOutcome): GateState {
  if (run.closedGate?.type !== type) {
    const why = whyClosed(outcome, type);
    const names = new Set(
      outcome.hooks.filter((answer) => answer.verdict !== 'approved').map(({ name }) => name),
    );
    const shut = hooksOf(draft.world.canary, type).filter((hook) => names.has(hook.name));
    run.closedGate = {
      type,
      since: now(draft),
      why,
      muted: shut.length > 0 && shut.every((hook) => hook.muteAlert === true),
    };
    say(draft, 'Warning', REASONS[type], `${type} is closed: ${why}`);
  }
  return { kind: 'closed', gate: run.closedGate, overdue: isOverdue(draft, type, run.closedGate.since) };
}

/** Gates wait without end unless one of them has a deadline; the shortest counts. */
function isOverdue(draft: Draft, type: GateType, since: string): boolean {
  const deadlines = hooksOf(draft.world.canary, type).map((hook) =>
    durationOr('deadline' in hook ? hook.deadline : undefined, Number.POSITIVE_INFINITY),
  );
  const leftMs = Math.min(...deadlines) - sinceMs(draft.world.nowMs, since);
  if (leftMs <= 0) return true;
  if (Number.isFinite(leftMs)) wakeIn(draft, leftMs);
  return false;
}
