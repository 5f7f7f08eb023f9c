import type { Incident } from '../../../api/incident.ts';
import {
  applyCrds,
  type Condition,
  conditionOf,
  type KubernetesObject,
  objectKey,
  recordOf,
  referenceOf,
} from '../../../api/kubernetes.ts';
import { limits, shorten } from '../../../api/limits.ts';
import { type Source, type SourceStatus, sourceTimeoutMs } from '../../../api/source/source.ts';
import { soonest } from '../../../api/time.ts';
import { formatProblem } from '../../../render/rendered-object.ts';
import { failureOf } from '../../failure.ts';
import {
  asStored,
  listed,
  mergePatchOf,
  observedAt,
  withCondition,
  withoutCondition,
} from '../../status-patch.ts';
import type { SourceContext, SourceHealth, SourceState, SourceWatch } from '../context/context.ts';
import { approvalOf } from '../poll/approvals.ts';
import { isCanary } from '../scope/canary-objects.ts';
import {
  driftNews,
  healthyNews,
  type News,
  no,
  prunedNews,
  stalledAtMs,
  stalledNews,
  unknown,
  verifiedNews,
  yes,
} from './conditions.ts';
import { healthOf } from './health.ts';
import { answered, newsOfAnswers } from './requests.ts';

/** The status of a Source from what is known about it; conditions and times move only when there is news. */
function sourceStatus(
  source: Source,
  state: SourceState,
  canaries: readonly KubernetesObject[],
  nowMs: number,
): SourceStatus {
  const fetched = fetchedNews(state);
  const rendered = renderedNews(state);
  const applied = appliedNews(source, state);
  const healthy = healthyNews(state, canaries);
  const pruned = prunedNews(source, state);
  const stuck = pruned?.status === 'False' ? [pruned] : [];
  const ready = readyNews(source, state, [
    fetched,
    rendered,
    applied,
    ...stuck,
    ...(source.spec.wait ? [healthy] : []),
  ]);
  const found: Array<[string, News | undefined]> = [
    ['Ready', ready],
    ['Stalled', stalledNews(ready, state, conditionOf(source.status, 'Stalled'), nowMs)],
    ['Fetched', fetched],
    ['Verified', verifiedNews(source, state)],
    ['Rendered', rendered],
    ['Applied', applied],
    ['Healthy', healthy],
    ['Pruned', pruned],
    ['Drifted', driftNews(state, conditionOf(source.status, 'Drifted'), nowMs)],
    ['Conflicted', conflictedNews(state)],
  ];
  const at = observedAt(source);
  let conditions: Condition[] = source.status?.conditions ?? [];
  for (const [type, news] of found) {
    // A Source that waits for others has applied nothing as it is now.
    const isOld = type === 'Applied' && state.result === undefined;
    const { observedGeneration } = isOld ? (conditionOf({ conditions }, type) ?? {}) : at;
    const of = observedGeneration === undefined ? {} : { observedGeneration };
    conditions = news
      ? withCondition(conditions, { type, ...news, ...of }, nowMs)
      : withoutCondition(conditions, type);
  }
  const advanced = { ...source.status, ...at, ...progress(state, nowMs, source) };
  const { appliedCommit } = advanced;
  return {
    ...advanced,
    ...(appliedCommit ? { shortCommit: appliedCommit.slice(0, 7) } : {}),
    ...answered(source, state, nowMs),
    approval: approvalOf(source, state),
    conditions,
    // Where no alert is sent it would be a write for nothing.
    problem: source.spec.alerts?.length ? problemOf(source.status?.problem, conditions, nowMs) : undefined,
    message: shorten(ready.message, limits.messageCharacters),
  };
}

/** Writes the status when it says something new; the news becomes one event. One after the other: two that compare with the same status would tell the same news. */
export function writeSourceStatus(context: SourceContext, watch?: SourceWatch): Promise<void> {
  const { state } = context;
  const written = (state.telling ?? Promise.resolve()).then(() => writeNow(context, watch));
  state.telling = written.catch(() => undefined);
  return written;
}

