/** What people ask a Source for by annotation: handled once, with an answer in the status (design section 2.3). */
import { annotationPrefix, approveAnnotation, syncAnnotation } from '../../../api/annotations.ts';
import type { RequestAnswer } from '../../../api/canary/status.ts';
import { beginningOf } from '../../../api/limits.ts';
import type { Source, SourceStatus } from '../../../api/source/source.ts';
import type { EventNews } from '../../../contracts/cluster.ts';
import type { SourceRequests, SourceState } from '../context/context.ts';
import { approvalOf, doBothWait, readRequest } from '../poll/approvals.ts';

/** Longest request that the status can hold. */
const handledCharacters = 512;

type Answering = Pick<SourceState, 'approval' | 'head' | 'problem' | 'pruned' | 'requests' | 'snapshot'>;
type Answer = Omit<RequestAnswer, 'time'>;

/** What the annotations ask for now. */
export function requestsOf({ metadata }: Source): SourceRequests {
  const { annotations = {} } = metadata;
  const [sync, approve] = [syncAnnotation, approveAnnotation].map(
    (key) => annotations[key] && beginningOf(annotations[key], handledCharacters),
  );
  return { sync, approve };
}

/** The answers to requests that were not answered before, and the requests as handled. */
export function answered(
  source: Source,
  state: Answering,
  nowMs: number,
): Pick<SourceStatus, 'handled' | 'answers'> {
  const { requests = {} } = state;
  let { handled, answers } = source.status ?? {};
  const at = state.head ? `at ${state.head.commit.slice(0, 7)}` : 'it could not be read';
  const polled: Answer = { result: 'Done', reason: 'Requested', message: `polled Git: ${at}` };
  for (const verb of ['sync', 'approve'] as const) {
    const value = requests[verb];
    if (value === undefined || handled?.[verb] === value) continue;
    handled = { ...handled, [verb]: value };
    const answer = verb === 'sync' ? polled : answerToApprove(source, value, state);
    answers = { ...answers, [verb]: { ...answer, time: new Date(nowMs).toISOString() } };
  }
  return { ...(handled ? { handled } : {}), ...(answers ? { answers } : {}) };
}

/** News of the answers that a status has and the one before had not. */
export function newsOfAnswers(before: SourceStatus | undefined, next: SourceStatus): EventNews[] {
  return Object.entries(next.answers ?? {}).flatMap(([verb, { result, reason, message, time }]) => {
    if (before?.answers?.[verb]?.time === time) return [];
    const type = result === 'Done' ? ('Normal' as const) : ('Warning' as const);
    return [{ type, reason, message: `${annotationPrefix}${verb}: ${message}` }];
  });
}

function answerToApprove(source: Source, value: string, state: Answering): Answer {
  const { head, problem, snapshot } = state;
  const done = (what: string): Answer => ({
    result: 'Done',
    reason: 'Requested',
    message: `approved ${what}`,
  });
  const opened = approvalOf(source, state);
  const { verb, hash } = readRequest(value);
  if (opened?.verb === 'rewrite') return done(`the rewritten history at ${hash.slice(0, 7)}`);
  if (opened) return done('the deletion of what is no longer in Git');
  if (!verb && doBothWait(source, state)) {
    const message = `a rewritten history and deletions wait: approve one of them by its name, as the conditions Ready and Pruned say it`;
    return { result: 'Refused', reason: 'Ambiguous', message };
  }
  if (!verb && [head?.commit, snapshot?.commit.commit].includes(hash)) return done(hash.slice(0, 7));
  const there = head ? `head is ${head.commit}` : 'nothing was read yet';
  const unread = problem?.condition === 'Fetched' ? ', and Git cannot be read at the moment' : '';
  // It names one thing, so that what it opens later is what was meant.
  const later = 'should it come to wait, it counts as approved as long as the annotation stays';
  const message = `${value.split('@')[0]?.slice(0, 50)} does not wait for approval: ${there}${unread}; ${later}`;
  return { result: 'Refused', reason: 'Stale', message };
}
