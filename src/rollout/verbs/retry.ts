import { act, type Draft, note } from '../draft.ts';
import { admit, describe } from '../phases/admit.ts';
import { throughThePrimary } from '../phases/fallen.ts';
import { headRelease, isRejected } from '../run.ts';
import { names, type Request } from '../verbs.ts';
import type { ReleaseView } from '../world.ts';
import { done, notApplicable, stale, type Verb } from './answer.ts';
import { stageOf } from './stage.ts';

/**
 * Lifts the rejection of head, so that it is tried again (S14). Where the last-known-good fell too, nothing else would start it: the cause
 * was elsewhere, and no new commit is needed (design section 5, control).
 */
export const retry: Verb = (draft, request) => {
  const head = headRelease(draft.world);
  if (!head) return notApplicable('Git has not been read, so nothing is at head');
  if (!isMeant(draft, request, head)) return stale(request, `${describe(head)} is at head`);
  const rejected = isRejected(draft.world, head.digest);
  const stage = stageOf(draft);
  const fell = stage.kind === 'fallen' && stage.run.digest === head.digest;
  if (!rejected && !fell) return notApplicable(`${describe(head)} was not rejected`);
  if (stage.kind === 'leaving') return { result: 'Later', acted: false };
  if (rejected) act(draft, { type: 'Unreject', digest: head.digest });
  if (fell && draft.status.postPromotion?.reason === 'LKGNotReady') {
    if (!throughThePrimary(draft, head)) return { result: 'Later', acted: true };
  } else if (fell) admit(draft, head);
  const message = `${describe(head)} is tried again on request`;
  note(draft, 'Retry', message);
  return done(message);
};

/** Head itself, or the commit that was rejected: a later commit that changes nothing of the release is the same release (S14). */
function isMeant({ world }: Draft, request: Request, { digest, commit }: ReleaseView): boolean {
  const rejection = world.rejected.find((entry) => entry.digest === digest);
  return (
    names(request, { digest, commit: commit.commit }) ||
    (rejection !== undefined && names(request, { digest, commit: rejection.commit }))
  );
}
