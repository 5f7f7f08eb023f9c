import { servingPods, whyNotReady } from '../../health/readiness.ts';
import type { WorkloadView } from '../../health/workload-view.ts';
import { type Context, elapsedMs } from '../context.ts';
import { askGates, noteClosed } from '../hooks.ts';
import {
  ALL,
  act,
  combine,
  type Effects,
  enter,
  note,
  type Outcome,
  type Preference,
  say,
  stay,
  wake,
} from '../outcome.ts';
import { sinceProgressMs, withProgress, withProgressReset } from '../progress.ts';
import { soundRecord } from '../records.ts';
import { type StateOf, trialState, without, withRun } from '../state.ts';
import { fullSize, scalerOf } from '../traffic/capacity.ts';
import { mustWake, pauseCanary, raiseMinReplicas, resumeReplicas, stopCanary } from '../traffic/scalers.ts';
import { hasArrived, isAllOn } from '../traffic/traffic.ts';
import { noteWindow, windowWaitMs } from '../windows.ts';
import { describeRelease } from '../world.ts';
import { end, failAtGate, routeNote } from './ending.ts';
import { applyPrimary, recreatedPrimary } from './recreate.ts';

/**
 * Before anything of a release is written: a window of the Source must be open, and webhooks of type confirm-rollout must approve. Until
 * then the primary serves and the canary rests; the phase becomes Waiting with the first answer that is no.
 */
export function waiting(context: Context, state: StateOf<'Waiting'>): Outcome {
  const { run } = state;
  // Nothing of it is written yet: a window that closed while its gate was asked keeps it out, too.
  const leftMs = run.promoteNow ? 0 : windowWaitMs(context, run, run);
  if (leftMs > 0) {
    const next = { ...withRun(state, { awaitsWindow: true }), phase: 'Waiting' as const };
    return stay(next, keepServing(context), noteWindow(context, describeRelease(run)), wake(leftMs));
  }
  const gate = askGates(context, run, ['confirm-rollout']);
  const next = withRun(state, gate.run);
  if (gate.kind === 'open') return opened(context, { ...next, run: gate.run }, gate.effects);
  if (gate.kind === 'asking') {
    const asks = run.closedGate
      ? noteClosed(run.closedGate, describeRelease(run))
      : note('Waiting', `asking confirm-rollout whether ${describeRelease(run)} may start`);
    return stay(next, keepServing(context), asks, gate.effects);
  }
  if (gate.overdue) return failAtGate(context, next, gate.gate);
  const words = noteClosed(gate.gate, describeRelease(run));
  return stay({ ...next, phase: 'Waiting' }, keepServing(context), words, gate.effects);
}

function opened(context: Context, { run, ...base }: StateOf<'Waiting'>, effects: Effects): Outcome {
  const told =
    run.awaitsWindow && !run.awaitsConfirmation
      ? say('Normal', 'WindowOpened', `the rollout of ${describeRelease(run)} starts`)
      : {};
  const { events = [] } = combine(effects, told);
  const tried = without(run, 'awaitsConfirmation', 'awaitsWindow');
  return enter(trialState(context, { ...base, run: tried }), { events });
}

/** What served goes on serving, with the settings Git says; the canary of whatever was tried before rests. */
function keepServing(context: Context): Effects {
  const { world, head } = context;
  const { primary, target } = world;
  const recreated = recreatedPrimary(context);
  if (recreated) return recreated;
  const settings =
    head && primary && primary.settingsKey !== head.settingsKey
      ? act({ type: 'ApplySettings', digest: head.digest, settingsKey: head.settingsKey })
      : {};
  // What another tool started without being asked to runs without traffic; stopping it would only start a fight.
  const rests = !world.foreignTarget && hasArrived(context, undefined, 'primary') && servingPods(primary) > 0;
  return combine(settings, rests && target && target.desiredReplicas > 0 ? act(...stopCanary(world)) : {});
}

/** Where traffic is while a release is brought up: away from the side that is to be written. */
export function startingPrefers(context: Context, { run }: StateOf<'Starting'>): Preference {
  if (run.side === 'primary') return ALL.canary;
  const overdue =
    elapsedMs(context, run.lastProgressTime ?? run.startTime) >= context.plan.progressDeadlineMs;
  return { kind: 'all', side: 'primary', evacuate: true, overdue };
}

/** Writes the release to its side, with the traffic of that at zero, arrived, and its bytes kept first. */
export function starting(context: Context, state: StateOf<'Starting'>): Outcome {
  return state.run.side === 'primary' ? startOnPrimary(context, state) : startOnCanary(context, state);
}

