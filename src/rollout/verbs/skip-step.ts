import { note, positionOf } from '../draft.ts';
import { nameOf } from '../phases/admit.ts';
import { names } from '../verbs.ts';
import { done, notApplicable, stale, type Verb } from './answer.ts';
import { stageOf } from './stage.ts';

/** Leaves the check of the current step out, once: the next share follows as soon as its pods are ready (S4). */
export const skipStep: Verb = (draft, request) => {
  const stage = stageOf(draft);
  if (stage.kind !== 'trying' || draft.status.phase !== 'Progressing')
    return notApplicable('no release is at a step');
  const { run } = stage;
  if (!names(request, run)) return stale(request, `${nameOf(run)} is at its step`);
  run.skipStepAt = positionOf(draft);
  const message = `the check of ${nameOf(run)} at this step is left out`;
  note(draft, 'Requested', message);
  return done(message);
};
