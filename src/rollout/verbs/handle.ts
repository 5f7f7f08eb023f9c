import {
  annotationPrefix,
  canaryVerbs,
  isWrongPause,
  pauseAnnotation,
  unknownVerbs,
} from '../../api/annotations.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import { shorten } from '../../api/limits.ts';
import type { RolloutReason } from '../../api/reasons.ts';
import type { Context } from '../context.ts';
import { combine, type Effects, emit } from '../outcome.ts';
import { type Request, requestOf } from '../requests.ts';
import type { Outcome, State } from '../state.ts';
import { LET_THROUGH, letThrough } from '../windows.ts';
import { type Answer, VERBS } from './verbs.ts';

const MAX_MESSAGE_CHARACTERS = 256;
const MAX_UNKNOWN = 8;
const MAX_VERB_CHARACTERS = 64;

type Answers = Pick<CanaryStatus, 'handled' | 'answers'>;

/**
 * A Canary without a status was created a moment ago, maybe again or from a backup: what it was asked for before must not be carried out twice,
 * and `status.handled` no longer tells.
 */
const OLDER: Answer = {
  result: 'Refused',
  reason: 'NotApplicable',
  message:
    'the Canary was created with this request, which may be an old one; to repeat it, request it again',
};

/** Handled requests: `effects` are the answers; `taken` is the outcome of one after which the cluster is observed again. */
interface Handled {
  readonly taken: Outcome | undefined;
  readonly effects: Effects;
}

/** Handles requests by annotation that were not handled yet; the first one that is taken ends the step. */
export function handleVerbs(context: Context, state: State): Handled {
  const { status } = context.world;
  let events: Effects = {};
  const ignored = ignoredIn(context.world.canary.metadata.annotations);
  // What is ignored is reported once, and its answer is dropped with the annotation.
  const verbs = new Set<string>([...canaryVerbs, LET_THROUGH, ...ignored.map(({ verb }) => verb)]);
  const keep = <T>(entries: Record<string, T> | undefined) =>
    entries && Object.fromEntries(Object.entries(entries).filter(([verb]) => verbs.has(verb)));
  let answers: Answers = { handled: keep(status.handled), answers: keep(status.answers) };
  const record = (request: Request, reason: RolloutReason, message: string, isDone: boolean): void => {
    answers = withAnswer(context, answers, request, { reason, message, isDone });
    const line = `${annotationPrefix}${request.verb}: ${shorten(message, MAX_MESSAGE_CHARACTERS)}`;
    events = combine(events, emit(isDone ? 'Normal' : 'Warning', reason, line));
  };
  for (const { verb, what } of ignored)
    if (answers.handled?.[verb] !== 'unknown')
      record({ verb, value: 'unknown', revision: '' }, 'UnknownRequest', `${what}; it is ignored`, false);
  for (const verb of canaryVerbs) {
    const request = requestOf(context.world, verb);
    if (!request) continue;
    const answer = status.phase === undefined ? OLDER : VERBS[verb](context, state, request);
    if (answer.result === 'Refused') record(request, answer.reason, answer.message, false);
    if (answer.result === 'Done') record(request, 'Requested', answer.message, true);
    if (answer.result === 'Refused' || !answer.outcome) continue;
    return { taken: answer.outcome, effects: { ...events, status: answers } };
  }
  return { taken: undefined, effects: { ...events, status: answers } };
}

/** Annotations that look like requests and do nothing. */
function ignoredIn(annotations: Readonly<Record<string, string>> | undefined) {
  const unknown = unknownVerbs(annotations)
    .slice(0, MAX_UNKNOWN)
    .map((verb) => ({ verb: verb.slice(0, MAX_VERB_CHARACTERS), what: 'unknown request' }));
  const pause = { verb: 'pause', what: 'only "true" pauses' };
  return isWrongPause(annotations?.[pauseAnnotation]) ? [...unknown, pause] : unknown;
}

function withAnswer(
  { now }: Context,
  { handled, answers }: Answers,
  { verb, value }: Request,
  { reason, message, isDone }: { reason: RolloutReason; message: string; isDone: boolean },
): Answers {
  const answer = {
    result: isDone ? ('Done' as const) : ('Refused' as const),
    reason,
    message: shorten(message, MAX_MESSAGE_CHARACTERS),
    time: now,
  };
  const kept = verb === 'ignore-window' && !isDone ? letThrough({ handled, answers }) : undefined;
  const through = kept === undefined ? {} : { [LET_THROUGH]: kept };
  return { handled: { ...handled, [verb]: value, ...through }, answers: { ...answers, [verb]: answer } };
}
