import { isGateOpen } from '../api/annotations.ts';
import { type HookType, hooksOf } from '../api/canary/webhooks.ts';
import type { RolloutReason } from '../api/reasons.ts';
import { durationOr, stamp } from '../api/time.ts';
import { type CheckOutcome, verdictOf, verdictOfHooks, whyClosed } from '../health/check-results.ts';
import type { CheckRequest } from './action.ts';
import { type Context, elapsedMs } from './context.ts';
import { combine, type Effects, note, say, wake } from './outcome.ts';
import type { ClosedGate, Run } from './run.ts';
import { without } from './state.ts';

/** The beginning of every key of one run's requests. */
export function requestKeyPrefix(run: Pick<Run, 'digest' | 'startTime'>): string {
  return `${run.digest}/${run.startTime}`;
}

/** Whether the Canary has webhooks of this type. */
export function hasHooks({ world }: Context, type: HookType): boolean {
  return hooksOf(world.canary, type).length > 0;
}

/** A request, with what webhooks receive about this release; the phase is that of the status at the end of the step. */
export function request(
  { world }: Context,
  about: { digest: string; commit: string },
  asked: Pick<CheckRequest, 'key' | 'role' | 'purpose'> & Partial<CheckRequest>,
): CheckRequest {
  const { digest, commit } = about;
  const canaryWeight = world.route?.canaryWeight ?? 0;
  return {
    metrics: [],
    hooks: [],
    facts: { phase: world.status.phase ?? '', digest, commit, canaryWeight },
    ...asked,
  };
}

/** Webhooks that are asked again and again until they agree. */
interface Poll {
  /** Beginning of the keys: equal for as long as it is the same question. */
  stem: string;
  types: readonly HookType[];
  everyMs: number;
}

/** The answers that count now, or the question that brings them. `againMs`: when to look again. */
type Polled =
  | { readonly answers: CheckOutcome; readonly againMs: number }
  | { readonly answers?: never; readonly request: CheckRequest };

/**
 * Asks the same webhooks every so often. Answers are used while they are young; nothing of it is kept in the status, so that waiting writes
 * nothing.
 */
function poll(
  context: Context,
  about: { digest: string; commit: string },
  { stem, types, everyMs }: Poll,
): Polled {
  const { checks: last } = context.world;
  const answered = last?.key.startsWith(`${stem}/`) ? last : undefined;
  const ageMs = answered ? elapsedMs(context, stamp(answered.atMs)) : Number.POSITIVE_INFINITY;
  if (answered && ageMs < everyMs) return { answers: answered, againMs: everyMs - ageMs };
  const key = `${stem}/${answered?.atMs ?? 0}`;
  return { request: request(context, about, { key, role: 'canary', purpose: 'analysis', hooks: types }) };
}

/** The gates between a passed check and what it leads to. */
export type GateType = ClosedGate['type'];

/** How a question to gates stands; `run` and `effects` hold what is news. */
type GateState =
  | { readonly kind: 'open'; readonly run: Run; readonly effects: Effects }
  | { readonly kind: 'asking'; readonly run: Run; readonly effects: Effects }
  /** A gate said no, or did not answer. `overdue`: its deadline has passed. */
  | {
      readonly kind: 'closed';
      readonly run: Run;
      readonly effects: Effects;
      readonly gate: ClosedGate;
      readonly overdue: boolean;
    };

/** The reason that is reported while a gate is closed. */
export const GATE_REASONS: Readonly<Record<GateType, RolloutReason>> = {
  'confirm-rollout': 'Waiting',
  'confirm-traffic-increase': 'WaitingForTrafficIncrease',
  'confirm-promotion': 'WaitingPromotion',
};

/** In the keys of questions that are asked while our own gate is open: another question than before, which need not wait for the next interval. */
const OPEN = '+open';

/** A person approved this release in the phase in which it waits: Waiting (to begin) or WaitingPromotion (to be promoted). */
function isApproved(run: Run, phase: 'Waiting' | 'WaitingPromotion'): boolean {
  return run.approved?.includes(phase) === true;
}

