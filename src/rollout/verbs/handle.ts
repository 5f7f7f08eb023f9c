import { annotationPrefix, canaryVerbs, unknownVerbs } from '../../api/annotations.ts';
import type { CanaryStatus } from '../../api/canary/status.ts';
import type { RolloutReason } from '../../api/reasons.ts';
import { shorten } from '../../api/text.ts';
import type { Context } from '../context.ts';
import { combine, type Effects, type Outcome, say } from '../outcome.ts';
import { type Request, requestOf } from '../requests.ts';
import type { State } from '../state.ts';
import { type Answer, VERBS } from './verbs.ts';

const MAX_MESSAGE_CHARACTERS = 256;
const MAX_UNKNOWN = 8;
const MAX_VERB_CHARACTERS = 64;

type Answers = Pick<CanaryStatus, 'handled' | 'answers'>;

/** What people asked for: `taken` where the cluster is to be observed again before anything else; `effects` are the answers. */
interface Handled {
  readonly taken: Outcome | undefined;
  readonly effects: Effects;
}

/** Handles what people asked for and was not handled yet; the first request that is taken ends the step. */
export function handleVerbs(context: Context, state: State): Handled {
  const { status } = context.world;
  let said: Effects = {};
  let answers: Answers = { handled: status.handled, answers: status.answers };
  const record = (request: Request, reason: RolloutReason, message: string, isDone: boolean): void => {
    answers = withAnswer(context, answers, request, { reason, message, isDone });
    const line = `${annotationPrefix}${request.verb}: ${shorten(message, MAX_MESSAGE_CHARACTERS)}`;
    said = combine(said, say(isDone ? 'Normal' : 'Warning', reason, line));
  };
  const unknown = unknownVerbs(context.world.canary.metadata.annotations)
    .slice(0, MAX_UNKNOWN)
    .map((verb) => verb.slice(0, MAX_VERB_CHARACTERS));
  answers = onlyOf(answers, new Set<string>([...canaryVerbs, ...unknown]));
  for (const verb of unknown)
    if (answers.handled?.[verb] !== 'unknown')
      record(
        { verb, value: 'unknown', revision: '' },
        'UnknownRequest',
        'unknown request; it is ignored',
        false,
      );
  for (const verb of canaryVerbs) {
    const request = requestOf(context, verb);
    const answer: Answer | undefined = request && VERBS[verb](context, state, request);
    if (!request || !answer) continue;
    if (answer.result === 'Refused') record(request, answer.reason, answer.message, false);
    if (answer.result === 'Done') record(request, 'Requested', answer.message, true);
    if (answer.result === 'Refused' || !answer.outcome) continue;
    return { taken: answer.outcome, effects: { ...said, status: answers } };
  }
  return { taken: undefined, effects: { ...said, status: answers } };
}

/** Keys that no version knows are said once, and forgotten with the annotation. */
function onlyOf({ handled, answers }: Answers, known: ReadonlySet<string>): Answers {
  const keep = <T>(entries: Record<string, T> | undefined) =>
    entries && Object.fromEntries(Object.entries(entries).filter(([verb]) => known.has(verb)));
  return { handled: keep(handled), answers: keep(answers) };
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
  return { handled: { ...handled, [verb]: value }, answers: { ...answers, [verb]: answer } };
}
