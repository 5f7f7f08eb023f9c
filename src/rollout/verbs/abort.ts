import { isLost } from '../kept.ts';
import { nameOf } from '../phases/admit.ts';
import { end } from '../phases/ending.ts';
import { startRevert } from '../phases/reverting.ts';
import { lastKnownGood, type Run } from '../run.ts';
import { names } from '../verbs.ts';
import { done, notApplicable, notKept, stale, type Verb } from './answer.ts';
import { stageOf } from './stage.ts';

/** Ends the release under way and rejects it: before the first write to the primary it fails, after it the primary goes back. */
export const abort: Verb = (draft, request) => {
  const stage = stageOf(draft);
  const good = lastKnownGood(draft.world);
  if (stage.kind === 'bootstrap' || !good) return notApplicable('there is no release to go back to yet');
  if (stage.kind === 'idle') return notApplicable('no release is under way');
  const { run } = stage;
  if (!names(request, run)) return stale(request, `${nameOf(run)} is under way`);
  if (stage.kind === 'leaving') return notApplicable(`${nameOf(run)} is on its way out already`);
  if (stage.kind === 'fallen') return notApplicable(`${nameOf(run)} was taken back already`);
  const message = `${nameOf(run)} was aborted on request`;
  if (stage.kind === 'written' && isLost(good)) return notKept(good);
  if (stage.kind === 'written') {
    const cause = { reason: 'Aborted' as const, finding: 'aborted on request', reject: true, control: false };
    startRevert(draft, run, good, cause);
  } else stop(run);
  return done(message);

  function stop(trying: Run): void {
    delete draft.status.postPromotion;
    draft.status.phase = 'Progressing';
    end(draft, trying, { phase: 'Failed', reason: 'Aborted', message }, 'Aborted');
  }
};
