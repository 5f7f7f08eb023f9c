import { gitPart } from '../../api/digest.ts';
import { type Draft, now, say } from '../draft.ts';
import { hasHooks } from '../hooks.ts';
import { soundRecord } from '../kept.ts';
import { lastKnownGood, type Run } from '../run.ts';
import { isKeptOut } from '../windows.ts';
import type { ReleaseView } from '../world.ts';

/** Bookkeeping of a release that begins now. */
export function begin(draft: Draft, release: ReleaseView): Run {
  const run: Run = {
    digest: release.digest,
    commit: release.commit.commit,
    subject: release.commit.subject,
    startTime: now(draft),
    restartKey: draft.plan.restartKey,
    mountsConfig: release.mountsConfig,
    fastLane: false,
    checkNumber: 0,
  };
  draft.run = run;
  return run;
}

/**
 * Starts the rollout of a release: bookkeeping only, the first write comes with the next phase (design section 4, admit). `rollback`: what
 * a person left by asking for this older release. With gates of type confirm-rollout the phase stays what it was until they have answered,
 * as in Flagger, and so it does while a window is closed; what a person asked for passes them.
 */
export function admit(draft: Draft, release: ReleaseView, rollback?: Run['rollback']): Run {
  const proven = soundRecord(draft.world, release.digest)?.promotedTime !== undefined;
  const run = begin(draft, release);
  run.fastLane = proven && lastKnownGood(draft.world)?.digest !== release.digest;
  if (rollback) run.rollback = rollback;
  else if (hasHooks(draft, 'confirm-rollout')) run.awaitsConfirmation = true;
  // It starts where window and gates are open together.
  const isKept = !rollback && isKeptOut(draft, run);
  if (isKept || (run.awaitsConfirmation && draft.world.window)) run.awaitsWindow = true;
  const waits = run.awaitsConfirmation || run.awaitsWindow;
  draft.status = {
    ...draft.status,
    ...(waits ? {} : { phase: 'Progressing' as const }),
    lastAppliedSpec: release.digest,
    lastAppliedCommit: release.commit.commit,
    failedChecks: 0,
    iterations: 0,
    checks: [],
  };
  delete draft.status.postPromotion;
  const how = run.fastLane ? 'a proven release, analysis is left out' : 'starting its rollout';
  const good = lastKnownGood(draft.world)?.digest;
  const isSameInGit = good !== undefined && gitPart(good) === gitPart(release.digest);
  const what = isSameInGit ? 'New config outside Git for' : 'New revision';
  const gates = [...(isKept ? ['its window'] : []), ...(run.awaitsConfirmation ? ['confirm-rollout'] : [])];
  const first = gates.length > 0 ? `, once ${gates.join(' and ')} is open` : '';
  say(draft, 'Normal', 'NewRevision', `${what} ${describe(release)}: ${how}${first}`);
  return run;
}

/** `1a2b3c4 subject`: how a release is named to people. */
export function describe(release: { commit: { commit: string; subject: string }; digest: string }): string {
  const id = release.commit.commit ? release.commit.commit.slice(0, 7) : release.digest.slice(0, 10);
  return release.commit.subject ? `${id} "${release.commit.subject}"` : id;
}

/** The release under way, as people know it. */
export function nameOf(run: Run): string {
  return describe({ digest: run.digest, commit: { commit: run.commit, subject: run.subject } });
}
