import { trafficAt } from '../../api/canary/plan.ts';
import { present } from '../../api/kubernetes.ts';
import { hasConverged, isReady, whyNotReady } from '../../health/readiness.ts';
import { servingPods } from '../../health/workload-view.ts';
import { type Context, sinceProgressMs, withProgress } from '../context.ts';
import { type Action, act, combine, type Effects, emit, note, stall, wake } from '../outcome.ts';
import { enter, type Outcome, type StateOf, stay } from '../state.ts';
import {
  areScalersReset,
  fullSize,
  isAllOn,
  pauseCanary,
  podsNeeded,
  raiseMinReplicas,
  restoreScalers,
  routeNote,
} from '../traffic/traffic.ts';
import { describeRelease, earlierRecords, type ReleaseView, type Run, soundRecord } from '../world.ts';
import { begin, withoutHead } from './head.ts';
import { applyPrimary } from './restore.ts';

type Initializing = StateOf<'Initializing'>;

/** No release is proven yet: each new digest is written to the primary at once until one becomes ready; nothing is rejected (design section 4). */
export function initializing(context: Context, state: Initializing): Outcome {
  const { world, good } = context;
  if (good && state.run) return initialized(state.run);
  // A primary that runs something else than the ledger began without it, and continues with head.
  const ledger = world.head.kind === 'release' ? world.head.ledger : undefined;
  const startsFromLedger = ledger && (world.primary?.digest ?? ledger.digest) === ledger.digest;
  const head = (startsFromLedger ? ledger : context.head) ?? underWay(context, state.run);
  const here = { ...state, kind: 'Initializing' as const };
  if (!head) return stay(here, withoutHead(context));
  const first = () => ({ ...begin(context, head), ...present({ recordsAfter: earlierRecords(world) }) });
  const begun = state.run?.digest === head.digest ? state.run : first();
  const saved = soundRecord(world, head.digest) ? {} : act({ type: 'SaveRecord', digest: head.digest });
  if (world.primary?.digest !== head.digest)
    return stay({ ...here, run: begun }, saved, firstWrite(context, head));
  const run = withProgress(context, begun, world.primary);
  const next = { ...here, run };
  const primary = bringUp(context, head.digest);
  if (primary.isReady) return stay(next, saved, handOver(context, head, run));
  return stay(next, saved, act(...primary.actions), wait(context, head, run));
}

/**
 * Whether the primary is ready with the pods that the target has now: a scaler may have scaled the target far above its minReplicas. Pods that are
 * ready and no endpoints are behind a Service that somebody changed.
 */
function bringUp(
  context: Context,
  digest: string,
): { readonly isReady: boolean; readonly actions: readonly Action[] } {
  const { world, plan } = context;
  const { scaler, primary } = world;
  if (scaler && !scaler.primary) return { isReady: false, actions: [{ type: 'ApplyScalers' }] };
  const grown = raiseMinReplicas(world, 'primary', fullSize(world));
  const isCarried = !world.scaler?.primary || servingPods(primary) >= podsNeeded(context, 'primary', 100);
  if (!isCarried || !isReady(primary, plan.primaryReadyPercent)) return { isReady: false, actions: grown };
  const isReached = hasConverged(primary, plan.primaryReadyPercent);
  return { isReady: isReached, actions: isReached ? grown : [...grown, servicesOf(digest)] };
}

function servicesOf(digest: string): Action {
  return { type: 'EnsureServices', primaryDigest: digest, canaryDigest: digest };
}

/** Git cannot be read now: a release that is on the primary already, with its record, can continue without it (L6). */
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
  const statusNote = note('Initializing', `creating the primary from ${describeRelease(first)}`);
  return combine(
    act(applyPrimary(context, first.digest)),
    { status },
    statusNote,
    head.kind === 'release' ? ledgerEvent(head, first) : {},
  );
}

/** Reports with the first write which of two commits a new cluster starts from. */
function ledgerEvent(
  { ledgerProblem, ledger }: { ledgerProblem?: string; ledger?: ReleaseView },
  first: ReleaseView,
): Effects {
  if (ledgerProblem !== undefined) {
    const message = `the ledger in Git cannot be used (${ledgerProblem}); the primary starts from head, which is not proven yet`;
    return emit('Warning', 'LedgerUnavailable', message);
  }
  if (ledger?.digest !== first.digest) return {};
  return emit(
    'Normal',
    'StartedFromLedger',
    `the primary starts from the ledger's ${describeRelease(first)}; head follows as a canary`,
  );
}

function wait(context: Context, head: ReleaseView, run: Run): Effects {
  const fallback = context.head;
  const { scaler, primary } = context.world;
  const why =
    scaler && !scaler.primary ? `it has no copy of ${scaler.kind} ${scaler.name} yet` : whyNotReady(primary);
  const message = `waiting for the primary to run ${describeRelease(head)}: ${why}`;
  const leftMs = context.plan.postPromotion.progressDeadlineMs - sinceProgressMs(context, run);
  if (leftMs > 0) return combine(note('Initializing', message), wake(leftMs));
  if (!fallback || fallback.digest === head.digest) return stall('PrimaryNotReady', message);
  const given = `the ledger's ${describeRelease(head)} does not become ready; the primary continues with head`;
  return combine(emit('Warning', 'LedgerUnavailable', given), firstWrite(context, fallback));
}

/** The primary is ready: it gets Services and traffic, then the target is scaled to zero, then the release is the first proven one. */
function handOver(context: Context, head: ReleaseView, run: Run): Effects {
  const { world, plan, good } = context;
  const { digest } = head;
  const begun = combine(
    note('Initializing', `the primary runs ${describeRelease(head)}; moving traffic to it`),
    act(servicesOf(digest), { type: 'SetTraffic', route: trafficAt(plan, 0) }),
  );
  if (!world.route?.accepted || !isAllOn(context, 'primary'))
    return world.route?.problem ? combine(begun, routeNote(context, run)) : begun;
  if (world.target?.digest !== digest || world.target.desiredReplicas > 0)
    return combine(begun, act(...pauseCanary(world, true), { type: 'ApplyCanary', digest, replicas: 0 }));
  const restored = combine(begun, restoreScalers(context, run));
  if (!areScalersReset(world) || good?.digest === digest) return restored;
  const { recordsAfter: after } = run;
  return combine(restored, act({ type: 'MarkProven', digest, ...(after === undefined ? {} : { after }) }));
}

/** The first record was read back: the Canary is initialized. */
function initialized(run: Run): Outcome {
  return enter(
    { kind: 'Resting', phase: 'Initialized', failedChecks: 0 },
    combine(
      emit('Normal', 'Initialized', `initialization done, ${describeRelease(run)} is live`),
      note('Initialized', `${describeRelease(run)} is live`),
      { status: { lastAppliedSpec: run.digest, lastAppliedCommit: run.commit } },
    ),
  );
}
