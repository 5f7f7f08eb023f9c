import { note } from '../draft.ts';
import { nameOf } from '../phases/admit.ts';
import type { Run } from '../run.ts';
import { names } from '../verbs.ts';
import { done, notApplicable, stale, type Verb } from './answer.ts';
import { stageOf } from './stage.ts';

/**
 * Progressing and Waiting promote as soon as the canary is ready, without further checks; Verifying counts as good; Held keeps waiting
 * for the primary and is not reverted by itself any more. Capacity and readiness are never left out (S1, S4).
 */
export const promote: Verb = (draft, request) => {
  const stage = stageOf(draft);
  if (stage.kind === 'bootstrap') return notApplicable('the first release is promoted by itself');
  if (stage.kind === 'idle') return notApplicable('no release is under way; a rejected one needs retry');
  const { run } = stage;
  if (!names(request, run)) return stale(request, `${nameOf(run)} is under way`);
  if (stage.kind === 'leaving' || stage.kind === 'fallen')
    return notApplicable(`${nameOf(run)} is on its way out already`);
  const state = draft.status.postPromotion?.state;
  if (state === 'Converging') return notApplicable(`${nameOf(run)} is being promoted already`);
  const message = `${nameOf(run)} ${consequence(run, state)}`;
  note(draft, 'Requested', message);
  return done(message);
};

function consequence(run: Run, state: string | undefined): string {
  if (state === 'Verifying') {
    run.countsAsGood = true;
    return 'counts as good on request';
  }
  if (state === 'Held') {
    run.keepWaiting = true;
    return 'stays held until the primary is well: it is not reverted by itself';
  }
  run.promoteNow = true;
  run.approved = ['Waiting', 'WaitingPromotion'];
  return 'is promoted on request as soon as the canary is ready';
}
