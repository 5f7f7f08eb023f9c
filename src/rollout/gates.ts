/** Gates: webhooks of type confirm-*, which are asked until they approve, and a person's approval in their place. */
import { isGateOpen } from '../api/annotations.ts';
import { hooksOf } from '../api/canary/webhooks.ts';
import type { RolloutReason } from '../api/reasons.ts';
import { durationOr, stamp } from '../api/time.ts';
import { type CheckOutcome, verdictOf, verdictOfHooks, whyClosed } from '../health/check-results.ts';
import type { CheckRequest } from './action.ts';
import { hasHooks, request, requestKeyPrefix } from './checks.ts';
import { type Context, elapsedMs } from './context.ts';
import { combine, type Effects, emit, note, wake } from './outcome.ts';
import type { ClosedGate, Run } from './run.ts';
import { without } from './state.ts';

/** The gates between a passed check and what it leads to. */
export type GateType = ClosedGate['type'];

/** The answer of the gates; `run` and `effects` carry what changed. */
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

/** The phase in which a person approves in place of the gate's webhooks; confirm-traffic-increase has none. */
const APPROVED_IN: Partial<Record<GateType, 'Waiting' | 'WaitingPromotion'>> = {
  'confirm-rollout': 'Waiting',
  'confirm-promotion': 'WaitingPromotion',
};

/** Part of the keys of questions asked while our own gate is open: a new question, which need not wait for the next interval. */
const OPEN = '+open';

/** A person approved this release in the phase in which this gate is asked. */
function isApproved(run: Run, type: GateType): boolean {
  const phase = APPROVED_IN[type];
  return phase !== undefined && run.approved?.includes(phase) === true;
}

/** A person opened the closed gate, and the last check at this step passed: the next move needs no further check. */
export function isOpenedByHand({ world }: Context, run: Run): boolean {
  if (!run.closedGate) return false;
  const isNew = isGateOpen(world.canary, 'gate') && world.checks?.key.includes(`${OPEN}/`) !== true;
  const { type } = run.closedGate;
  const isOpened = isNew || (type === 'confirm-promotion' && isApproved(run, type));
  return isOpened && verdictOf(world.status.checks ?? []) === 'pass';
}

/** Asks these gates, all at once. Those that a person approved, or that have no webhooks, are open. */
export function askGates(context: Context, run: Run, gates: readonly GateType[]): GateState {
  const types = gates.filter((type) => hasHooks(context, type) && !isApproved(run, type));
  if (types.length === 0) return opened(run, {});
  const asked = poll(context, run, types);
  if (!asked.answers) return { kind: 'asking', run, effects: { check: asked.request } };
  const again = wake(asked.againMs);
  const type = types.find(
    (candidate) => verdictOfHooks(context.world.canary, asked.answers, candidate) !== 'approved',
  );
  return type ? closed(context, run, { type, outcome: asked.answers, again }) : opened(run, again);
}

/** The answers that count now and when they are too old, or the request that brings new ones. */
type Polled =
  | { readonly answers: CheckOutcome; readonly againMs: number }
  | { readonly answers?: never; readonly request: CheckRequest };

/** Asks the same webhooks once per interval. Answers are used until they are older than that; the status keeps none, so that waiting writes nothing. */
function poll(context: Context, run: Run, types: readonly GateType[]): Polled {
  const { world, plan } = context;
  const stem = `${requestKeyPrefix(run)}/${types.join('+')}${isGateOpen(world.canary, 'gate') ? OPEN : ''}`;
  const answers = world.checks?.key.startsWith(`${stem}/`) ? world.checks : undefined;
  const ageMs = answers ? elapsedMs(context, stamp(answers.atMs)) : Number.POSITIVE_INFINITY;
  if (answers && ageMs < plan.intervalMs) return { answers, againMs: plan.intervalMs - ageMs };
  const key = `${stem}/${answers?.atMs ?? 0}`;
  return { request: request(context, run, { key, role: 'canary', purpose: 'analysis', hooks: types }) };
}

function opened(run: Run, effects: Effects): GateState {
  if (!run.closedGate) return { kind: 'open', run, effects };
  const event = emit('Normal', 'GateOpened', `${run.closedGate.type} is open`);
  return { kind: 'open', run: without(run, 'closedGate'), effects: combine(effects, event) };
}

function closed(
  context: Context,
  run: Run,
  { type, outcome, again }: { type: GateType; outcome: CheckOutcome; again: Effects },
): GateState {
  const { world, now } = context;
  const webhooks = hooksOf(world.canary, type);
  const before = run.closedGate?.type === type ? run.closedGate : undefined;
  const refused = outcome.hooks.filter(({ verdict }) => verdict !== 'approved').map(({ name }) => name);
  const shut = webhooks.filter(({ name }) => refused.includes(name));
  const gate = before ?? {
    type,
    since: now,
    why: whyClosed(outcome, type),
    muted: shut.length > 0 && shut.every(({ muteAlert }) => muteAlert === true),
  };
  const event = before ? {} : emit('Warning', GATE_REASONS[type], `${type} is closed: ${gate.why}`);
  // Gates wait without end unless one of their webhooks has a deadline; the shortest counts.
  const deadlinesMs = webhooks.map((hook) =>
    durationOr('deadline' in hook ? hook.deadline : undefined, Number.POSITIVE_INFINITY),
  );
  const leftMs = Math.min(...deadlinesMs) - elapsedMs(context, gate.since);
  const effects = combine(again, event, wake(Number.isFinite(leftMs) ? leftMs : 0));
  return { kind: 'closed', gate, overdue: leftMs <= 0, run: { ...run, closedGate: gate }, effects };
}

/** Why a release waits; the message stays the same while the gate is closed, so that the status is not written again. */
export function noteClosed({ type, why }: ClosedGate, what: string): Effects {
  return note(GATE_REASONS[type], `${what} waits for ${type}: ${why}`, {
    action: 'continues when the gate opens',
  });
}
