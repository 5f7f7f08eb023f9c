/** What people ask a Source for by annotation: handled once, with an answer in the status (design section 2.3). */
import { annotationPrefix, approveAnnotation, syncAnnotation } from '../../../api/annotations.ts';
import type { RequestAnswer } from '../../../api/canary/status.ts';
import type { Source } from '../../../api/source/source.ts';
import type { SourceStatus } from '../../../api/source/status.ts';
import type { News } from '../../status-patch.ts';
import type { SourceRequests, SourceState } from '../context/context.ts';

/** Longest request that the status can hold. */
const handledCharacters = 512;

type Verb = keyof SourceRequests;

/** What the annotations ask for now. */
export function requestsOf({ metadata }: Source): SourceRequests {
  const { annotations = {} } = metadata;
  return {
    sync: annotations[syncAnnotation]?.slice(0, handledCharacters),
    approve: annotations[approveAnnotation]?.slice(0, handledCharacters),
  };
}

/** The answers to requests that were not answered before, and the requests as handled. */
export function answered(
  { status }: Source,
  state: Pick<SourceState, 'requests' | 'head' | 'snapshot'>,
  nowMs: number,
): Pick<SourceStatus, 'handled' | 'answers'> {
  const { requests = {} } = state;
  let { handled, answers } = status ?? {};
  for (const verb of ['sync', 'approve'] as const) {
    const value = requests[verb];
    if (value === undefined || handled?.[verb] === value) continue;
    handled = { ...handled, [verb]: value };
    const answer = answerTo(verb, value, state);
    answers = { ...answers, [verb]: { ...answer, time: new Date(nowMs).toISOString() } };
  }
  return { ...(handled ? { handled } : {}), ...(answers ? { answers } : {}) };
}

/** News of the answers that a status has and the one before had not. */
export function newsOfAnswers(before: SourceStatus | undefined, next: SourceStatus): News[] {
  return Object.entries(next.answers ?? {}).flatMap(([verb, { result, reason, message, time }]) => {
    if (before?.answers?.[verb]?.time === time) return [];
    const type = result === 'Done' ? ('Normal' as const) : ('Warning' as const);
    return [{ type, reason, message: `${annotationPrefix}${verb}: ${message}` }];
  });
}

function answerTo(
  verb: Verb,
  value: string,
  { head, snapshot }: Pick<SourceState, 'head' | 'snapshot'>,
): Omit<RequestAnswer, 'time'> {
  if (verb === 'sync') {
    const at = head ? `at ${head.commit.slice(0, 7)}` : 'it could not be read';
    return { result: 'Done', reason: 'Requested', message: `polled Git: ${at}` };
  }
  const commit = value.split('@')[0] ?? '';
  if ([head?.commit, snapshot?.commit.commit].includes(commit))
    return { result: 'Done', reason: 'Requested', message: `approved ${commit.slice(0, 7)}` };
  const there = head ? `head is ${head.commit}` : 'nothing was read yet';
  return {
    result: 'Refused',
    reason: 'Stale',
    message: `${commit.slice(0, 40)} does not wait for approval: ${there}`,
  };
}
