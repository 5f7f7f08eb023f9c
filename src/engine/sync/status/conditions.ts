import type { CanaryStatus } from '../../../api/canary/status.ts';
import {
  type Condition,
  conditionOf,
  describe,
  type KubernetesObject,
  namespacedName,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { describeLast } from '../../corrections.ts';
import { type ConditionNews, listed } from '../../status-patch.ts';
import type { ApplyResult, PruneResult, SourceContext, SourceState } from '../context/context.ts';
import { approveCommand, hashOf } from '../poll/approvals.ts';
import type { NotPruned } from '../scope/prune-plan.ts';

/** What one condition says. */
export type News = Omit<ConditionNews, 'type'>;

/** The condition is True. */
export const yes = (reason: string, message: string): News => ({ status: 'True', reason, message });
/** It is False. */
export const no = (reason: string, message: string): News => ({ status: 'False', reason, message });
/** It is Unknown. */
export const unknown = (reason: string, message: string): News => ({ status: 'Unknown', reason, message });

/**
 * The condition Healthy: False while one of the Source's Canaries is rejected or held (design section 2.2), and with `spec.wait` until every
 * object that it applied works; Unknown as long as that may still come.
 */
export function healthyNews(
  { snapshot, health, canaries: names = new Set() }: Pick<SourceState, 'canaries' | 'snapshot' | 'health'>,
  canaries: readonly KubernetesObject[],
): News {
  if (!snapshot) return unknown('NotRead', 'the repository has not been read yet');
  const rejectedOrHeld = canaries.flatMap((canary) => {
    const { phase, postPromotion, message = '' } = (canary.status ?? {}) as CanaryStatus;
    const isHeld = phase === 'Failed' || postPromotion?.state === 'Held';
    const key = namespacedName(canary);
    return isHeld && names.has(key) ? [`Canary ${key}: ${message}`] : [];
  });
  if (rejectedOrHeld.length > 0) return no('CanaryRejected', listed(rejectedOrHeld));
  const { objects = 0, failed = [], progressing = [], isLate = false } = health ?? {};
  if (failed.length > 0) return no('Unhealthy', listed([...failed, ...progressing]));
  if (progressing.length > 0) {
    const message = listed(progressing);
    return isLate
      ? no('HealthTimeout', `not within spec.timeout: ${message}`)
      : unknown('Progressing', message);
  }
  const works = health ? `${objects} ${objects === 1 ? 'object works' : 'objects work'}; ` : '';
  const count = `${names.size} ${names.size === 1 ? 'Canary' : 'Canaries'}`;
  return yes('Healthy', `${works}${count}, none rejected or held`);
}

/** Reasons that end with what a person changes in the Source, in Git or in the cluster, beside objects that are refused for good. */
const endedByPeople: ReadonlySet<string> = new Set([
  ...['Unauthorized', 'SecretNotFound', 'NotFound', 'RefNotFound', 'Refused', 'Redirected', 'TooLarge'],
  ...['NotVerified', 'SignersUnusable', 'PathNotFound', 'InvalidManifests'],
  ...['VariablesNotFound', 'DecryptionKeyNotFound', 'DependencyCycle', 'DependencyNotFound'],
  ...['HistoryRewritten', 'PruneNeedsApproval'],
]);
/** What a Source needs may be created after it, and a push may follow soon. */
const stalledAfterMs = 300_000;

/**
 * The condition Stalled, by kstatus only there while it is True: nothing polls a Source whose spec is invalid, and others are not Ready for five
 * minutes, now for something that only a person ends.
 */
export function stalledNews(
  ready: News,
  { result, notReadySinceMs }: Pick<SourceState, 'result' | 'notReadySinceMs'>,
  before: Condition | undefined,
  nowMs: number,
): News | undefined {
  if (ready.status !== 'False') return undefined;
  const lastedMs = notReadySinceMs === undefined ? 0 : nowMs - notReadySinceMs;
  // What another process has found stays.
  const isLong = before?.status === 'True' || lastedMs >= stalledAfterMs;
  const isStalled = ready.reason === 'InvalidSpec' || (isLong && endsByPeople(ready.reason, result));
  return isStalled ? { ...ready, status: 'True' } : undefined;
}

/** When a Source with these conditions is Stalled if nothing happens; undefined: it is, or will not be. */
export function stalledAtMs(
  conditions: readonly Condition[],
  { result, notReadySinceMs }: Pick<SourceState, 'result' | 'notReadySinceMs'>,
): number | undefined {
  const ready = conditionOf({ conditions }, 'Ready');
  const waits = ready?.status === 'False' && !conditionOf({ conditions }, 'Stalled');
  return waits && notReadySinceMs !== undefined && endsByPeople(ready.reason, result)
    ? notReadySinceMs + stalledAfterMs
    : undefined;
}

function endsByPeople(reason: string, result: SourceState['result']): boolean {
  const isRefused = result?.failures.some((one) => !one.transient && one.reason === reason);
  return isRefused || endedByPeople.has(reason);
}

/** The condition Pruned; undefined where nothing is to be pruned. */
export function prunedNews(
  source: Source,
  { pruned, snapshot }: Pick<SourceState, 'pruned' | 'snapshot'>,
): News | undefined {
  if (source.spec.prune !== true || !pruned || !snapshot) return undefined;
  const { plan, failures, changed, unread } = pruned;
  if (unread !== undefined) return unknown('NotDecided', unread);
  const [failure] = failures;
  if (failure) return no(failure.reason, listed(failures.map(({ message }) => message)));
  if (plan.toApprove.length > 0) return toApprove(source, pruned, snapshot.commit.commit);
  const handedBack = plan.handBack.map((object) => ({ object, why: handingBack }));
  const going = [...plan.waiting, ...handedBack, ...changed];
  if (going.length > 0) return unknown('Pruning', listed(going.map(notPrunedText)));
  const kept = plan.kept.length > 0 ? `; kept: ${listed(plan.kept.map(notPrunedText))}` : '';
  return yes('Pruned', `objects that left Git were deleted${kept}`);
}

const handingBack = 'its target takes the traffic back first';

function toApprove(source: Source, { plan }: PruneResult, commit: string): News {
  const { guard, toApprove: objects } = plan;
  const why = guard ?? 'deleting them deletes other objects or data too';
  const gone = objects.length === 1 ? '1 object is' : `${objects.length} objects are`;
  const command = approveCommand(source, `prune:${hashOf(objects)}`);
  const message = `${gone} no longer in Git at ${commit.slice(0, 7)}, and ${why}; run ${command} to delete ${listed(objects.map(describe))}`;
  return no('PruneNeedsApproval', message);
}

function notPrunedText({ object, why }: NotPruned): string {
  return `${describe(object)}: ${why}`;
}

/**
 * The condition Drifted: True while changes of another writer stay or keep coming back, False with the last correction once they are put
 * back. What an earlier run of the program reported stays until there is something newer.
 */
export function driftNews(
  { result, drift }: Pick<SourceState, 'result' | 'drift'>,
  before: Condition | undefined,
  nowMs: number,
): News | undefined {
  const refused = (result?.failures ?? []).filter(({ reason }) => reason === 'FieldConflict');
  if (refused.length > 0) return yes('FieldConflict', listed(refused.map(({ message }) => message)));
  const contended = drift.contended(nowMs);
  if (contended.length > 0) {
    const message = `another writer keeps changing it, so it is corrected at each poll only: ${listed(contended)}`;
    return yes('Contested', message);
  }
  const last = drift.last();
  if (!last) return before && before.status === 'False' ? before : undefined;
  return no('Corrected', describeLast(last));
}

/** Condition Verified: who signed head, or why its signature does not count; none where no signature is asked for. */
export function verifiedNews(
  { spec }: Source,
  { head, problem, signer }: Pick<SourceState, 'head' | 'problem' | 'signer'>,
): News | undefined {
  if (!spec.verify) return undefined;
  if (problem?.reason === 'NotVerified' || problem?.reason === 'SignersUnusable')
    return no(problem.reason, problem.message);
  if (!head || signer === undefined) return unknown('NotRead', 'no signature was verified yet');
  return yes('Verified', `${head.commit.slice(0, 7)} is signed by ${signer}`);
}

/** Who else wrote what Git says: an event each time, and what was put back is counted. */
export function reportOtherWriters(
  { parts, source, state }: SourceContext,
  { drift, taken }: Pick<ApplyResult, 'drift' | 'taken'>,
): void {
  state.drift.note(drift, parts.clock.nowMs());
  if (drift.length > 0) {
    parts.onDrift?.(state.key, drift.length);
    const message = `corrected to what Git says: ${listed(drift.map((one) => one.message))}`;
    parts.events.emit(source, { type: 'Warning', reason: 'DriftCorrected', message });
  }
  if (taken.length === 0) return;
  const message = `fields written by others are now as in Git: ${listed(taken)}`;
  parts.events.emit(source, { type: 'Normal', reason: 'FieldsTaken', message });
}
