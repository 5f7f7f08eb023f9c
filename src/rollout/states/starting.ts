import { servingPods } from '../../health/workload-view.ts';
import { askGates, hasHooks, noteClosed } from '../checks.ts';
import {
  type Context,
  elapsedMs,
  sinceProgressMs,
  untilWritten,
  withProgress,
  withProgressReset,
} from '../context.ts';
import { ALL, act, combine, type Effects, emit, note, type Preference, wake } from '../outcome.ts';
import {
  enter,
  type Outcome,
  type StateOf,
  standingStill,
  stay,
  trialState,
  without,
  withRun,
} from '../state.ts';
import {
  fullSize,
  hasArrived,
  isAllOn,
  isRouteRefused,
  mustWake,
  raiseMinReplicas,
  resumeCanary,
  resumeReplicas,
  routeNote,
  stopCanary,
} from '../traffic/traffic.ts';
import { noteWindow, wakeForWindow, windowWaitMs } from '../windows.ts';
import { describeRelease, isDigestLost, type Run, soundRecord } from '../world.ts';
import { missingRecords, saveRecords } from './head.ts';
import { applyPrimary, applySettings, recreatedPrimary } from './restore.ts';
import { failAtGate } from './transitions.ts';

/**
 * Before anything of a release is written, a window of the Source must be open and webhooks of type confirm-rollout must approve. Until
 * then the primary serves and the canary has no pods, or the canary serves, if the release is to be tried on the primary; the phase becomes
 * Waiting with the first refusal.
 */
export function waiting(context: Context, state: StateOf<'Waiting'>): Outcome {
  const { run } = state;
  // Nothing of it is written yet: a window that closed while the gate was asked counts, too.
  const leftMs = run.promoteNow ? 0 : windowWaitMs(context, run, run);
  if (leftMs > 0) {
    // The gate may have been taken out of the spec meanwhile.
    const atGate = run.awaitsConfirmation && hasHooks(context, 'confirm-rollout');
    const waits = {
      ...without(standingStill(run), 'awaitsConfirmation'),
      awaitsWindow: true,
      ...(atGate ? { awaitsConfirmation: true } : {}),
    };
    const next = { ...state, run: waits, phase: 'Waiting' as const };
    return stay(
      next,
      keepServing(context, run),
      noteWindow(context, describeRelease(run)),
      wakeForWindow(leftMs),
    );
  }
  const gate = askGates(context, run, ['confirm-rollout']);
  const next = withRun(state, gate.run);
  if (gate.kind === 'open') return opened(context, { ...next, run: gate.run }, gate.effects);
  if (gate.kind === 'asking') {
    const statusNote = run.closedGate
      ? noteClosed(run.closedGate, describeRelease(run))
      : note('Waiting', `asking confirm-rollout whether ${describeRelease(run)} may start`);
    return stay(next, keepServing(context, run), statusNote, gate.effects);
  }
  if (gate.overdue) return failAtGate(context, next, gate.gate);
  const statusNote = noteClosed(gate.gate, describeRelease(run));
  return stay({ ...next, phase: 'Waiting' }, keepServing(context, run), statusNote, gate.effects);
}

function opened(context: Context, { run, ...base }: StateOf<'Waiting'>, effects: Effects): Outcome {
  const event =
    run.awaitsWindow && !run.awaitsConfirmation
      ? emit('Normal', 'WindowOpened', `the rollout of ${describeRelease(run)} starts`)
      : {};
  const { events = [] } = combine(effects, event);
  const begun = without(run, 'awaitsConfirmation', 'awaitsWindow');
  return enter(trialState(context, { ...base, run: begun }), { events });
}

/** The primary keeps serving, with the settings of head; the canary of a release that was tried before is scaled to zero. */
function keepServing(context: Context, { side }: Run): Effects {
  const { world } = context;
  if (side === 'primary') return {};
  const { primary, target } = world;
  const recreated = recreatedPrimary(context);
  if (recreated) return recreated;
  // A target that another tool scales runs without traffic: scaling it down would only make the two tools fight.
  const stops = !world.foreignTarget && hasArrived(context, undefined, 'primary') && servingPods(primary) > 0;
  return combine(
    applySettings(context),
    stops && target && target.desiredReplicas > 0 ? act(...stopCanary(world)) : {},
  );
}

/** Traffic while a release is started: away from the side that is to be written. */
export function startingPrefers(context: Context, { run }: StateOf<'Starting'>): Preference {
  if (run.side === 'primary') return ALL.canary;
  const overdue =
    elapsedMs(context, run.lastProgressTime ?? run.startTime) >= context.plan.progressDeadlineMs;
  return { kind: 'all', side: 'primary', evacuate: true, overdue };
}

