/** One row of the closed table of reasons: what a word in a condition, an event or the status line means. */
export interface ReasonRow {
  /** What happened. */
  meaning: string;
  /** Who answers requests meanwhile. */
  serves: string;
  /** What comes next by itself. */
  next: string;
  /** What a person can do. */
  act: string;
}

const nothing = 'nothing to do';

function row(meaning: string, serves: string, next: string, act = nothing): ReasonRow {
  return { meaning, serves, next, act };
}

/**
 * Every reason the rollout gives, in the order a release goes through them (design section 2.3). docs/reasons.md is made from it; the
 * core cannot use a word that is not here.
 */
export const rolloutReasons = {
  SourceNotRead: row(
    'Git has not been read since the start',
    'as before',
    'continues when the Source is read',
    'look at the Source if it stays',
  ),
  NoSource: row('no Source holds this Canary', 'as before', 'nothing', 'put the workload into a Source'),
  TargetMissing: row(
    'the Source holds no workload for spec.targetRef',
    'as before',
    'continues when it is in Git',
    'commit the workload, or delete the Canary',
  ),
  Unknown: row(
    'it is not known what Git wants',
    'as before',
    'continues when the Source is read',
    'look at the Source',
  ),
  Initializing: row(
    'the first release is brought up on the primary',
    'what served before',
    'Initialized once the primary is ready',
  ),
  Initialized: row('the first release is good and kept', 'primary', 'the next commit is rolled out'),
  NewRevision: row(
    'a new digest was admitted and goes to the canary',
    'primary',
    'analysis once the canary is ready',
  ),
  CanaryNotReady: row(
    'pods of the canary are not ready',
    'primary, or both by the last step',
    'fails at progressDeadlineSeconds',
    'look at the pods of the target',
  ),
  RouteNotAccepted: row(
    'the data plane has not taken the route',
    'as read back',
    'continues when it is accepted',
    'look at the route and its controller',
  ),
  Progressing: row('steps and checks', 'both, by weight', 'the next check after the interval'),
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
    'the canary has too few ready pods for the next share',
    'both, by the last step',
    'continues when the pods are ready',
    'look at quota and scheduling if it stays',
  ),
  PrimaryNotReady: row(
    'pods of the primary are not ready',
    'whoever is ready',
    'continues when it is; after promotion hold or revert',
    'look at the pods of the primary',
  ),
  CheckFailed: row(
    'a check failed, the threshold is not reached',
    'both, by the last step',
    'asked again after the interval',
    'look at the finding',
  ),
  NoData: row(
    'a check had no answer and counts neither way',
    'both, by the last step',
    'asked again after the interval',
    'look at the metric provider',
  ),
  AnalysisRestarted: row(
    'steps, strategy, metrics or match changed in the spec',
    'primary',
    'the analysis starts at 0 %',
  ),
  StepsDoNotAdvance: row(
    'no step leads further',
    'both, by the last step',
    'nothing',
    'change spec.analysis',
  ),
  Paused: row('holdfast.dev/pause is "true"', 'both, by the last step', 'nothing', 'remove the annotation'),
  Suspended: row('spec.suspend is true', 'as it was', 'nothing', 'set spec.suspend to false'),
  Retry: row('a rejection was lifted on request', 'primary', 'a new rollout of head'),
  Stale: row(
    'a request names another revision than head',
    'as before',
    'nothing',
    'repeat it with the commit of head',
  ),
  AnalysisFailed: row(
    'the failed check that reached the threshold',
    'primary',
    'nothing; the digest is rejected',
    'fix or revert it in Git, or retry',
  ),
  ProgressDeadlineExceeded: row(
    'the canary made no progress in time',
    'primary',
    'nothing; the digest is rejected',
    'fix or revert it in Git, or retry',
  ),
  CapacityNotReached: row(
    'the canary never had the pods to take all traffic',
    'primary',
    'nothing; the digest is rejected',
    'give it room, then retry',
  ),
  Rejected: row(
    'head is a release that failed before',
    'primary with the last-known-good',
    'nothing',
    'fix or revert it in Git, or retry',
  ),
  SavingRecord: row(
    'bytes of the releases are written before the primary is',
    'both, by the last step',
    'promotion',
  ),
  Clearing: row(
    'traffic leaves the primary before it is written',
    'canary, as far as its pods carry',
    'promotion',
  ),
  Promoting: row(
    'the release is written to the primary',
    'both, by the last step',
    'traffic moves once the primary is whole',
  ),
  Converging: row(
    'the primary takes the release over',
    'both, or the canary',
    'traffic moves once the primary is whole',
  ),
  TrafficShifted: row(
    'traffic moves to the primary',
    'both, by weight',
    'verification once all of it is there',
  ),
  Verifying: row('checks after promotion', 'primary', 'good after successThreshold passes in a row'),
  ChecksUnavailable: row(
    'checks after promotion have no answer',
    'primary',
    'asked again; never a revert',
    'look at the metric provider',
  ),
  PrimaryUnhealthy: row('the serving primary lost readiness', 'whoever is ready', 'by onFailure'),
  ChecksFailed: row('checks after promotion failed', 'by onFailure', 'by onFailure'),
  Held: row(
    'the healthy canary serves, the primary keeps trying',
    'canary',
    'goes on when the primary heals; auto reverts at the deadline',
    'fix or revert it in Git',
  ),
  Resumed: row('what was waited for is there again', 'as read back', 'promotion goes on'),
  Superseded: row('a newer revision waits', 'primary', 'the newer revision is rolled out'),
  Reverting: row(
    'the last-known-good goes back to the primary',
    'whoever is ready',
    'Failed with Reverted=True',
  ),
  Control: row(
    'the failed check is asked of the last-known-good',
    'primary with the last-known-good',
    'the release ends',
  ),
  RevertedInGit: row('Git went back to the last-known-good', 'primary with the last-known-good', 'Succeeded'),
  NotLastKnownGood: row(
    'the primary ran a release that never proved itself',
    'whoever is ready',
    'back to the last-known-good',
  ),
  LKGNotReady: row(
    'the last-known-good does not come up',
    'whoever is ready',
    'heals when it does; a newer revision gets through',
    'look at the pods of the primary',
  ),
  LKGFailsToo: row(
    'the last-known-good fails the same check',
    'primary with the last-known-good',
    'nothing',
    'the cause is elsewhere: look at what both depend on',
  ),
  ThroughThePrimary: row(
    'a newer revision goes straight to the primary',
    'canary',
    'traffic moves once the primary is whole',
  ),
  RecordMissing: row(
    'a record that is needed is not in the cluster',
    'as read back',
    'nothing',
    'restore the Secret, or roll out a new commit',
  ),
  PrimaryMissing: row(
    'the primary was deleted',
    'nobody, or the canary',
    'it is created from the last-known-good',
  ),
  WaitingForPrimary: row(
    'traffic stays until the primary is ready',
    'canary',
    'traffic moves when it is',
    'look at the pods of the primary',
  ),
  Succeeded: row('the release is promoted and verified', 'primary', 'the next commit is rolled out'),
  RecordKept: row('the last-known-good was read back', 'primary', nothing),
  NoRecord: row('no release has proven itself yet', 'what served before', 'the first good one is kept'),
  InSync: row('the primary is as it was written', 'primary', nothing),
  ForeignChange: row(
    'somebody changed the primary',
    'primary',
    'the next release takes it out',
    'stop the other writer',
  ),
  NotHeld: row('no release is held', 'as read back', nothing),
  NotReverted: row('the newest release was not reverted', 'as read back', nothing),
} as const satisfies Record<string, ReasonRow>;

/** A word of the closed table. */
export type RolloutReason = keyof typeof rolloutReasons;

/** A word read back from a status, if it is one of the table; else the fallback. */
export function knownReason(word: string | undefined, fallback: RolloutReason): RolloutReason {
  return word !== undefined && Object.hasOwn(rolloutReasons, word) ? (word as RolloutReason) : fallback;
}