/** Looks at the health of what is watched. */
async function writeNow(context: SourceContext, watch: SourceWatch | undefined): Promise<void> {
  const { parts, state } = context;
  const source = withStatusNow(context);
  if (watch) state.health = sourceHealth(source, state, watch, parts.clock.nowMs());
  const next = asStored(sourceStatus(source, state, parts.canaries(), parts.clock.nowMs()));
  const patch = mergePatchOf(source.status ?? {}, next);
  const isNotReady = conditionOf(next, 'Ready')?.status === 'False';
  state.notReadySinceMs = isNotReady ? (state.notReadySinceMs ?? parts.clock.nowMs()) : undefined;
  state.stalledAtMs = stalledAtMs(next.conditions ?? [], state);
  state.untold = undefined;
  const incident = newsOfSource(source, next, parts.clock.nowMs()) ?? owedOf(source, state);
  state.owed = undefined;
  if (!patch) {
    if (incident) parts.sourceAlerts?.tell(source, incident);
    return;
  }
  let stored: KubernetesObject;
  try {
    const { uid } = source.metadata;
    stored = await parts.cluster.patch(referenceOf(source), { metadata: { uid }, status: patch }, 'status');
  } catch (error) {
    const { reason, message, transient } = failureOf(error);
    state.untold = { reason, message, transient };
    state.owed = incident;
    parts.log.warn({ source: state.key, reason }, `could not write the status of a Source: ${message}`);
    // Nothing else would tell it: the status stays as it was.
    const unwritten = `the status of the Source cannot be written, so that it says nothing of what is done: ${message}`;
    if (!transient) parts.events.emit(source, { type: 'Warning', reason, message: unwritten });
    return;
  }
  report(context, source, { next, lost: fieldsLost(patch, next, stored), incident });
}

/** What a write of the status says that was not said before. */
function report(
  { parts, state }: SourceContext,
  source: Source,
  {
    next,
    lost,
    incident,
  }: {
    readonly next: SourceStatus;
    readonly lost: readonly string[];
    readonly incident: Incident | undefined;
  },
): void {
  if (lost.length > 0 && `${lost}` !== `${state.lost}`) {
    const message = `the installed CRD of Source dropped status fields (${lost.join(', ')}); run: ${applyCrds}`;
    parts.events.emit(source, { type: 'Warning', reason: 'SchemaOutdated', message });
  }
  state.lost = lost;
  const answers = lost.includes('answers') ? [] : newsOfAnswers(source.status, next);
  for (const news of answers) parts.events.emit(source, news);
  // What the status does not keep would be told again with each poll.
  if (incident && !lost.includes('problem')) parts.sourceAlerts?.tell(source, incident);
  const ready = conditionOf(next, 'Ready');
  const before = conditionOf(source.status, 'Ready');
  // A commit that changes nothing of a Source is no news: of a thousand in one repository, each commit is about a few.
  const isSame = before?.status === ready?.status && before?.reason === ready?.reason;
  if (!ready || (state.isRenamed && isSame)) return;
  const type = ready.status === 'True' ? 'Normal' : 'Warning';
  parts.events.emit(source, { type, reason: ready.reason, message: ready.message });
}

/** The alert of a write that the API server took after all, although its answer did not come. */
function owedOf({ status }: Source, { owed }: Pick<SourceState, 'owed'>): Incident | undefined {
  const { problem } = status ?? {};
  const isStored = problem ? owed?.time === problem.time : owed?.severity === 'info';
  return isStored ? owed : undefined;
}

/** A sync may take minutes: what was written of the status meanwhile is neither written over nor told again. */
function withStatusNow({ parts, source, state }: SourceContext): Source {
  const now = parts.source(state.key);
  if (!now || now.metadata.uid !== source.metadata.uid) return source;
  return { ...source, status: (now.status ?? {}) as SourceStatus };
}

/** What was written of the status and not stored. */
function fieldsLost(patch: object, next: SourceStatus, stored: KubernetesObject): string[] {
  const [said, kept] = [recordOf(next), recordOf(stored.status)];
  return Object.keys(patch).filter((field) => said[field] !== undefined && kept[field] === undefined);
}

function fetchedNews({ head, problem }: SourceState): News {
  if (problem?.condition === 'Fetched') return no(problem.reason, problem.message);
  if (!head) return unknown('NotRead', 'the repository has not been read yet');
  return yes('Fetched', `at ${head.commit.slice(0, 7)} ${head.subject}`);
}

