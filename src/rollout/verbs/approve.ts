import { note } from '../draft.ts';
import { nameOf } from '../phases/admit.ts';
import { names } from '../verbs.ts';
import { done, notApplicable, stale, type Verb } from './answer.ts';
import { stageOf } from './stage.ts';

/** Opens the gate a release waits at: phase Waiting or WaitingPromotion, each by a request of its own. */
export const approve: Verb = (draft, request) => {
  const { phase } = draft.status;
  const stage = stageOf(draft);
  if (stage.kind !== 'trying' || (phase !== 'Waiting' && phase !== 'WaitingPromotion'))
    return notApplicable('nothing waits for an approval');
  const { run } = stage;
  if (!names(request, run)) return stale(request, `${nameOf(run)} waits`);
  if (run.awaitsWindow && !run.awaitsConfirmation)
    return notApplicable(`${nameOf(run)} waits for its window, which ignore-window opens`);
  run.approved = [...new Set([...(run.approved ?? []), phase])];
  const message = `${nameOf(run)} was approved`;
  note(draft, 'Requested', message);
  return done(message);
};