/** A person opened the closed gate, and the last check at this step passed: the next move need not wait for another one. */
export function isOpenedByHand({ world }: Context, run: Run): boolean {
  if (!run.closedGate) return false;
  const isNews = isGateOpen(world.canary, 'gate') && world.checks?.key.includes(`${OPEN}/`) !== true;
  const opened =
    isNews || (run.closedGate.type === 'confirm-promotion' && isApproved(run, 'WaitingPromotion'));
  return opened && verdictOf(world.status.checks ?? []) === 'pass';
}

/** Asks these gates, all at once. What a person approved and what has no webhooks is open. */
export function askGates(context: Context, run: Run, wanted: readonly GateType[]): GateState {
  const types = wanted.filter((type) => hasHooks(context, type) && !isApprovedType(run, type));
  if (types.length === 0) return passed(run, {});
  const own = isGateOpen(context.world.canary, 'gate') ? OPEN : '';
  const stem = `${requestKeyPrefix(run)}/${types.join('+')}${own}`;
  const polled = poll(context, run, { stem, types, everyMs: context.plan.intervalMs });
  if (!polled.answers) return { kind: 'asking', run, effects: { check: polled.request } };
  const again = wake(polled.againMs);
  const type = types.find(
    (candidate) => verdictOfHooks(context.world.canary, polled.answers, candidate) !== 'approved',
  );
  return type ? closed(context, run, { type, outcome: polled.answers, again }) : passed(run, again);
}

/** Why a release stands still; the words stay the same for as long as the gate is closed, so that nothing is written again. */
export function noteClosed({ type, why }: ClosedGate, what: string): Effects {
  return note(GATE_REASONS[type], `${what} waits for ${type}: ${why}`, {
    action: 'continues when the gate opens',
  });
}

function isApprovedType(run: Run, type: GateType): boolean {
  if (type === 'confirm-rollout') return isApproved(run, 'Waiting');
  return type === 'confirm-promotion' && isApproved(run, 'WaitingPromotion');
}

function passed(run: Run, effects: Effects): GateState {
  if (!run.closedGate) return { kind: 'open', run, effects };
  const opened = say('Normal', 'GateOpened', `${run.closedGate.type} is open`);
  return { kind: 'open', run: without(run, 'closedGate'), effects: combine(effects, opened) };
}

function closed(
  context: Context,
  run: Run,
  { type, outcome, again }: { type: GateType; outcome: CheckOutcome; again: Effects },
): GateState {
  const known = run.closedGate?.type === type ? run.closedGate : undefined;
  const gate = known ?? newlyClosed(context, type, outcome);
  const told = known ? {} : say('Warning', GATE_REASONS[type], `${type} is closed: ${gate.why}`);
  const leftMs = leftOf(context, gate);
  const effects = combine(again, told, wake(Number.isFinite(leftMs) ? leftMs : 0));
  return { kind: 'closed', gate, overdue: leftMs <= 0, run: { ...run, closedGate: gate }, effects };
}

function newlyClosed({ world, now }: Context, type: GateType, outcome: CheckOutcome): ClosedGate {
  const refused = outcome.hooks.filter((answer) => answer.verdict !== 'approved').map(({ name }) => name);
  const shut = hooksOf(world.canary, type).filter((hook) => refused.includes(hook.name));
  const muted = shut.length > 0 && shut.every((hook) => hook.muteAlert === true);
  return { type, since: now, why: whyClosed(outcome, type), muted };
}

/** Gates wait without end unless one of them has a deadline; the shortest counts. */
function leftOf(context: Context, { type, since }: ClosedGate): number {
  const deadlines = hooksOf(context.world.canary, type).map((hook) =>
    durationOr('deadline' in hook ? hook.deadline : undefined, Number.POSITIVE_INFINITY),
  );
  return Math.min(...deadlines) - elapsedMs(context, since);
}
