import type { RolloutReason } from '../../api/reasons.ts';
import { annotationPrefix, type CanaryVerb, canaryVerbs, unknownVerbs } from '../../api/verbs.ts';
import { type Draft, now, say } from '../draft.ts';
import { shorten } from '../units.ts';
import { type Request, requestOf } from '../verbs.ts';
import { abort } from './abort.ts';
import type { Verb } from './answer.ts';
import { approve } from './approve.ts';
import { ignoreWindow } from './ignore-window.ts';
import { promote } from './promote.ts';
import { retry } from './retry.ts';
import { rollbackTo } from './rollback-to.ts';
import { skipStep } from './skip-step.ts';

const TABLE: Readonly<Record<CanaryVerb, Verb>> = {
  abort,
  'rollback-to': rollbackTo,
  retry,
  approve,
  promote,
  'skip-step': skipStep,
  'ignore-window': ignoreWindow,
};

const MAX_MESSAGE_CHARACTERS = 256;
const MAX_UNKNOWN = 8;
const MAX_VERB_CHARACTERS = 64;

/** Handles what people asked for and was not handled yet. True when the draft holds what follows: the cluster is observed again first. */
export function handleVerbs(draft: Draft): boolean {
  warnOfUnknown(draft);
  return canaryVerbs.some((verb) => {
    const request = requestOf(draft, verb);
    return request !== undefined && handle(draft, request, TABLE[verb]);
  });
}

function handle(draft: Draft, request: Request, verb: Verb): boolean {
  const answer = verb(draft, request);
  if (answer.result === 'Later') return answer.acted;
  const isDone = answer.result === 'Done';
  record(draft, request, { ...answer, reason: isDone ? 'Requested' : answer.reason });
  return isDone;
}

/** A key of ours that no version knows is spelt wrong: said once, and forgotten with the annotation. */
function warnOfUnknown(draft: Draft): void {
  const found = unknownVerbs(draft.world.canary.metadata.annotations).slice(0, MAX_UNKNOWN);
  const verbs = found.map((verb) => verb.slice(0, MAX_VERB_CHARACTERS));
  forgetOthers(draft, new Set<string>([...canaryVerbs, ...verbs]));
  for (const verb of verbs) {
    const value = 'unknown';
    if (draft.status.handled?.[verb] === value) continue;
    const message = 'there is no such request; it is ignored';
    record(draft, { verb, value, revision: '' }, { result: 'Refused', reason: 'UnknownRequest', message });
  }
}

function forgetOthers(draft: Draft, known: ReadonlySet<string>): void {
  const { handled, answers } = draft.status;
  const keep = <T>(entries: Record<string, T> | undefined) =>
    entries && Object.fromEntries(Object.entries(entries).filter(([verb]) => known.has(verb)));
  if (handled) draft.status.handled = keep(handled);
  if (answers) draft.status.answers = keep(answers);
}

function record(
  draft: Draft,
  { verb, value }: Request,
  answer: { result: 'Done' | 'Refused'; reason: RolloutReason; message: string },
): void {
  const { result, reason } = answer;
  const message = shorten(answer.message, MAX_MESSAGE_CHARACTERS);
  draft.status.handled = { ...draft.status.handled, [verb]: value };
  draft.status.answers = {
    ...draft.status.answers,
    [verb]: { result, reason, message, time: now(draft) },
  };
  say(draft, result === 'Done' ? 'Normal' : 'Warning', reason, `${annotationPrefix}${verb}: ${message}`);
}
