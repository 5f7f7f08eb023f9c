import { knownReason } from '../../api/reasons.ts';
import { act, type Draft, note, restartProgress, say, stall } from '../draft.ts';
import { isLost, soundRecord, standStill } from '../kept.ts';
import { trafficAt } from '../plan.ts';
import { hasConverged, whyNotReady } from '../readiness.ts';
import { headRelease, isRejected } from '../run.ts';
import { keepScalers, restoreFloors, restsAtZero } from '../scalers.ts';
import { isAllOnPrimary, rescueTraffic, returnToPrimary } from '../traffic.ts';
import type { RecordView, ReleaseView } from '../world.ts';
import { admit, begin, describe, nameOf } from './admit.ts';
import { takesOver } from './moving.ts';
import { isPostRolloutDone } from './post-rollout.ts';
import { progressing } from './progressing.ts';
import { recreatePrimary } from './recreate.ts';
import { restTarget } from './rest-target.ts';
import { startRevert } from './reverting.ts';
import { askRollback } from './rollback-hook.ts';

/** No release is under way: keep what is good as it is, and look whether Git wants something new. */
export function idle(draft: Draft, good: RecordView): void {
  const { primary, target, head: wanted } = draft.world;
  if (!primary && !target && wanted.kind === 'missing') return stall(draft, 'TargetMissing', wanted.message);
  if (!primary) return isLost(good) ? standStill(draft, good) : recreatePrimary(draft, good);
  if (!takesOver(draft)) return;
  keepSteady(draft);
  if (draft.actions.some((action) => action.type === 'ScaleCanary')) return;
  const head = headRelease(draft.world);
  if (head && primary.settingsKey !== head.settingsKey) {
    act(draft, { type: 'ApplySettings', digest: head.digest, settingsKey: head.settingsKey });
  }
  if (primary.digest !== good.digest && head?.digest !== primary.digest)
    return isLost(good) ? standStill(draft, good) : repairPrimary(draft, good);
  decide(draft, good, head);
}

function decide(draft: Draft, good: RecordView, head: ReleaseView | undefined): void {
  const { world } = draft;
  const mayStart = isPostRolloutDone(draft);
  if (!head) {
    restoreFloors(draft);
    if (world.head.kind === 'missing') return stall(draft, 'TargetMissing', world.head.message);
    return withoutHead(draft);
  }
  if (head.digest === good.digest) return settle(draft, head);
  if (isRejected(world, head.digest)) return stayAway(draft, good, head);
  // What could not be returned to is not given up for something new; a proven release is the way out.
  if (isLost(good) && soundRecord(world, head.digest)?.promotedTime === undefined)
    return standStill(draft, good);
  if (!mayStart)
    return note(draft, 'NewRevision', `${describe(head)} starts once the webhooks heard of the last release`);
  const run = admit(draft, head);
  progressing(draft, run);
  askRollback(draft);
}

/** Git says what the last-known-good is: nothing is written, only named (design section 2.3). */
function settle(draft: Draft, head: ReleaseView): void {
  const { status, world, plan } = draft;
  keepScalers(draft);
  const settled = status.phase === 'Succeeded' || status.phase === 'Initialized';
  if (!settled || status.lastAppliedSpec !== head.digest) {
    draft.status = {
      ...status,
      phase: 'Succeeded',
      lastAppliedSpec: head.digest,
      lastAppliedCommit: head.commit.commit,
      lastPromotedCommit: head.commit.commit,
      failedChecks: 0,
    };
    say(draft, 'Normal', 'Succeeded', `${describe(head)} is what the primary runs: nothing to roll out`);
  }
  if (hasConverged(world.primary, plan.primaryReadyPercent) || restsAtZero(world))
    return note(
      draft,
      status.phase === 'Initialized' ? 'Initialized' : 'Succeeded',
      `${describe(head)} is live`,
    );
  note(
    draft,
    'PrimaryNotReady',
    `${describe(head)} is applied, but the primary is not ready: ${whyNotReady(world.primary)}`,
  );
}

/** Head is a release that failed before: stay with the last-known-good and write nothing (S14). */
function stayAway(draft: Draft, good: RecordView, head: ReleaseView): void {
  keepScalers(draft);
  const rejection = draft.world.rejected.find((entry) => entry.digest === head.digest);
  if (draft.status.phase !== 'Failed' || draft.status.lastAppliedSpec !== head.digest) {
    draft.status = {
      ...draft.status,
      phase: 'Failed',
      lastAppliedSpec: head.digest,
      lastAppliedCommit: head.commit.commit,
    };
    say(draft, 'Warning', 'Rejected', `${describe(head)} failed before and is not rolled out again`);
  }
  const kept = describe({ digest: good.digest, commit: good.commit });
  note(
    draft,
    knownReason(rejection?.reason, 'Rejected'),
    `${describe(head)} was rejected (${rejection?.reason}); ${kept} serves. Revert or fix it in Git, or retry`,
    { action: 'nothing automatic' },
  );
}

/** Routes and the canary as they are when nothing runs; costs no write when nothing differs. */
function keepSteady(draft: Draft): void {
  const { world, plan } = draft;
  const { primary, target } = world;
  if (!primary?.digest) return;
  if (rescueTraffic(draft)) return;
  if (isAllOnPrimary(draft)) act(draft, { type: 'SetTraffic', route: trafficAt(plan, 0) });
  else returnToPrimary(draft);
  if (!target && !world.foreignTarget)
    return act(draft, { type: 'ApplyCanary', digest: primary.digest, replicas: 0 });
  restTarget(draft);
}

/** The primary runs something that never proved itself and that Git does not want: back to the last-known-good, safely. */
function repairPrimary(draft: Draft, good: RecordView): void {
  const { primary, records } = draft.world;
  const digest = primary?.digest ?? 'unknown';
  const nobody = { commit: '', subject: '', author: '', time: '' };
  const run = begin(draft, {
    digest,
    commit: records.find((record) => record.digest === digest)?.commit ?? nobody,
    settingsKey: primary?.settingsKey ?? '',
    replicas: undefined,
    // Nobody knows: clearing the primary first is right either way.
    mountsConfig: true,
  });
  restartProgress(draft, run);
  draft.status.phase = 'Promoting';
  startRevert(draft, run, good, {
    reason: 'NotLastKnownGood',
    finding: `the primary runs ${nameOf(run)}, which never proved itself`,
    reject: false,
    control: false,
  });
}

/** Git is silent: until it was read once after a start, what was said before still holds. */
function withoutHead(draft: Draft): void {
  const { head } = draft.world;
  if (head.kind !== 'unknown') return;
  const before = draft.status.conditions?.find((condition) => condition.type === 'Ready');
  const message = draft.status.message;
  if (head.reason === 'SourceNotRead' && before && message !== undefined) {
    return note(
      draft,
      knownReason(before.reason, 'Unknown'),
      message,
      draft.status.next && { action: draft.status.next.action },
    );
  }
  const reason = knownReason(head.reason, 'Unknown');
  // Refused before anything was started: only another commit helps.
  if (reason === 'RecordTooLarge') return stall(draft, reason, head.message);
  note(draft, reason, head.message);
}
