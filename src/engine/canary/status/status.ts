import { packStatus, unpackStatus, withShortCommit } from '../../../api/canary/bookkeeping.ts';
import type { Canary } from '../../../api/canary/canary.ts';
import { type CanaryStatus, withoutSpecInForce, writtenCondition } from '../../../api/canary/status.ts';
import { applyCrds, type Condition, conditionOf, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import { limits, shorten } from '../../../api/limits.ts';
import type { EventNews } from '../../../contracts/cluster.ts';
import { EngineError, type Failure } from '../../failure.ts';
import {
  asStored,
  type ConditionNews,
  mergePatchOf,
  observedAt,
  withCondition,
  withoutCondition,
} from '../../status-patch.ts';
import { foreignControllerCondition } from '../context/flagger-watch.ts';
import type { ReadParts } from '../context/observation.ts';
import { isReverted, reproducedCondition, withRemainingChanges } from '../context/reproduction.ts';
import { newNotices, withNotices } from './spec-notices.ts';

/**
 * Writes a Canary's status in one merge patch, over exactly the version that was observed. Nothing is sent when nothing differs; true when
 * it was written. Throws a conflict when the Canary changed meanwhile, and
 * EngineError SchemaOutdated when the server did not keep what was sent.
 */
export async function writeStatus(
  parts: Pick<ReadParts, 'cluster'>,
  canary: Canary,
  status: CanaryStatus,
): Promise<Canary | undefined> {
  const { storedStatus = canary.status ?? {} } = canary;
  // An object that could not be parsed comes as it is stored. Packing takes longer than comparing, and most rounds change nothing.
  const wanted = asStored(withShortCommit(unpackStatus(status)));
  if (!mergePatchOf(unpackStatus(canary.status ?? {}), wanted)) return undefined;
  const packed = asStored(packStatus(wanted));
  const patch = mergePatchOf(storedStatus, packed);
  const body = { metadata: versionOf(canary), status: patch };
  const written = await parts.cluster.patch(referenceOf(canary), body, 'status');
  const lost = mergePatchOf((written.status ?? {}) as object, packed);
  // A CRD without our fields drops them; to go on would mean to decide on an incomplete status.
  if (lost)
    throw new EngineError(
      'SchemaOutdated',
      `the installed CRD of Canary dropped status fields (${Object.keys(lost).join(', ')}); run: ${applyCrds}`,
    );
  return { ...canary, metadata: written.metadata, status: wanted, storedStatus: packed };
}

/** What the engine itself knows about a Canary. */
export interface EngineFindings {
  /** What is to be reported about the spec. */
  readonly notices?: readonly ConditionNews[] | undefined;
  /** What stands in the way. */
  readonly failure?: Failure | undefined;
  /** How Git compares with the record after a revert. */
  readonly reproduced?: ConditionNews | undefined;
  /** What else differs from the last-known-good's commit, and stays. */
  readonly others?: readonly string[] | undefined;
  /** What of it is in Git. */
  readonly written?: ConditionNews | 'absent' | undefined;
  /** The conditions are those of a decision of this round, not those of the status that was read. */
  readonly isDecided?: boolean;
  readonly nowMs: number;
}

/** The status with what the engine itself knows: notices about the spec, failures, and the comparison after a revert. */
export function withEngineConditions(
  canary: Canary,
  status: CanaryStatus,
  { notices = [], failure, reproduced, others, written, isDecided = false, nowMs }: EngineFindings,
): CanaryStatus {
  let conditions: readonly Condition[] = withNotices(status.conditions ?? [], notices, nowMs);
  const at = observedAt(canary);
  if (reproduced) conditions = withCondition(conditions, { ...reproduced, ...at }, nowMs);
  else if (!isReverted(status)) conditions = withoutCondition(conditions, reproducedCondition);
  if (others) conditions = withRemainingChanges([...conditions], others, nowMs);
  conditions = withoutCondition(conditions, foreignControllerCondition);
  if (written === 'absent') conditions = withoutCondition(conditions, writtenCondition);
  else if (written) conditions = withCondition(conditions, { ...written, ...at }, nowMs);
  const found = conditions === status.conditions ? status : { ...status, conditions: [...conditions] };
  return failure ? withFailure(canary, found, { failure, isDecided, nowMs }) : found;
}

/** With a failure in the place of the core's Ready and Stalled, and of its line where that would say what goes on. */
function withFailure(
  canary: Canary,
  status: CanaryStatus,
  { failure, isDecided, nowMs }: { failure: Failure; isDecided: boolean; nowMs: number },
): CanaryStatus {
  const { conditions = [] } = status;
  // A failure does not answer what a person was called for: were Stalled False meanwhile, each look would call again.
  const isCalled = conditionOf(status, 'Stalled')?.status === 'True' && (isDecided || failure.transient);
  const over = { failure, live: canary.status?.conditions, at: observedAt(canary), isCalled };
  const reported = {
    ...(isCalled ? status : withLine(status, failure)),
    conditions: failedConditions(conditions, over, nowMs),
  };
  const { lastTransitionTime } = canary.status ?? {};
  if (lastTransitionTime === undefined) return reported;
  // The core gave other conditions than those of the failure, so that it found a transition each time: where nothing else is new, its time stays.
  const unmoved = { ...reported, lastTransitionTime };
  return mergePatchOf(withoutSpecInForce(canary.status ?? {}), unmoved) === undefined ? unmoved : reported;
}

/** What would go on otherwise is not said where it does not. */
function withLine(status: CanaryStatus, { line, transient }: Failure): CanaryStatus {
  if (line === undefined) return status;
  const { next: _, ...rest } = status;
  const next = transient ? { next: { action: 'what failed is tried again' } } : {};
  return { ...rest, ...next, message: shorten(line, limits.messageCharacters) };
}

function failedConditions(
  before: readonly Condition[],
  { failure, live, at, isCalled }: FailureOver,
  nowMs: number,
): Condition[] {
  const { reason, message, transient } = failure;
  const ready = { type: 'Ready', status: 'False' as const, reason, message, ...at };
  const stalled = { ...ready, type: 'Stalled', status: transient ? ('False' as const) : ('True' as const) };
  // For kstatus what is Reconciling is not stalled.
  const isReconciling = conditionOf({ conditions: before }, 'Reconciling')?.status === 'True';
  const stopped = !transient && isReconciling ? [{ ...ready, type: 'Reconciling' }] : [];
  return [ready, ...(isCalled ? [] : [stalled]), ...stopped].reduce<Condition[]>(
    (conditions, news) => {
      const now = conditionOf({ conditions: live }, news.type);
      const others = now ? conditions.map((one) => (one.type === news.type ? now : one)) : conditions;
      return withCondition(others, news, nowMs);
    },
    [...before],
  );
}

/** A failure to report in place of the core's Ready and Stalled; `live`: the conditions that the status has now. */
interface FailureOver {
  readonly failure: Failure;
  readonly at: { readonly observedGeneration?: number };
  readonly live: readonly Condition[] | undefined;
  /** A person was called for something else. */
  readonly isCalled: boolean;
}

/**
 * New notices about the spec, the decision's events, and one Event where the Canary is Stalled and none of them says so. A failed release was
 * reported already.
 */
export function newsOf(
  before: CanaryStatus | undefined,
  after: CanaryStatus,
  events: readonly EventNews[],
): EventNews[] {
  const news = [...newNotices(before, after), ...events];
  const stalled = conditionOf(after, 'Stalled');
  const known = conditionOf(before, 'Stalled');
  if (stalled?.status !== 'True' || after.phase === 'Failed') return news;
  const { reason, message } = stalled;
  const isKnown = known?.status === 'True' && known.reason === reason;
  if (isKnown || events.some((event) => event.reason === reason)) return news;
  return [...news, { type: 'Warning', reason, message }];
}

/** The conditions report exactly this already. */
export function isReported(status: CanaryStatus | undefined, { reason, message }: Failure): boolean {
  const ready = conditionOf(status, 'Ready');
  return ready?.reason === reason && ready.message !== '' && message.startsWith(ready.message);
}
