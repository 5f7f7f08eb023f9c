import { canaryPods, carriedBy, shareFor } from '../capacity.ts';
import { check, later } from '../checks.ts';
import { act, type Draft, note, now, positionOf, remainingMs, say, stall, wakeIn } from '../draft.ts';
import { isOpenedByHand, noteClosed } from '../gates.ts';
import { ALL_TO_CANARY, trafficAt } from '../plan.ts';
import { isReady, servingPods, whyNotReady } from '../readiness.ts';
import type { Run } from '../run.ts';
import { scalerOf } from '../scalers.ts';
import { ensureCanaryCapacity, isAllOnPrimary } from '../traffic.ts';
import { isPaused } from '../verbs.ts';
import { finding, verdictOf } from '../verdict.ts';
import { type Move, nextMove } from '../weights.ts';
import { nameOf } from './admit.ts';
import { gatesOpen, preRollout } from './before-move.ts';
import { countFailure } from './failed-check.ts';
import { promote } from './promoting.ts';

/** One step of the analysis: room for the next share, then the check at this one, then the move (design section 4, analyse). */
export function advance(draft: Draft, run: Run): void {
  const { world, plan, status } = draft;
  const at = { canaryWeight: world.route?.canaryWeight ?? 0, iterations: status.iterations ?? 0 };
  const move = withinReach(draft, nextMove(plan, at), at.canaryWeight);
  if (move.kind === 'stuck') {
    return stall(
      draft,
      'StepsDoNotAdvance',
      `spec.analysis: no step leads beyond ${at.canaryWeight} %; change stepWeight`,
    );
  }
  if (isPaused(draft))
    return note(draft, 'Paused', `paused at ${at.canaryWeight} % by holdfast.dev/pause; remove it to go on`);
  if (!roomFor(draft, move)) return;
  const untouched = at.canaryWeight === 0 && at.iterations === 0 && run.checkNumber === 0;
  const isChecked = run.asksGates === true || isOpenedByHand(draft, run);
  if (!isChecked && !(untouched ? preRollout(draft, run) : skips(draft, run) || passes(draft, run))) return;
  delete run.skipStepAt;
  if (gatesOpen(draft, run, move)) make(draft, run, move);
}

/** Where the canary's scaler lets it have too few pods for the next share, the share rises as far as they carry; then that was the last. */
function withinReach({ world, plan }: Draft, move: Move, weight: number): Move {
  const scaler = scalerOf(world, 'canary');
  if (!scaler || (move.kind !== 'weight' && move.kind !== 'iterate') || plan.strategy.kind === 'ab')
    return move;
  const reach = shareFor(scaler.maxReplicas, carriedBy(world));
  if (move.canaryWeight <= reach || reach < 1) return move;
  return move.kind === 'weight' && reach > weight
    ? { kind: 'weight', canaryWeight: reach }
    : { kind: 'promote' };
}

/** Nothing rises before its pods are there, and never while the primary could not take the traffic back. */
function roomFor(draft: Draft, move: Move): boolean {
  const { world, plan } = draft;
  const share = move.kind === 'weight' ? move.canaryWeight : shareOfIteration(draft, move);
  if (share > 0 && !ensureCanaryCapacity(draft, share)) {
    note(
      draft,
      'WaitingForCapacity',
      `the canary needs more ready pods than ${canaryPods(world.target)} for ${share} %`,
    );
    return false;
  }
  if (isReady(world.primary, plan.primaryReadyPercent)) return true;
  note(
    draft,
    'PrimaryNotReady',
    `the rollout stands still until the primary is ready: ${whyNotReady(world.primary)}`,
  );
  return servingPods(world.primary) === 0;
}

/** An A/B match takes an unknown share: one pod is asked for, as Flagger does. */
function shareOfIteration(draft: Draft, move: Move): number {
  if (move.kind !== 'iterate') return 0;
  return draft.plan.strategy.kind === 'ab' ? Math.min(1, move.canaryWeight) : move.canaryWeight;
}

/** A person left the check at this step out. */
function skips(draft: Draft, run: Run): boolean {
  return run.skipStepAt === positionOf(draft);
}

/** The check at this step; false while there is no answer, or when it was not a pass. */
function passes(draft: Draft, run: Run): boolean {
  const { plan, status, world } = draft;
  const since = later(run.stepTime, run.lastCheckTime);
  const weight = world.route?.canaryWeight ?? 0;
  const where =
    draft.plan.strategy.kind === 'canary' ? `at ${weight} %` : `iteration ${status.iterations ?? 0}`;
  note(draft, 'Progressing', `${nameOf(run)} ${where}, analysis every ${plan.intervalMs / 1000} s`);
  if (run.closedGate) noteClosed(draft, run.closedGate, `${nameOf(run)} ${where}`);
  if (remainingMs(draft, run.stepTime, plan.lookBackMs) > 0) return false;
  const results = check(draft, run, {
    role: 'canary',
    purpose: 'analysis',
    metrics: plan.metrics,
    hooks: 'rollout',
    since,
    afterMs: plan.intervalMs,
  });
  if (!results) return false;
  const verdict = verdictOf(results);
  if (verdict === 'pass') return true;
  wakeIn(draft, plan.intervalMs);
  const findings = results
    .filter((result) => result.verdict !== 'pass')
    .map(finding)
    .join(', ');
  if (verdict === 'unknown') {
    say(draft, 'Warning', 'NoData', `check without a verdict ${where}: ${findings}`);
    return false;
  }
  countFailure(draft, run, `${where}: ${findings}`);
  return false;
}

function make(draft: Draft, run: Run, move: Move): void {
  const { plan, world, status } = draft;
  if (move.kind === 'promote') return promote(draft, run);
  if (move.kind === 'stuck') return;
  wakeIn(draft, plan.intervalMs);
  if (move.kind === 'weight') {
    act(draft, { type: 'SetTraffic', route: trafficAt(plan, move.canaryWeight) });
    say(
      draft,
      'Normal',
      'WeightAdvanced',
      `canary weight ${world.route?.canaryWeight ?? 0} % -> ${move.canaryWeight} %`,
    );
    return note(draft, 'Progressing', `${nameOf(run)} goes to ${move.canaryWeight} %`);
  }
  status.iterations = move.iterations;
  run.stepTime = now(draft);
  // A primary that cannot serve gets nothing of it back (S1).
  const isAlone = servingPods(world.primary) === 0 && canaryPods(world.target) > 0;
  const route = isAlone ? ALL_TO_CANARY : trafficAt(plan, move.canaryWeight, move.mirrored);
  act(draft, { type: 'SetTraffic', route });
  say(
    draft,
    'Normal',
    'IterationAdvanced',
    `iteration ${move.iterations}${isAllOnPrimary(draft) ? '' : ', canary takes traffic'}`,
  );
  note(draft, 'Progressing', `${nameOf(run)} iteration ${move.iterations}`);
}