function renderedNews({ snapshot, problem }: SourceState): News {
  if (problem?.condition === 'Rendered') return no(problem.reason, problem.message);
  if (!snapshot) return unknown('NotRead', 'nothing was rendered yet');
  const { problems, objects } = snapshot;
  if (problems.length === 0) return yes('Rendered', `${objects} objects`);
  return no('InvalidManifests', listed(problems.map(formatProblem)));
}

function appliedNews({ spec }: Source, { result, snapshot }: SourceState): News {
  if (spec.apply === false)
    return yes('ApplyDisabled', 'spec.apply is false: another tool applies the objects');
  if (!result || !snapshot) return unknown('NotApplied', 'nothing was applied yet');
  const { commit } = snapshot.commit;
  if (result.commit !== commit) return unknown('NotApplied', `${commit.slice(0, 7)} was not applied yet`);
  const [first] = result.failures;
  if (first) return no(first.reason, listed(result.failures.map(({ message }) => message)));
  return yes('Applied', `${result.applied} objects at ${commit.slice(0, 7)}`);
}

function conflictedNews({ result }: SourceState): News | undefined {
  const conflicts = (result?.failures ?? []).filter(({ reason }) => reason === 'Conflicted');
  if (conflicts.length === 0) return undefined;
  return yes('OtherOwner', listed(conflicts.map(({ message }) => message)));
}

function readyNews(source: Source, state: SourceState, parts: readonly News[]): News {
  if (source.spec.suspend) return no('Suspended', 'spec.suspend is set: nothing is polled or applied');
  if (state.problem?.condition === 'Ready') return no(state.problem.reason, state.problem.message);
  const failed =
    parts.find(({ status }) => status === 'False') ?? parts.find(({ status }) => status === 'Unknown');
  if (failed) return { status: failed.status, reason: failed.reason, message: failed.message };
  const commit = state.snapshot?.commit;
  return yes('Applied', `applied ${commit?.commit.slice(0, 7) ?? ''} ${commit?.subject ?? ''}`);
}

/** appliedCommit moves only when everything was applied or handed to its Canary (design section 2.2). */
function progress(state: SourceState, nowMs: number, source: Source): SourceStatus {
  const { head, snapshot, result } = state;
  const isOfSnapshot = snapshot && result?.commit === snapshot.commit.commit;
  const whole = isOfSnapshot && snapshot.problems.length === 0 && result?.failures.length === 0;
  const applied = whole && source.status?.appliedCommit !== snapshot.commit.commit;
  return {
    ...(head
      ? {
          head: {
            ...head,
            subject: shorten(head.subject, limits.subjectCharacters),
            author: shorten(head.author, 160),
          },
        }
      : {}),
    ...(snapshot ? { attemptedCommit: snapshot.commit.commit } : {}),
    ...(applied ? { appliedCommit: snapshot.commit.commit, appliedTime: new Date(nowMs).toISOString() } : {}),
    ...(snapshot ? { counts: countsOf(snapshot, state, source.status?.counts?.pruned) } : {}),
  };
}

function countsOf(
  { objects, plans }: NonNullable<SourceState['snapshot']>,
  { result, pruned }: Pick<SourceState, 'result' | 'pruned'>,
  prunedBefore: number | undefined,
) {
  const removed = pruned?.removed.length || prunedBefore;
  return {
    objects,
    applied: result?.applied ?? 0,
    failed: result?.failures.length ?? 0,
    canaries: plans.length,
    ...(removed ? { pruned: removed } : {}),
  };
}

/**
 * How the applied objects of a Source are. Undefined without `spec.wait`, or before anything is applied. Canaries are left out: a release may take hours, and what is wrong with one shows in
 * the Source's condition Healthy anyway. So are their targets, which rollouts write.
 */
