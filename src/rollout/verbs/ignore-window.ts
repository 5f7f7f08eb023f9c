import { note } from '../draft.ts';
import { describe } from '../phases/admit.ts';
import { headRelease } from '../run.ts';
import { names } from '../verbs.ts';
import { isKeptOut } from '../windows.ts';
import { done, notApplicable, stale, type Verb } from './answer.ts';

/** Lets the revision at head start although its window is closed; the next one waits again (design section 2.3). */
export const ignoreWindow: Verb = (draft, request) => {
  const head = headRelease(draft.world);
  const release = head && { digest: head.digest, commit: head.commit.commit };
  if (!head || !release || !isKeptOut(draft, release)) return notApplicable('no window holds it back');
  const { run } = draft;
  const isMeant = names(request, release) || (run?.digest === head.digest && names(request, run));
  if (!isMeant) return stale(request, `${describe(head)} waits`);
  const message = `${describe(head)} starts on request, outside its window`;
  note(draft, 'Requested', message);
  return done(message);
};
