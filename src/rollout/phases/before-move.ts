import { type Draft, note, now, remainingMs, say } from '../draft.ts';
import { askGates, type GateType, noteClosed } from '../gates.ts';
import { hasHooks, judgeHooks, keyPrefix, request } from '../hooks.ts';
import type { Run } from '../run.ts';
import { stamp } from '../units.ts';
import { finding, verdictOf } from '../verdict.ts';
import type { Move } from '../weights.ts';
import { nameOf } from './admit.ts';
import { failAtGate } from './ending.ts';
import { countFailure } from './failed-check.ts';

/**
 * Webhooks of type pre-rollout, before any traffic: asked until they approved once for this release; each no is a failed check. True when
 * nothing is left to ask.
 */
export function preRollout(draft: Draft, run: Run): boolean {
  if (run.preRolloutTime !== undefined || !hasHooks(draft, 'pre-rollout')) return true;
  const { status, plan, world } = draft;
  const failed = status.failedChecks ?? 0;
  const key = `${keyPrefix(run)}/pre-rollout/${failed}`;
  note(draft, 'Progressing', `${nameOf(run)} asks pre-rollout before it gets traffic`);
  if (world.checks?.key !== key) {
    if (failed > 0 && remainingMs(draft, run.lastCheckTime, plan.intervalMs) > 0) return false;
    request(draft, run, { key, role: 'canary', purpose: 'analysis', hooks: ['pre-rollout'] });
    return false;
  }
  const results = judgeHooks(draft, world.checks, 'pre-rollout', 'analysis');
  status.checks = results;
  run.lastCheckTime = stamp(world.checks.atMs);
  if (verdictOf(results) === 'pass') {
    run.preRolloutTime = now(draft);
    say(draft, 'Normal', 'PreRolloutPassed', 'pre-rollout webhooks approved');
    return true;
  }
  remainingMs(draft, run.lastCheckTime, plan.intervalMs);
  const findings = results.filter((result) => result.verdict !== 'pass').map(finding);
  countFailure(draft, run, `before any traffic: ${findings.join(', ')}`);
  return false;
}

/** The gates between a passed check and its move. A closed one leaves weight, iterations and failed checks as they are (2.19, 8). */
export function gatesOpen(draft: Draft, run: Run, move: Move): boolean {
  const gate = askGates(draft, run, gatesBefore(draft, move));
  if (gate.kind === 'asking') {
    run.asksGates = true;
    if (run.closedGate) noteClosed(draft, run.closedGate, nameOf(run));
    else note(draft, 'Progressing', `${nameOf(run)} passed; the gates before the next step are asked`);
    return false;
  }
  delete run.asksGates;
  if (gate.kind === 'open') {
    if (draft.status.phase === 'WaitingPromotion') draft.status.phase = 'Progressing';
    return true;
  }
  if (gate.overdue) failAtGate(draft, run, gate.gate);
  else {
    if (gate.gate.type === 'confirm-promotion') draft.status.phase = 'WaitingPromotion';
    noteClosed(draft, gate.gate, nameOf(run));
  }
  return false;
}

/** As in Flagger: each step of the weight, the one to promotion included; promotion; and blue/green before all traffic moves. */
function gatesBefore({ plan, status }: Draft, move: Move): readonly GateType[] {
  const { kind } = plan.strategy;
  if (move.kind === 'weight') return ['confirm-traffic-increase'];
  if (move.kind === 'iterate') {
    return kind === 'blueGreen' && move.canaryWeight === 100 ? ['confirm-promotion'] : [];
  }
  if (move.kind !== 'promote') return [];
  const rises = kind === 'canary' && status.phase !== 'WaitingPromotion';
  return rises ? ['confirm-traffic-increase', 'confirm-promotion'] : ['confirm-promotion'];
}
