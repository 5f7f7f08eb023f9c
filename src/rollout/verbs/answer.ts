import type { RolloutReason } from '../../api/reasons.ts';
import type { Draft } from '../draft.ts';
import { describe } from '../phases/admit.ts';
import type { Request } from '../verbs.ts';
import type { RecordView } from '../world.ts';

/** What becomes of a request. */
export type Answer =
  /** It was taken; the draft holds what follows, and the cluster is observed again. */
  | { result: 'Done'; message: string }
  /** Nothing follows, and the reason says why. */
  | { result: 'Refused'; reason: RolloutReason; message: string }
  /** Something else must end first: the request stays. `acted`: the draft holds a step towards it. */
  | { result: 'Later'; acted: boolean };

/** One verb: decides on a request, and puts what follows into the draft. */
export type Verb = (draft: Draft, request: Request) => Answer;

/** The request was taken. */
export function done(message: string): Answer {
  return { result: 'Done', message };
}

/** The request names another revision than the one it can be about. */
export function stale(request: Request, what: string): Answer {
  const named = request.revision.slice(0, 16) || 'nothing';
  return { result: 'Refused', reason: 'Stale', message: `it names ${named}, but ${what}` };
}

/** There is nothing this verb could do now. */
export function notApplicable(why: string): Answer {
  return { result: 'Refused', reason: 'NotApplicable', message: why };
}

/** The release that it would lead to cannot be had: its record is damaged (S12). */
export function notKept(record: RecordView): Answer {
  const message = `the record of release ${describe(record)} is damaged: ${record.damaged ?? ''}`;
  return { result: 'Refused', reason: 'RecordDamaged', message };
}
