import { act, type Draft } from '../draft.ts';
import { isLost } from '../kept.ts';
import { admit, describe, nameOf } from '../phases/admit.ts';
import { end } from '../phases/ending.ts';
import { throughThePrimary } from '../phases/fallen.ts';
import { promote } from '../phases/promoting.ts';
import { startRevert } from '../phases/reverting.ts';
import { headRelease, isRejected, lastKnownGood, type Run } from '../run.ts';
import { names, type Request } from '../verbs.ts';
import type { RecordView } from '../world.ts';
import { type Answer, done, notApplicable, notKept, type Verb } from './answer.ts';
import { type Stage, stageOf } from './stage.ts';

/**
 * A kept, proven release becomes what the primary runs, by the fast lane, so that the canary shows first that it still comes up. Head's
 * digest is rejected: at once when it never proved itself, else once the other one has taken its place (the last-known-good is never lost).
 */
export const rollbackTo: Verb = (draft, request) => {
  const good = lastKnownGood(draft.world);
  const stage = stageOf(draft);
  if (stage.kind === 'bootstrap' || !good) return notApplicable('there is no release to go back to yet');
  const wanted = keptRelease(draft, request);
  if ('result' in wanted) return wanted;
  if (wanted.digest === good.digest) return backToGood(draft, stage, wanted);
  return backFurther(draft, stage, { wanted, good });
};

/** The proven record the request names; two commits may share a digest, so the newest one counts. */
function keptRelease(draft: Draft, request: Request): RecordView | Answer {
  const { world } = draft;
  const record = world.records.find(({ digest, commit }) =>
    names(request, { digest, commit: commit.commit }),
  );
  if (record?.promotedTime === undefined) {
    const message = `${request.revision.slice(0, 16) || 'nothing'} is none of the kept releases: see holdfast history`;
    return { result: 'Refused', reason: 'NotKept', message };
  }
  if (isLost(record)) return notKept(record);
  if (!isRejected(world, record.digest)) return record;
  return {
    result: 'Refused',
    reason: 'Rejected',
    message: `${describe(record)} was rejected; retry it first`,
  };
}

/** The last-known-good is asked for: the release under way ends, or nothing is to be done. */
function backToGood(draft: Draft, stage: Stage, good: RecordView): Answer {
  if (stage.kind === 'idle' && rejectsHead(draft, good)) return done(`${describe(good)} stays`);
  if (stage.kind !== 'trying' && stage.kind !== 'written')
    return notApplicable(`${describe(good)} is what the primary runs, or is on its way there`);
  leave(draft, stage, good, `${nameOf(stage.run)} gives way to ${describe(good)} on request`);
  return done(`back to ${describe(good)}`);
}

function rejectsHead(draft: Draft, good: RecordView): boolean {
  const head = headRelease(draft.world);
  if (!head || head.digest === good.digest || isRejected(draft.world, head.digest)) return false;
  act(draft, { type: 'Reject', digest: head.digest, commit: head.commit.commit, reason: 'RolledBack' });
  return true;
}

/** An older release than the last-known-good: what is under way ends first, then the older one is rolled out. */
function backFurther(
  draft: Draft,
  stage: Stage,
  { wanted, good }: { wanted: RecordView; good: RecordView },
): Answer {
  if (stage.kind === 'leaving') return { result: 'Later', acted: false };
  if (headRelease(draft.world)?.digest === wanted.digest && stage.kind !== 'written')
    return notApplicable(`${describe(wanted)} is at head: it is rolled out anyway`);
  const why = `${describe(wanted)} was asked for`;
  if (stage.kind === 'trying' || stage.kind === 'written') {
    if (stage.run.digest === wanted.digest)
      return notApplicable(`${describe(wanted)} is being rolled out already`);
    if (stage.kind === 'written' && isLost(good)) return notKept(good);
    leave(draft, stage, good, `${nameOf(stage.run)} gives way: ${why}`);
    return { result: 'Later', acted: true };
  }
  return start(draft, stage, wanted, good)
    ? done(`back to ${describe(wanted)}`)
    : { result: 'Later', acted: true };
}

/** Ends the release under way, and rejects it, since it is (or was) head's. */
function leave(
  draft: Draft,
  stage: { kind: 'trying' | 'written'; run: Run },
  good: RecordView,
  message: string,
): void {
  const { run } = stage;
  if (stage.kind === 'written') {
    return startRevert(draft, run, good, {
      reason: 'RolledBack',
      finding: message,
      reject: true,
      control: false,
    });
  }
  delete draft.status.postPromotion;
  draft.status.phase = 'Progressing';
  end(draft, run, { phase: 'Failed', reason: 'RolledBack', message }, 'RolledBack');
}

/** False while traffic is still on its way to the canary. */
function start(draft: Draft, stage: Stage, wanted: RecordView, good: RecordView): boolean {
  const head = headRelease(draft.world);
  const left = head
    ? { digest: head.digest, commit: head.commit.commit }
    : { digest: good.digest, commit: good.commit.commit };
  if (left.digest !== good.digest && left.digest !== wanted.digest && !isRejected(draft.world, left.digest)) {
    act(draft, { type: 'Reject', ...left, reason: 'RolledBack' });
  }
  const release = {
    digest: wanted.digest,
    commit: wanted.commit,
    settingsKey: '',
    replicas: undefined,
    // A record does not say: clearing the primary first is right either way.
    mountsConfig: true,
  };
  if (stage.kind === 'fallen' && draft.status.postPromotion?.reason === 'LKGNotReady') {
    return throughThePrimary(draft, release, left) !== undefined;
  }
  const run = admit(draft, release, left);
  // Another tool writes the canary: the older release cannot be shown there first.
  if (draft.world.foreignTarget) promote(draft, run);
  return true;
}
