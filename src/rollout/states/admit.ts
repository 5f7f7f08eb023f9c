/** A release begins: on the canary, or where that has to serve, on the primary (design section 5, decided since 1). */
import { gitPart } from '../../api/digest.ts';
import { stamp } from '../../api/time.ts';
import type { Context } from '../context.ts';
import { hasHooks } from '../hooks.ts';
import { combine, enter, type Outcome, say } from '../outcome.ts';
import { SETTLE_MS, withLastChanges } from '../progress.ts';
import { soundRecord } from '../records.ts';
import type { Run, Side } from '../run.ts';
import { trialState } from '../state.ts';
import { windowWaitMs } from '../windows.ts';
import { describeRelease, type ReleaseView } from '../world.ts';

/** Bookkeeping of a release that begins now. */
export function begin({ plan, now }: Context, release: ReleaseView): Run {
  return {
    digest: release.digest,
    commit: release.commit.commit,
    subject: release.commit.subject,
    startTime: now,
    restartKey: plan.restartKey,
    mountsConfig: release.mountsConfig,
    fastLane: false,
    checkNumber: 0,
  };
}

/** How a release begins, where that is not on the canary by Git's word. */
interface Admission {
  /** What a person left by asking for this older release. */
  readonly rollback?: Run['rollback'];
  readonly side?: Side;
  /** What Flagger left running for it. */
  readonly keepsPods?: boolean;
  /** The release whose place it takes; without one everything has stood still for long. */
  readonly before?: Run;
}

/**
 * Starts the rollout of a release: bookkeeping only, the first write comes with the next state (design section 4, admit). With gates of type
 * confirm-rollout, or a closed window, it waits first, in the phase it was met in until they have answered, as in Flagger; what a person asked
 * for passes them.
 */
export function admit(context: Context, release: ReleaseView, how: Admission = {}): Outcome {
  const { world, good } = context;
  const { rollback, side, keepsPods, before } = how;
  const proven = soundRecord(world, release.digest)?.promotedTime !== undefined;
  const begun: Run = {
    ...begin(context, release),
    standing: before?.standing ?? settledRoute(context),
    fastLane: proven && good?.digest !== release.digest,
    ...(rollback ? { rollback } : {}),
    ...(side === 'primary' ? { side } : {}),
    ...(keepsPods ? { keepsPods } : {}),
  };
  const isKept = !rollback && !keepsPods && windowWaitMs(context, begun, begun) > 0;
  const awaitsConfirmation = !rollback && !keepsPods && hasHooks(context, 'confirm-rollout');
  // It starts where window and gates are open together.
  const awaitsWindow = isKept || (awaitsConfirmation && world.window !== undefined);
  const run: Run = {
    ...begun,
    ...(awaitsConfirmation ? { awaitsConfirmation } : {}),
    ...(awaitsWindow ? { awaitsWindow } : {}),
  };
  const base = { run, failedChecks: 0, iterations: 0 };
  const next =
    awaitsConfirmation || awaitsWindow
      ? ({ ...base, kind: 'Waiting', phase: world.status.phase } as const)
      : trialState(context, base);
  const first = [...(isKept ? ['its window'] : []), ...(awaitsConfirmation ? ['confirm-rollout'] : [])];
  return enter(next, {
    ...combine(
      say('Normal', 'NewRevision', wordsOf(context, run, release, first)),
      throughThePrimary(run, release),
    ),
    status: { lastAppliedSpec: release.digest, lastAppliedCommit: release.commit.commit, checks: [] },
  });
}

/** At rest the route has been where it is since long. */
function settledRoute(context: Context): NonNullable<Run['standing']> {
  const { standing = {} } = withLastChanges(context, { standing: {} } as Run);
  const since = stamp(context.world.nowMs - SETTLE_MS);
  return standing.route ? { route: { key: standing.route.key, since } } : {};
}

function wordsOf({ good }: Context, run: Run, release: ReleaseView, first: readonly string[]): string {
  const how = run.fastLane ? 'a proven release, analysis is skipped' : 'starting its rollout';
  const isSameInGit = good !== undefined && gitPart(good.digest) === gitPart(release.digest);
  const what = isSameInGit ? 'New config outside Git for' : 'New revision';
  const gates = first.length > 0 ? `, once ${first.join(' and ')} is open` : '';
  return `${what} ${describeRelease(release)}: ${how}${gates}`;
}

function throughThePrimary(run: Run, release: ReleaseView) {
  if (run.side !== 'primary') return {};
  const message = `${describeRelease(release)} is tried on the primary while the canary serves: the last-known-good is not available`;
  return say('Warning', 'ThroughThePrimary', message);
}
