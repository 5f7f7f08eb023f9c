/** One row of the closed table of reasons: what a word in a condition, an event or the status line means. */
interface ReasonRow {
  /** What happened. */
  meaning: string;
  /** Who answers requests meanwhile. */
  serves: string;
  /** What happens next automatically. */
  next: string;
  /** What a person can do. */
  act: string;
  /** The same while the release is held; absent: no other. */
  actWhileHeld?: string;
}

/** For rows that ask nothing of anybody. */
const nothing = 'nothing to do';

type Act = Pick<ReasonRow, 'act' | 'actWhileHeld'>;

/** One row: what happened, who serves, what happens next automatically, what a person can do. */
function row(meaning: string, serves: string, next: string, act: string | Act = nothing): ReasonRow {
  return { meaning, serves, next, ...(typeof act === 'string' ? { act } : act) };
}

/** A release that is held was not rejected: to retry it is refused. */
function orRetry(act: string): Act {
  return { act: `${act}, or retry`, actWhileHeld: act };
}

/**
 * Every reason the rollout gives (design section 2.3). docs/reasons.md is made from it; the core cannot use a word that is not here.
 */
export const rolloutReasons = {
  // Reasons up to the end of the analysis, in the order a release meets them.
  SourceNotRead: row(
    'Git has not been read since the start, or another Source of the repository has yet to read a commit',
    'as before',
    'continues when the Source is read',
    'look at the Source if it lasts',
  ),
  InvalidManifests: row(
    'the release at head cannot be started: a file is invalid, or the workload and its Canary do not match',
    'as before',
    'continues when it is fixed',
    'fix what the message names; holdfast validate finds it before a merge',
  ),
  NoSource: row(
    'no Source contains its target any more',
    'as before',
    'nothing',
    'add the workload to a Source, or let another tool apply it',
  ),
  TargetMissing: row(
    'the workload of spec.targetRef is neither in a Source nor in the cluster',
    'as before',
    'continues when it exists',
    'commit the workload, or delete the Canary',
  ),
  Unknown: row(
    'the desired state in Git is unknown',
    'as before',
    'continues when the Source is read',
    'look at the Source',
  ),
  Initializing: row(
    'the first release is started on the primary',
    'what served before',
    'Initialized once the primary is ready',
  ),
  Initialized: row('the first release is good and recorded', 'primary', 'the next commit is rolled out'),
  NewRevision: row('a new release was started on the canary', 'primary', 'analysis once the canary is ready'),
  CanaryNotReady: row(
    'pods of the canary are not ready',
    'primary, or both by the last step',
    'fails at progressDeadlineSeconds',
    'look at the pods of the target',
  ),
  RouteNotAccepted: row(
    'the gateway has not accepted the route',
    'as before',
    'continues when it is accepted',
    'look at the route and its controller',
  ),
  Progressing: row(
    'the release goes through its steps and checks',
    'both, by weight',
    'the next check after the interval',
  ),
  WeightAdvanced: row(
    'a passed check raised the weight',
    'both, by weight',
    'the next check after the interval',
  ),
  IterationAdvanced: row(
    'a passed check, A/B or blue/green',
    'by match, or primary',
    'the next check after the interval',
  ),
  WaitingForCapacity: row(
    'the canary, or in the promotion the primary, has too few ready pods for the next share',
    'both, by the last step',
    'continues when the pods are ready; `Stalled` once they were missing for the whole progress deadline',
    'check quota, scheduling and the autoscaler if it lasts',
  ),
  PrimaryNotReady: row(
    'pods of the primary are not ready',
    'the side that is ready',
    'continues when the pods are ready; after promotion: hold or revert',
    'look at the pods of the primary',
  ),
  CheckFailed: row(
    'a check failed; the threshold is not reached yet',
    'both, by the last step',
    'checked again after the interval',
    'look at the finding',
  ),
  NoData: row(
    'a check had no answer; it counts neither as passed nor as failed',
    'both, by the last step',
    'checked again after the interval',
    'look at the metric provider',
  ),
  AnalysisRestarted: row(
    'steps, strategy, metrics or match changed in the spec',
    'primary',
    'the analysis starts at 0 %, or at its present share if the primary cannot take the traffic back',
  ),
  StepsDoNotAdvance: row(
    'spec.analysis has no further step',
    'both, by the last step',
    'nothing',
    'change spec.analysis',
  ),
  Paused: row('holdfast.dev/pause is "true"', 'both, by the last step', 'nothing', 'remove the annotation'),
  Frozen: row(
    'a freeze covers the Canary: no release starts, takes a step or is promoted',
    'as before, or both by the last step',
    'continues when the freeze ends; reverts are never frozen',
    'wait, or see holdfast unfreeze and holdfast ignore-window',
  ),
  Suspended: row('spec.suspend is true', 'as it was', 'nothing', 'set spec.suspend to false'),
  Retry: row('a rejection was lifted on request', 'primary', 'a new rollout of head'),
  Requested: row('a request was accepted', 'as before', 'the request is carried out'),
  Stale: row(
    'a request names another revision than the current one',
    'as before',
    'nothing',
    'repeat it with the commit that the message names',
  ),
  NotApplicable: row('a request cannot be carried out now', 'as before', 'nothing', 'see the message'),
  NotKept: row(
    'a request names a release that has no record',
    'as before',
    'nothing',
    'choose a release from holdfast history',
  ),
  UnknownRequest: row(
    'a holdfast.dev annotation that is unknown, or a pause that is not "true"',
    'as before',
    'nothing',
    'check its spelling',
  ),
  Aborted: row(
    'the release was aborted on request',
    'primary with the last-known-good',
    'nothing; the digest is rejected',
    orRetry('fix or revert it in Git'),
  ),
  RolledBack: row(
    'a rollback to an older release was requested',
    'primary with that release',
    'nothing; the release at head is rejected',
    orRetry('revert it in Git'),
  ),
  AnalysisFailed: row(
    'the failed checks reached the threshold',
    'primary',
    'nothing; the digest is rejected',
    orRetry('fix or revert it in Git'),
  ),
  ProgressDeadlineExceeded: row(
    'the canary made no progress in time',
    'primary',
    'nothing; the digest is rejected',
    orRetry('fix or revert it in Git'),
  ),
  CapacityNotReached: row(
    'the canary never had enough ready pods for all traffic',
    'primary',
    'nothing; the digest is rejected',
    'add capacity, then retry',
  ),
  Rejected: row(
    'head is a release that failed before',
    'primary with the last-known-good',
    'nothing',
    orRetry('fix or revert it in Git'),
  ),
  // Reasons of webhooks and gates.
  Waiting: row(
    'a gate (confirm-rollout) keeps the release from starting',
    'primary',
    'starts when the gate opens',
    'open the gate, approve, or revert it in Git',
  ),
  WaitingForTrafficIncrease: row(
    'a gate (confirm-traffic-increase) keeps the weight where it is',
    'both, by the last step',
    'the next step when the gate opens; checks go on',
    'open the gate, or revert it in Git',
  ),
  WaitingPromotion: row(
    'a gate (confirm-promotion) keeps the release from being promoted',
    'both, by the last step',
    'promotion when the gate opens; checks go on',
    'open the gate, approve, or revert it in Git',
  ),
  GateOpened: row('a closed gate opened', 'as before', 'the release continues'),
  GateSwitched: row('a gate that Holdfast serves was opened or closed', 'as before', 'the release continues'),
  DashboardRequest: row(
    'a request was made on the dashboard',
    'as before',
    'the request is carried out, or refused with the reason',
  ),
  GateDeadlineExceeded: row(
    'a gate stayed closed beyond its deadline',
    'primary',
    'nothing; the digest is rejected',
    'open the gate, then retry',
  ),
  PreRolloutPassed: row('webhooks of type pre-rollout approved', 'primary', 'the first step'),
  RolledBackByWebhook: row(
    'a webhook of type rollback approved',
    'primary with the last-known-good',
    'nothing; the digest is rejected',
    orRetry('fix or revert it in Git'),
  ),
  PostRolloutPassed: row('webhooks of type post-rollout approved', 'as before', 'nothing'),
  PostRolloutFailed: row(
    'a webhook of type post-rollout did not approve; the release is not affected',
    'as before',
    'nothing',
    'look at the webhook',
  ),
  // Reasons of the windows of a Source.
  WaitingForWindow: row(
    'a window of the Source keeps the release from starting',
    'primary',
    'starts when the window opens, see status.next',
    'wait, use ignore-window, or revert it in Git',
  ),
  WindowOpened: row('the window opened, or ignore-window was requested', 'primary', 'the rollout'),
  // Reasons from promotion on, in the order a release meets them.
  SavingRecord: row(
    'the releases are recorded before the primary is written',
    'both, by the last step',
    'promotion',
  ),
  Clearing: row(
    'traffic moves off the primary before it is written',
    'canary, as far as its pods can carry it',
    'promotion',
  ),
  Promoting: row(
    'the release is written to the primary',
    'both, by the last step',
    'traffic moves once the primary is ready',
  ),
  Converging: row(
    'the primary is rolling out the release',
    'both, or the canary',
    'traffic moves once the primary is ready',
  ),
  TrafficShifted: row(
    'traffic moves to the primary',
    'both, by weight',
    'verification once all of it is there',
  ),
  Verifying: row(
    'checks after promotion are running',
    'primary',
    'good after successThreshold passes in a row',
  ),
  ChecksUnavailable: row(
    'checks after promotion have no answer',
    'primary',
    'checked again; never reverted for this',
    'look at the metric provider',
  ),
  PrimaryUnhealthy: row(
    'the serving primary lost readiness',
    'the side that is ready',
    'revert or hold, as onFailure says',
    orRetry('fix or revert it in Git'),
  ),
  ChecksFailed: row(
    'checks after promotion failed',
    'primary with the last-known-good, or the canary while it is held',
    'revert or hold, as onFailure says',
    orRetry('fix or revert it in Git'),
  ),
  ConfigCopyMissing: row(
    "the primary's copy of a ConfigMap or Secret was missing, or of another release",
    'primary',
    'it is restored',
    'find out who deletes it',
  ),
  ConfigFollowed: row(
    "the primary's copy of a ConfigMap or Secret outside Git was updated to the newest data",
    'primary',
    'pods see it in mounted volumes; environment variables change at the next restart',
  ),
  SharedCause: row(
    'the checks of several Canaries fail together',
    'primary',
    'checked again; verification continues, or it is reverted once the others recover, or five minutes and the progress deadline later',
    'check what they all depend on; abort reverts at once',
  ),
  Held: row(
    'the promotion is on hold: the healthy canary serves, the primary keeps trying',
    'canary',
    'continues when the primary recovers; auto reverts at the deadline',
    'fix or revert it in Git',
  ),
  Resumed: row('the cause of the hold is gone', 'as before', 'promotion continues'),
  Superseded: row('a newer revision is waiting', 'primary', 'the newer revision is rolled out'),
  Reverting: row(
    'the primary is reverted to the last-known-good',
    'the side that is ready',
    'Failed with Reverted=True',
    'look at the pods of the primary if it lasts',
  ),
  Control: row(
    'the failed check is repeated on the last-known-good',
    'primary with the last-known-good',
    'the rollout ends',
  ),
  RevertedInGit: row('Git went back to the last-known-good', 'primary with the last-known-good', 'Succeeded'),
  NotLastKnownGood: row(
    'the primary ran a release that was never verified',
    'the side that is ready',
    'the primary is reverted to the last-known-good',
    'find out who changed the primary',
  ),
  LKGNotReady: row(
    'the last-known-good does not become ready',
    'the side that is ready',
    'ends when it does; a newer revision is still tried',
    'look at its pods',
  ),
  LKGFailsToo: row(
    'the last-known-good fails the same check',
    'primary with the last-known-good',
    'nothing',
    'the release is not the cause: check what both depend on',
  ),
  ThroughThePrimary: row(
    'a newer revision is tried on the primary, since the last-known-good is not available',
    'canary, then both by steps',
    'the same steps and checks as on a canary',
    'look at the pods of the primary',
  ),
  RecordMissing: row(
    'a required release record is missing',
    'as before',
    'nothing',
    'restore the Secret, or roll out a new commit',
  ),
  RecordDamaged: row(
    'the record of the last-known-good is missing, was changed, or belongs to another release',
    'as before',
    'written again if Git has the same digest; else nothing is written',
    'restore the Secret from a backup, or put the release that the message names at head again',
  ),
  RecordTooLarge: row(
    'the release at head is too large to be recorded, so it is not started',
    'primary with the last-known-good',
    'continues when Git has a smaller one',
    'take large ConfigMaps or Secrets out of the pod template',
  ),
  ScalerMissing: row(
    'the scaler that autoscalerRef names is in neither Git nor the cluster',
    'as before',
    'tried again',
    'add it to Git, or remove autoscalerRef',
  ),
  PrimaryMissing: row(
    'the primary was deleted',
    'no side, or the canary',
    'it is recreated from the last-known-good',
    'find out who deleted it',
  ),
  WaitingForPrimary: row(
    'traffic stays until the primary is ready',
    'canary',
    'traffic moves when it is',
    'look at the pods of the primary',
  ),
  Succeeded: row('the release is promoted and verified', 'primary', 'the next commit is rolled out'),
  Terminating: row(
    'the Canary is being deleted, its target takes the traffic back',
    'the side that is ready',
    'the Canary is deleted once the target carries all traffic',
  ),
  HandedBack: row(
    'the target carries all traffic',
    'the target',
    'the Canary is deleted; Services and routes stay',
  ),
  Moving: row(
    'traffic and pods move between provider native and one with a separate primary',
    'the previous side until the new one can',
    'the next release begins once it has moved',
    'look at the pods of the side that does not become ready if it lasts, or name the former provider again',
  ),
  Moved: row('the provider of the spec is in effect', 'the side that this provider serves from', 'nothing'),
  HandBackGivenUp: row(
    'the target did not take the traffic back in time; native: the workload could not be reverted',
    'the side that is ready; the primary stays where it is needed',
    'the Canary is deleted anyway',
    'look at the pods of the target, then delete what was left without an owner',
  ),
  RecordKept: row('the record of the last-known-good is intact', 'primary', 'nothing'),
  DrillPassed: row('the cluster would accept the last-known-good today', 'primary', 'nothing'),
  DrillFailed: row(
    'the cluster would refuse the last-known-good today',
    'primary',
    'a revert would be refused, too',
    'fix what the message names, then run holdfast drill',
  ),
  NoRecord: row('no release is proven good yet', 'what served before', 'the first good one is recorded'),
  InSync: row('the primary is as Holdfast wrote it', 'primary', 'nothing'),
  Corrected: row(
    'another tool or a person changed what Holdfast keeps, and it was put back',
    'as before',
    'nothing',
  ),
  Contested: row(
    'another tool or a person changes it again and again, and it is put back each time',
    'as before, but for the moments between',
    'it is put back again',
    'stop the other writer',
  ),
  ForeignChange: row(
    'another tool or a person changes what Holdfast writes',
    'primary',
    'it is written again, by the next release at the latest',
    'stop the other writer',
  ),
  ReplicasChanged: row(
    'another tool or a person scaled the primary',
    'primary',
    'it is scaled back to the number in Git',
    'leave replicas to Git, or to an autoscaler that spec.autoscalerRef names',
  ),
  NotHeld: row('no release is held', 'as before', 'nothing'),
  NotReverted: row('the newest release was not reverted', 'as before', 'nothing'),
  // Reasons about what Holdfast reads from and writes to Git apart from manifests (design section 2.2, `write`).
  StartedFromLedger: row(
    "a new cluster starts from the ledger's commit",
    'what served before',
    'head is rolled out as a canary',
  ),
  LedgerUnavailable: row(
    "the ledger's commit cannot be used",
    'what served before',
    'read again; if it is gone for good, head is the first release',
    'see docs/guides/write-back.md',
  ),
  WrittenToGit: row('ledger, commit status or revert were written to Git', 'as before', 'nothing'),
  GitUnavailable: row(
    'Git or the forge could not be reached for a write',
    'as before',
    'tried again; rollouts do not wait for it',
  ),
  GitRefused: row(
    'Git or the forge refused a write three times',
    'as before',
    'nothing',
    'give the credentials the permission, or change spec.write; see docs/guides/write-back.md',
  ),
  RevertByHand: row(
    'the rejected release could not be reverted in Git automatically',
    'primary with the last-known-good',
    'nothing',
    'revert or fix it in Git',
  ),
  // Reasons of work next to other tools, and of taking over from Flagger (design section 2.5).
  TargetScaledUp: row(
    'another tool scales the target up while no release is under way',
    'as before',
    'it is scaled down again, less and less often',
    "leave replicas out of the other tool's manifest",
  ),
  Adopted: row('what Flagger had deployed was taken over unchanged', 'as before', 'nothing'),
  FailedUnderFlagger: row(
    'head had failed under Flagger, before Holdfast took over',
    'primary with the last-known-good',
    'nothing; the digest is rejected',
    orRetry('fix or revert it in Git'),
  ),
} as const satisfies Record<string, ReasonRow>;

/** A reason of the closed table. */
export type RolloutReason = keyof typeof rolloutReasons;

/** The reason that is reported while a gate is closed. */
export const GATE_REASONS = {
  'confirm-rollout': 'Waiting',
  'confirm-traffic-increase': 'WaitingForTrafficIncrease',
  'confirm-promotion': 'WaitingPromotion',
} as const satisfies Record<string, RolloutReason>;

/** The row of a reason that was read back; undefined where it is of another version, or none. */
export function rowOf(reason: string): ReasonRow | undefined {
  return Object.hasOwn(rolloutReasons, reason) ? rolloutReasons[reason as RolloutReason] : undefined;
}

/** What a person can do; undefined: nothing. */
export function actOn(reason: string, isHeld = false): string | undefined {
  const { act = nothing, actWhileHeld = act } = rowOf(reason) ?? {};
  return act === nothing ? undefined : isHeld ? actWhileHeld : act;
}

/** A reason read back from a status, if it is one of the table; else the fallback. */
export function knownReason(word: string | undefined, fallback: RolloutReason): RolloutReason {
  return word !== undefined && Object.hasOwn(rolloutReasons, word) ? (word as RolloutReason) : fallback;
}