function startOnCanary(context: Context, before: StateOf<'Starting'>): Outcome {
  const { world, plan, head } = context;
  const recreated = recreatedPrimary(context);
  const state = withRun(before, withProgress(context, before.run, world.primary));
  const { run } = state;
  const words = note('NewRevision', `starting the canary with ${describeRelease(run)}`);
  if (recreated) return stay(state, words, recreated);
  if (!soundRecord(world, run.digest))
    return stay(state, words, act({ type: 'SaveRecord', digest: run.digest }));
  if (!hasArrived(context, run, 'primary')) return waitForPrimary(context, state);
  const isWaiting = mustWake(world) && sinceProgressMs(context, run) < plan.progressDeadlineMs;
  if (isWaiting) {
    const asleep = note('PrimaryNotReady', 'the primary is scaled to zero; scaling it up first');
    const leftMs = plan.progressDeadlineMs - sinceProgressMs(context, run);
    return stay(state, act(...raiseMinReplicas(world, 'primary', 1)), asleep, wake(leftMs));
  }
  if (world.foreignTarget) return startForeign(context, state);
  const scaler = scalerOf(world, 'canary');
  const asked = head?.digest === run.digest && head.replicas ? head.replicas : fullSize(world);
  const replicas = scaler ? resumeReplicas(scaler) : asked;
  const write = act(...pauseCanary(world, false), { type: 'ApplyCanary', digest: run.digest, replicas });
  return stay(withRun(state, withProgressReset(context, run)), words, write);
}

/** The traffic is on its way back; where the primary never takes it, the release is tried there instead (issue 11, 2). */
function waitForPrimary(context: Context, state: StateOf<'Starting'>): Outcome {
  const { world, plan } = context;
  const { run } = state;
  const leftMs = plan.progressDeadlineMs - sinceProgressMs(context, run);
  const isDead = servingPods(world.primary) === 0 && isAllOn(context, 'canary') && !world.foreignTarget;
  if (leftMs <= 0 && isDead) {
    const message = `${describeRelease(run)} is tried on the primary while the canary serves: the last-known-good does not become ready`;
    const next = trialState(context, {
      ...state,
      run: { ...withProgressReset(context, run), side: 'primary' },
    });
    return enter(next, say('Warning', 'ThroughThePrimary', message));
  }
  const words = note('NewRevision', `starting the canary with ${describeRelease(run)}`);
  return stay(state, words, isAllOn(context, 'primary') ? routeNote(context, run) : {}, wake(leftMs));
}

/** The canary serves what it serves; what the primary ran is kept, or known to be lost (S10). */
function startOnPrimary(context: Context, state: StateOf<'Starting'>): Outcome {
  const { world } = context;
  const { run } = state;
  const words = note(
    'ThroughThePrimary',
    `writing ${describeRelease(run)} to the primary while the canary serves`,
  );
  const missing = [run.digest, world.primary?.digest].filter(
    (digest) =>
      digest !== undefined &&
      !world.records.some(
        (record) => record.digest === digest && (record.damaged === undefined || digest !== run.digest),
      ),
  );
  const saves = missing.map((digest) => ({ type: 'SaveRecord', digest: digest ?? '' }) as const);
  if (saves.length > 0) return stay(state, words, act(...saves));
  const mayWrite = hasArrived(context, run, 'canary') || servingPods(world.primary) === 0;
  if (mayWrite)
    return stay(
      withRun(state, withProgressReset(context, run)),
      words,
      act(applyPrimary(context, run.digest)),
    );
  const next = withRun(state, withProgress(context, run, world.target));
  const leftMs = context.plan.progressDeadlineMs - sinceProgressMs(context, next.run);
  if (leftMs > 0 || isAllOn(context, 'canary'))
    return stay(next, words, routeNote(context, run), wake(leftMs));
  const message = `the canary never had enough ready pods to take all traffic: ${whyNotReady(world.target)}`;
  return end(context, next, { phase: 'Failed', reason: 'CapacityNotReached', message });
}

/**
 * The target runs what another tool wrote to it; the pods that tool asks for are left as they are. Pods that were ready before may hold an
 * older config than the one that is to be tried: they go first, and new ones read the new one. Flagger analyses the old one then.
 */
function startForeign(context: Context, state: StateOf<'Starting'>): Outcome {
  const { world } = context;
  const { run } = state;
  const { target, primary } = world;
  const words = note('NewRevision', `starting the canary with ${describeRelease(run)}`);
  if (target?.digest !== run.digest)
    return stay(
      state,
      note('TargetMissing', `the target cannot be read or no longer runs ${describeRelease(run)}`),
    );
  const { digest } = run;
  if (!run.keepsPods && mayHoldOldConfig(context, target) && servingPods(primary) > 0)
    return stay(state, words, act({ type: 'ApplyCanary', digest, replicas: 0 }));
  const isGoing = target.desiredReplicas === 0 && (!target.observed || target.replicas > 0);
  if (isGoing) return stay(state, words);
  const scaler = scalerOf(world, 'canary');
  const asked = scaler ? resumeReplicas(scaler) : fullSize(world);
  const replicas = target.desiredReplicas > 0 ? target.desiredReplicas : asked;
  const write = act(...pauseCanary(world, false), { type: 'ApplyCanary', digest, replicas });
  return stay(withRun(state, { ...withProgressReset(context, run), broughtUp: true }), words, write);
}

function mayHoldOldConfig({ head }: Context, target: WorkloadView): boolean {
  return head?.hasLiveConfig === true && target.desiredReplicas > 0 && target.updatedReadyReplicas > 0;
}
