import { act, type Draft, note, say } from '../draft.ts';
import { askGates, noteClosed } from '../gates.ts';
import { isLost, standStill } from '../kept.ts';
import { trafficAt } from '../plan.ts';
import { servingPods } from '../readiness.ts';
import { headRelease, lastKnownGood, type Run } from '../run.ts';
import { isAllOnPrimary, rescueTraffic, returnToPrimary } from '../traffic.ts';
import { isKeptOut, noteWindow } from '../windows.ts';
import { nameOf } from './admit.ts';
import { failAtGate } from './ending.ts';
import { recreatePrimary } from './recreate.ts';

/**
 * Before anything of a release is written: a window of the Source must be open, and webhooks of type confirm-rollout must approve. True when they did, or when there are none. Until
 * then the primary serves and the canary rests; the phase becomes Waiting with the first answer that is no.
 */
export function isConfirmed(draft: Draft, run: Run): boolean {
  if (!run.awaitsConfirmation && !run.awaitsWindow) return true;
  // Nothing of it is written yet: a window that closed while its gate was asked keeps it out, too.
  if (!run.promoteNow && isKeptOut(draft, run)) {
    run.awaitsWindow = true;
    draft.status.phase = 'Waiting';
    noteWindow(draft, nameOf(run));
    keepOld(draft);
    return false;
  }
  const gate = askGates(draft, run, ['confirm-rollout']);
  if (gate.kind === 'open') {
    if (run.awaitsWindow && !run.awaitsConfirmation)
      say(draft, 'Normal', 'WindowOpened', `the rollout of ${nameOf(run)} starts`);
    delete run.awaitsConfirmation;
    delete run.awaitsWindow;
    draft.status.phase = 'Progressing';
    draft.intentFirst = true;
    return true;
  }
  if (gate.kind === 'asking') {
    if (run.closedGate) noteClosed(draft, run.closedGate, nameOf(run));
    else note(draft, 'Waiting', `${nameOf(run)} asks confirm-rollout`);
    keepOld(draft);
    return false;
  }
  if (gate.overdue) {
    failAtGate(draft, run, gate.gate);
    return false;
  }
  draft.status.phase = 'Waiting';
  noteClosed(draft, gate.gate, nameOf(run));
  keepOld(draft);
  return false;
}

/** What served goes on serving, with the settings Git says: traffic to the primary, then the canary of whatever was tried before to zero. */
function keepOld(draft: Draft): void {
  const { primary, target, route } = draft.world;
  const good = lastKnownGood(draft.world);
  if (!primary && good) return isLost(good) ? standStill(draft, good) : recreatePrimary(draft, good);
  const head = headRelease(draft.world);
  if (head && primary && primary.settingsKey !== head.settingsKey)
    act(draft, { type: 'ApplySettings', digest: head.digest, settingsKey: head.settingsKey });
  if (!route) return act(draft, { type: 'SetTraffic', route: trafficAt(draft.plan, 0) });
  if (rescueTraffic(draft)) return;
  if (!returnToPrimary(draft) || !isAllOnPrimary(draft)) return;
  // What another tool started without being asked to runs without traffic; stopping it would only start a fight.
  if (draft.world.foreignTarget) return;
  if (target && target.desiredReplicas > 0 && servingPods(primary) > 0)
    act(draft, { type: 'ScaleCanary', replicas: 0 });
}