function sourceHealth(
  source: Source,
  {
    inForce,
    appliedMs,
    health: before,
    result,
  }: Pick<SourceState, 'inForce' | 'appliedMs' | 'health' | 'result'>,
  watched: Pick<SourceWatch, 'setOf' | 'notListed'>,
  nowMs: number,
): SourceHealth | undefined {
  if (source.spec.wait !== true || !inForce) return undefined;
  const objects = inForce.effective.rest.map(({ object }) => object).filter((object) => !isCanary(object));
  const refused = new Set(result?.failures.map(({ object }) => objectKey(object)));
  const absenceOf = (object: KubernetesObject, isSeen: boolean) => {
    if (refused.has(objectKey(object))) return 'is not applied';
    const unseen = isSeen ? undefined : watched.notListed();
    return unseen === undefined ? undefined : `is not known: ${unseen}`;
  };
  const found = objects.map((object) => {
    const { namespace, name } = object.metadata;
    const set = watched.setOf(object);
    const health = healthOf(object, set?.get(namespace, name), absenceOf(object, set !== undefined));
    return { key: objectKey(object), health };
  });
  const reasonsOf = (kind: 'failed' | 'progressing') =>
    found.flatMap(({ health }) => (health.kind === kind ? [health.why] : []));
  // An object that has worked, as a Deployment that is scaled up or whose node is drained, has the whole time again.
  const sinceMs = new Map(
    found
      .filter(({ health }) => health.kind === 'progressing')
      .map(({ key }) => [key, before?.sinceMs.get(key) ?? nowMs]),
  );
  const timeoutMs = sourceTimeoutMs(source);
  const dueTimes = [...sinceMs.values()].map((fromMs) => Math.max(appliedMs ?? nowMs, fromMs) + timeoutMs);
  return {
    objects: objects.length,
    failed: reasonsOf('failed'),
    progressing: reasonsOf('progressing'),
    sinceMs,
    isLate: dueTimes.some((dueMs) => nowMs >= dueMs),
    nextDueMs: soonest(...dueTimes.filter((dueMs) => nowMs < dueMs)),
  };
}

// The alerts of a Source: that it cannot be fetched, rendered or applied, once per change, and that it can again.

/** Not worth an alert: it is intended, or another alert comes first. */
const expected: ReadonlySet<string> = new Set(['Suspended', 'DependencyNotReady', 'CanaryRejected']);
/** A Git server that is down fails now in one way, now in the other. */
const unanswered: ReadonlySet<string> = new Set(['Unreachable', 'Timeout']);
/** A server that does not answer once is no news. */
const patienceMs = 60_000;

/**
 * The problem that people know of, for the status: the one before until there is another one or the Source is Ready again. What a server does not
 * answer counts once it lasted a minute.
 */
export function problemOf(
  before: SourceStatus['problem'],
  conditions: readonly Condition[],
  nowMs: number,
): SourceStatus['problem'] {
  const ready = conditionOf({ conditions }, 'Ready');
  if (ready?.status === 'True') return undefined;
  if (ready?.status !== 'False' || expected.has(ready.reason) || before?.reason === ready.reason)
    return before;
  if (before && unanswered.has(before.reason) && unanswered.has(ready.reason)) return before;
  const fetched = conditionOf({ conditions }, 'Fetched');
  const sinceMs = Date.parse(fetched?.lastTransitionTime ?? '');
  // A time far ahead is of a leader whose clock was.
  const isYoung = fetched?.status === 'False' && Math.abs(nowMs - sinceMs) < patienceMs;
  return isYoung ? before : { reason: ready.reason, time: new Date(nowMs).toISOString() };
}

/** The news in a change of the status; undefined: none. */
export function newsOfSource(source: Source, next: SourceStatus, nowMs: number): Incident | undefined {
  const before = source.status?.problem;
  const { problem, head } = next;
  if (before?.reason === problem?.reason) return undefined;
  const ready = conditionOf(next, 'Ready');
  const time = problem?.time ?? new Date(nowMs).toISOString();
  const about = {
    key: `source ${problem?.reason ?? 'Ready'} ${time}`,
    time,
    commit: head?.commit ?? '',
    ...(head?.author ? { author: head.author } : {}),
    ...(head?.subject ? { subject: head.subject } : {}),
  };
  const { namespace, name } = source.metadata;
  const who = `Source ${namespace}/${name}`;
  if (!problem)
    return {
      ...about,
      outcome: 'Succeeded',
      severity: 'info',
      reason: 'Applied',
      message: `${who} is Ready again: ${shorten(ready?.message ?? '', 400)}`,
    };
  return {
    ...about,
    outcome: 'Failed',
    severity: 'error',
    reason: problem.reason,
    message: `${who}: ${shorten(ready?.message ?? problem.reason, 450)}`,
    next: { action: 'Holdfast tries again by itself' },
    stays: 'what was applied before stays, and is still reconciled',
    command: `kubectl -n ${namespace} describe source ${name}`,
  };
}