/** Saves the record of the release, waits until its side has no traffic, and writes it to that side. */
export function starting(context: Context, before: StateOf<'Starting'>): Outcome {
  if (before.run.side === 'primary') return startOnPrimary(context, before);
  const { world, plan, head } = context;
  const recreated = recreatedPrimary(context);
  const state = withRun(before, withProgress(context, before.run, world.primary));
  const { run } = state;
  const statusNote = note('NewRevision', `starting the canary with ${describeRelease(run)}`);
  if (recreated) return stay(state, statusNote, recreated);
  if (!soundRecord(world, run.digest))
    return stay(state, statusNote, saveRecords(context, run, [run.digest]));
  if (!hasArrived(context, run, 'primary')) return waitForPrimary(context, state);
  const leftMs = plan.progressDeadlineMs - sinceProgressMs(context, run);
  if (mustWake(world) && leftMs > 0) {
    const wakes = note('PrimaryNotReady', 'the primary is scaled to zero; scaling it up first');
    return stay(state, act(...raiseMinReplicas(world, 'primary', 1)), wakes, wake(leftMs));
  }
  if (world.foreignTarget) return startForeign(context, state, untilWritten(context, before.run));
  const scaler = world.scaler?.canary;
  const asked = head?.digest === run.digest && head.replicas ? head.replicas : fullSize(world);
  const replicas = scaler ? resumeReplicas(scaler) : asked;
  const write = act(...resumeCanary(world), { type: 'ApplyCanary', digest: run.digest, replicas });
  return stay({ ...state, run: untilWritten(context, before.run) }, statusNote, write);
}

/** Traffic is moving to the primary; if the primary never becomes ready for it, the release is tried there instead (issue 11, 2). */
function waitForPrimary(context: Context, state: StateOf<'Starting'>): Outcome {
  const { world, plan } = context;
  const { run } = state;
  const leftMs = plan.progressDeadlineMs - sinceProgressMs(context, run);
  const isDead = servingPods(world.primary) === 0 && isAllOn(context, 'canary');
  if (leftMs <= 0 && isDead) {
    const message = `${describeRelease(run)} is tried on the primary while the canary serves: the last-known-good does not become ready`;
    const next = trialState(context, {
      ...state,
      run: { ...withProgressReset(context, run), side: 'primary' },
    });
    return enter(next, emit('Warning', 'ThroughThePrimary', message));
  }
  const statusNote = note('NewRevision', `starting the canary with ${describeRelease(run)}`);
  return stay(state, statusNote, isAllOn(context, 'primary') ? routeNote(context, run) : {}, wake(leftMs));
}

/** The canary keeps serving; the record of what the primary runs is saved first, or known to be lost (S10). */
function startOnPrimary(context: Context, state: StateOf<'Starting'>): Outcome {
  const { world } = context;
  const { run } = state;
  const statusNote = note(
    'ThroughThePrimary',
    `writing ${describeRelease(run)} to the primary while the canary serves`,
  );
  const missing = missingRecords(context, run).filter(
    (digest) => digest === run.digest || !isDigestLost(world, digest),
  );
  if (missing.length > 0) return stay(state, statusNote, saveRecords(context, run, missing));
  if (hasArrived(context, run, 'canary') || servingPods(world.primary) === 0)
    return stay(
      { ...state, run: untilWritten(context, run) },
      statusNote,
      act(applyPrimary(context, run.digest)),
    );
  const next = withRun(state, withProgress(context, run, world.target));
  const leftMs = context.plan.progressDeadlineMs - sinceProgressMs(context, next.run);
  if (leftMs > 0 || isAllOn(context, 'canary') || isRouteRefused(context, run))
    return stay(next, statusNote, routeNote(context, run), wake(leftMs));
  const message = `${describeRelease(run)} is tried on the canary: its pods cannot take all traffic, and the primary has ready pods again`;
  const onCanary = without(withProgressReset(context, run), 'side');
  return enter(trialState(context, { ...state, run: onCanary }), emit('Normal', 'NewRevision', message));
}

/**
 * Another tool writes the target; the number of pods it asks for stays. Pods that were ready before may have read an older config than the
 * one to be tried: they are stopped first, and new ones read the new config. Flagger analyses the old config in that case.
 */
function startForeign(context: Context, state: StateOf<'Starting'>, written: Run): Outcome {
  const { world } = context;
  const { run } = state;
  const { target, primary } = world;
  const statusNote = note('NewRevision', `starting the canary with ${describeRelease(run)}`);
  if (target?.digest !== run.digest)
    return stay(
      state,
      note('TargetMissing', `the target cannot be read or no longer runs ${describeRelease(run)}`),
    );
  const { digest } = run;
  const mayHaveOldConfig =
    context.head?.hasLiveConfig === true && target.desiredReplicas > 0 && target.updatedReadyReplicas > 0;
  if (!run.keepsPods && mayHaveOldConfig && servingPods(primary) > 0)
    return stay(state, statusNote, act({ type: 'ApplyCanary', digest, replicas: 0 }));
  const isStopping = target.desiredReplicas === 0 && (!target.observed || target.replicas > 0);
  if (isStopping) return stay(state, statusNote);
  const scaler = world.scaler?.canary;
  const asked = scaler ? resumeReplicas(scaler) : fullSize(world);
  const replicas = target.desiredReplicas > 0 ? target.desiredReplicas : asked;
  const write = act(...resumeCanary(world), { type: 'ApplyCanary', digest, replicas });
  return stay({ ...state, run: { ...written, broughtUp: true } }, statusNote, write);
}
