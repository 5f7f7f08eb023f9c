import { knownReason } from '../../api/reasons.ts';
import { act, applyPrimary, type Draft, note, now, say, stall, trackProgress, wakeIn } from '../draft.ts';
import { soundRecord } from '../kept.ts';
import { trafficAt } from '../plan.ts';
import { hasConverged, whyNotReady } from '../readiness.ts';
import { headRelease, lastKnownGood, type Run } from '../run.ts';
import { ensurePrimaryCapacity, pauseCanary, restoreScalers } from '../scalers.ts';
import { isAllOnPrimary } from '../traffic.ts';
import type { ReleaseView, World } from '../world.ts';
import { describe, nameOf } from './admit.ts';

/**
 * No release has proven itself yet: each new digest goes straight to the primary until one converges; nothing is rejected (design
 * section 4). A workload that already serves keeps its traffic until the primary is ready.
 */
export function bootstrap(draft: Draft): void {
  const { world } = draft;
  const head = firstRelease(world) ?? underWay(draft);
  draft.status.phase = 'Initializing';
  if (!head) {
    const message = world.head.kind === 'release' ? '' : world.head.message;
    if (world.head.kind === 'missing') return stall(draft, 'TargetMissing', message);
    const reason = knownReason(world.head.kind === 'unknown' ? world.head.reason : undefined, 'Unknown');
    return reason === 'RecordTooLarge' ? stall(draft, reason, message) : note(draft, reason, message);
  }
  const run = runFor(draft, head);
  if (!soundRecord(world, head.digest)) {
    act(draft, { type: 'SaveRecord', digest: head.digest });
  }
  if (world.primary?.digest !== head.digest) return firstWrite(draft, head);
  const fallback = headRelease(world);
  const standingMs = trackProgress(draft, run, world.primary);
  if (!isWhole(draft)) return wait(draft, head, { standingMs, fallback });
  handOver(draft, head, run);
}

/**
 * What a cluster without a proven release starts from: the ledger's commit, and head comes after it as a canary. A primary that runs
 * something else began without the ledger, and goes on with head.
 */
function firstRelease(world: World): ReleaseView | undefined {
  const head = headRelease(world);
  const ledger = world.head.kind === 'release' ? world.head.ledger : undefined;
  const running = world.primary?.digest;
  return ledger && (running === undefined || running === ledger.digest) ? ledger : head;
}

/** Converged, and scaled to what the target carries now: its scaler may have brought it far above the fewest pods. */
function isWhole(draft: Draft): boolean {
  const { scaler, primary } = draft.world;
  if (scaler && !scaler.primary) {
    act(draft, { type: 'ApplyScalers' });
    return false;
  }
  return ensurePrimaryCapacity(draft, 100) && hasConverged(primary, draft.plan.primaryReadyPercent);
}

/** Git cannot be read now: what is on the primary already, and kept, needs nothing more of it (L6). */
function underWay({ world, run }: Draft): ReleaseView | undefined {
  const { head, primary } = world;
  const record = soundRecord(world, run?.digest);
  if (head.kind !== 'unknown' || !run || !record || primary?.digest !== run.digest) return undefined;
  const { digest, mountsConfig } = run;
  const settingsKey = primary.settingsKey ?? '';
  return { digest, commit: record.commit, settingsKey, replicas: undefined, mountsConfig };
}

function firstWrite(draft: Draft, head: ReleaseView): void {
  applyPrimary(draft, head.digest);
  draft.status.lastAppliedSpec = head.digest;
  draft.status.lastAppliedCommit = head.commit.commit;
  note(draft, 'Initializing', `creating the primary from ${describe(head)}`);
  tellOfLedger(draft, head);
}

/** Which of two commits a new cluster starts from is said once, with the first write. */
function tellOfLedger(draft: Draft, first: ReleaseView): void {
  const { head } = draft.world;
  if (head.kind !== 'release') return;
  if (head.ledgerProblem !== undefined) {
    const message = `the ledger in Git cannot be used (${head.ledgerProblem}); the primary starts from head, which has not proven itself`;
    say(draft, 'Warning', 'LedgerUnavailable', message);
  } else if (head.ledger?.digest === first.digest) {
    const message = `the primary starts from the ledger's ${describe(first)}; head follows as a canary`;
    say(draft, 'Normal', 'StartedFromLedger', message);
  }
}

function wait(
  draft: Draft,
  head: ReleaseView,
  { standingMs, fallback }: { standingMs: number; fallback: ReleaseView | undefined },
): void {
  const { primary } = draft.world;
  const { progressDeadlineMs } = draft.plan.postPromotion;
  const message = `waiting for the primary to run ${describe(head)}: ${whyNotReady(primary)}`;
  if (standingMs >= progressDeadlineMs) {
    if (!fallback || fallback.digest === head.digest) return stall(draft, 'PrimaryNotReady', message);
    const why = `the ledger's ${describe(head)} does not come up; the primary goes on with head`;
    say(draft, 'Warning', 'LedgerUnavailable', why);
    return firstWrite(draft, fallback);
  }
  wakeIn(draft, progressDeadlineMs - standingMs);
  note(draft, 'Initializing', message);
}

/** The primary is up: it gets Services and traffic, then the target rests, then the release is the first good one. */
function handOver(draft: Draft, head: ReleaseView, run: Run): void {
  const { world, plan } = draft;
  note(draft, 'Initializing', `the primary runs ${describe(head)}; handing over the traffic`);
  act(draft, { type: 'EnsureServices', primaryDigest: head.digest, canaryDigest: head.digest });
  act(draft, { type: 'SetTraffic', route: trafficAt(plan, 0) });
  if (!world.route?.accepted || !isAllOnPrimary(draft)) {
    if (world.route?.problem) note(draft, 'RouteNotAccepted', world.route.problem);
    return;
  }
  if (world.target?.digest !== head.digest || world.target.desiredReplicas > 0) {
    pauseCanary(draft, true);
    act(draft, { type: 'ApplyCanary', digest: head.digest, replicas: 0 });
    return;
  }
  if (!restoreScalers(draft, run)) return;
  if (lastKnownGood(world)?.digest !== head.digest) act(draft, { type: 'MarkProven', digest: head.digest });
}

/** Bookkeeping for the progress clock while there is no release to compare with. */
function runFor(draft: Draft, head: ReleaseView): Run {
  if (draft.run?.digest === head.digest) return draft.run;
  const run: Run = {
    digest: head.digest,
    commit: head.commit.commit,
    subject: head.commit.subject,
    startTime: now(draft),
    restartKey: draft.plan.restartKey,
    mountsConfig: head.mountsConfig,
    fastLane: false,
    checkNumber: 0,
  };
  draft.run = run;
  return run;
}

/** The first record was read back: the Canary is initialized. */
export function initialized(draft: Draft, run: Run): void {
  draft.run = undefined;
  draft.status = {
    ...draft.status,
    phase: 'Initialized',
    lastAppliedSpec: run.digest,
    lastAppliedCommit: run.commit,
    failedChecks: 0,
    iterations: 0,
  };
  say(draft, 'Normal', 'Initialized', `initialization done, ${nameOf(run)} is live`);
  note(draft, 'Initialized', `${nameOf(run)} is live`);
}
