import { trafficAt } from '../../api/canary/plan.ts';
import { hasConverged, servingPods, whyNotReady } from '../../health/readiness.ts';
import type { Action } from '../action.ts';
import type { Context } from '../context.ts';
import { act, combine, type Effects, enter, note, type Outcome, say, stall, stay, wake } from '../outcome.ts';
import { sinceProgressMs, withProgress } from '../progress.ts';
import { soundRecord } from '../records.ts';
import type { Run } from '../run.ts';
import type { StateOf } from '../state.ts';
import { fullSize, podsNeeded, scalerOf } from '../traffic/capacity.ts';
import { areScalersReset, pauseCanary, raiseMinReplicas, restoreScalers } from '../traffic/scalers.ts';
import { isAllOn } from '../traffic/traffic.ts';
import { describeRelease, type ReleaseView } from '../world.ts';
import { begin } from './admit.ts';
import { applyPrimary } from './recreate.ts';
import { withoutHead } from './resting.ts';

type Initializing = StateOf<'Initializing'>;

/** No release has proven itself yet: each new digest goes straight to the primary until one converges; nothing is rejected (design section 4). */
export function initializing(context: Context, state: Initializing): Outcome {
  const { world, good } = context;
  if (good && state.run) return initialized(state.run);
  const head = firstRelease(context) ?? underWay(context, state.run);
  const here = { ...state, kind: 'Initializing' as const };
  if (!head) return stay(here, withoutHead(context));
  const begun = state.run?.digest === head.digest ? state.run : begin(context, head);
  const saved = soundRecord(world, head.digest) ? {} : act({ type: 'SaveRecord', digest: head.digest });
  if (world.primary?.digest !== head.digest)
    return stay({ ...here, run: begun }, saved, firstWrite(context, head));
  const run = withProgress(context, begun, world.primary);
  const next = { ...here, run };
  const whole = makeWhole(context);
  if (whole.isWhole) return stay(next, saved, handOver(context, head, run));
  return stay(next, saved, act(...whole.actions), wait(context, head, run));
}

/**
 * What a cluster without a proven release starts from: the ledger's commit, and head comes after it as a canary. A primary that runs
 * something else began without the ledger, and goes on with head.
 */
function firstRelease({ world, head }: Context): ReleaseView | undefined {
  const ledger = world.head.kind === 'release' ? world.head.ledger : undefined;
  const running = world.primary?.digest;
  return ledger && (running === undefined || running === ledger.digest) ? ledger : head;
}

/** Converged, and scaled to what the target carries now: its scaler may have brought it far above the fewest pods. */
function makeWhole(context: Context): { readonly isWhole: boolean; readonly actions: readonly Action[] } {
  const { world, plan } = context;
  const { scaler, primary } = world;
  if (scaler && !scaler.primary) return { isWhole: false, actions: [{ type: 'ApplyScalers' }] };
  const grown = raiseMinReplicas(world, 'primary', fullSize(world));
  const isCarried =
    !scalerOf(world, 'primary') || servingPods(primary) >= podsNeeded(context, 'primary', 100);
  const isWhole = isCarried && hasConverged(primary, plan.primaryReadyPercent);
  return { isWhole, actions: grown };
}

/** Git cannot be read now: what is on the primary already, and kept, needs nothing more of it (L6). */
function underWay({ world }: Context, run: Run | undefined): ReleaseView | undefined {
  const { head, primary } = world;
  const record = soundRecord(world, run?.digest);
  if (head.kind !== 'unknown' || !run || !record || primary?.digest !== run.digest) return undefined;
  const { digest, mountsConfig } = run;
  return {
    digest,
    commit: record.commit,
    settingsKey: primary.settingsKey ?? '',
    replicas: undefined,
    mountsConfig,
  };
}

function firstWrite(context: Context, first: ReleaseView): Effects {
  const { head } = context.world;
  const status = { lastAppliedSpec: first.digest, lastAppliedCommit: first.commit.commit };
  const words = note('Initializing', `creating the primary from ${describeRelease(first)}`);
  return combine(
    act(applyPrimary(context, first.digest)),
    { status },
    words,
    head.kind === 'release' ? ofLedger(head, first) : {},
  );
}

/** Which of two commits a new cluster starts from is said once, with the first write. */
function ofLedger(
  { ledgerProblem, ledger }: { ledgerProblem?: string; ledger?: ReleaseView },
  first: ReleaseView,
): Effects {
  if (ledgerProblem !== undefined) {
    const message = `the ledger in Git cannot be used (${ledgerProblem}); the primary starts from head, which is not proven yet`;
    return say('Warning', 'LedgerUnavailable', message);
  }
  if (ledger?.digest !== first.digest) return {};
  return say(
    'Normal',
    'StartedFromLedger',
    `the primary starts from the ledger's ${describeRelease(first)}; head follows as a canary`,
  );
}

function wait(context: Context, head: ReleaseView, run: Run): Effects {
  const fallback = context.head;
  const message = `waiting for the primary to run ${describeRelease(head)}: ${whyNotReady(context.world.primary)}`;
  const leftMs = context.plan.postPromotion.progressDeadlineMs - sinceProgressMs(context, run);
  if (leftMs > 0) return combine(note('Initializing', message), wake(leftMs));
  if (!fallback || fallback.digest === head.digest) return stall('PrimaryNotReady', message);
  const why = `the ledger's ${describeRelease(head)} does not become ready; the primary continues with head`;
  return combine(say('Warning', 'LedgerUnavailable', why), firstWrite(context, fallback));
}

/** The primary is up: it gets Services and traffic, then the target rests, then the release is the first good one. */
function handOver(context: Context, head: ReleaseView, run: Run): Effects {
  const { world, plan, good } = context;
  const { digest } = head;
  const begun = combine(
    note('Initializing', `the primary runs ${describeRelease(head)}; moving traffic to it`),
    act(
      { type: 'EnsureServices', primaryDigest: digest, canaryDigest: digest },
      { type: 'SetTraffic', route: trafficAt(plan, 0) },
    ),
  );
  if (!world.route?.accepted || !isAllOn(context, 'primary'))
    return world.route?.problem ? combine(begun, note('RouteNotAccepted', world.route.problem)) : begun;
  if (world.target?.digest !== digest || world.target.desiredReplicas > 0)
    return combine(begun, act(...pauseCanary(world, true), { type: 'ApplyCanary', digest, replicas: 0 }));
  const restored = combine(begun, restoreScalers(context, run));
  if (!areScalersReset(world) || good?.digest === digest) return restored;
  return combine(restored, act({ type: 'MarkProven', digest }));
}

/** The first record was read back: the Canary is initialized. */
function initialized(run: Run): Outcome {
  return enter(
    { kind: 'Resting', phase: 'Initialized', failedChecks: 0 },
    combine(
      say('Normal', 'Initialized', `initialization done, ${describeRelease(run)} is live`),
      note('Initialized', `${describeRelease(run)} is live`),
      { status: { lastAppliedSpec: run.digest, lastAppliedCommit: run.commit } },
    ),
  );
}
