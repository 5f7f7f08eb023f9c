/** One row of the closed table of reasons: what a word in a condition, an event or the status line means. */
interface ReasonRow {
  /** What happened. */
  meaning: string;
  /** Who answers requests meanwhile. */
  serves: string;
  /** What comes next by itself. */
  next: string;
  /** What a person can do. */
  act: string;
}

/** For rows that ask nothing of anybody. */
export const nothing = 'nothing to do';

/** One row: what happened, who serves, what comes next by itself, what a person can do. */
function row(meaning: string, serves: string, next: string, act = nothing): ReasonRow {
  return { meaning, serves, next, act };
}

/**
 * Every reason the rollout gives (design section 2.3). docs/reasons.md is made from it; the core cannot use a word that is not here.
 */
export const rolloutReasons = {
  // Reasons up to the end of the analysis, in the order a release meets them.
  SourceNotRead: row(
    'Git has not been read since the start',
    'as before',
    'continues when the Source is read',
    'look at the Source if it stays',
  ),
  InvalidManifests: row(
    'head has no release that can be started: a file is broken, or its workload and Canary do not fit together',
    'as before',
    'continues when it is repaired',
    'repair what the message names; holdfast validate says the same before a merge',
  ),
  NoSource: row(
    'no Source holds its target any more',
    'as before',
    'nothing',
    'put the workload into a Source, or let another tool apply it',
  ),
  TargetMissing: row(
    'neither a Source nor the cluster holds the workload of spec.targetRef',
    'as before',
    'continues when it is there',
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
  Requested: row('a person asked for it, and it was taken', 'as before', 'what was asked for'),
  Stale: row(
    'a request names another revision than the one it can be about',
    'as before',
    'nothing',
    'repeat it with the commit that the message names',
  ),
  NotApplicable: row('a request asks for what cannot be done now', 'as before', 'nothing', 'see the message'),
  NotKept: row(
    'a request names a release of which no record is kept',
    'as before',
    'nothing',
    'choose one of holdfast history',
  ),
  UnknownRequest: row(
    'an annotation of holdfast.dev that no version knows',
    'as before',
    'nothing',
    'look for a spelling mistake',
  ),
  Aborted: row(
    'a person ended the release',
    'primary with the last-known-good',
    'nothing; the digest is rejected',
    'fix or revert it in Git, or retry',
  ),
  RolledBack: row(
    'a person went back to an older release',
    'primary with that release',
    'nothing; what was at head is rejected',
    'revert it in Git, or retry',
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
    'a gate (confirm-promotion) keeps the release from the primary',
    'both, by the last step',
    'promotion when the gate opens; checks go on',
    'open the gate, approve, or revert it in Git',
  ),
  GateOpened: row('a closed gate opened', 'as before', 'what it kept back'),
  GateSwitched: row(
    'somebody opened or closed a gate that Holdfast serves',
    'as before',
    'what it kept back',
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
    'fix or revert it in Git, or retry',
  ),
  PostRolloutPassed: row('webhooks of type post-rollout approved', 'as before', 'nothing'),
  PostRolloutFailed: row(
    'a webhook of type post-rollout did not approve; the release is what it was',
    'as before',
    'nothing',
    'look at the webhook',
  ),
  // Reasons of the windows of a Source.
  WaitingForWindow: row(
    'a window of the Source keeps the release from starting',
    'primary',
    'starts at the next opening, which status.next names',
    'wait, ask ignore-window, or revert it in Git',
  ),
  WindowOpened: row('the window opened, or a person let the release through', 'primary', 'the rollout'),
  // Reasons from promotion on, in the order a release meets them.
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
  PrimaryUnhealthy: row(
    'the serving primary lost readiness',
    'whoever is ready',
    'revert, or hold, by onFailure',
    'fix or revert it in Git, or retry',
  ),
  ChecksFailed: row(
    'checks after promotion failed',
    'primary with the last-known-good, or the canary while it is held',
    'revert, or hold, by onFailure',
    'fix or revert it in Git, or retry',
  ),
  ConfigCopyMissing: row(
    "the primary's copy of a ConfigMap or Secret was gone, or of another release",
    'primary',
    'it is written again',
    'find out who deletes it',
  ),
  ConfigFollowed: row(
    "the primary's copy of a ConfigMap or Secret outside Git that it is to follow got its newest data",
    'primary',
    'pods see it as they see any change of a volume; variables are read again at the next start',
  ),
  SharedCause: row(
    'the checks of several Canaries fail together',
    'primary',
    'asked again; verified on, or reverted once the others are well',
    'look at what they depend on; abort goes back at once',
  ),
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
    'look at the pods of the primary if it stays',
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
    'find out who wrote the primary',
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
    'a newer revision is tried on the primary, since the last-known-good is not there to go back to',
    'canary, then both by steps',
    'the same steps and checks as on a canary',
    'look at the pods of the primary',
  ),
  RecordMissing: row(
    'a record that is needed is not in the cluster',
    'as read back',
    'nothing',
    'restore the Secret, or roll out a new commit',
  ),
  RecordDamaged: row(
    'the record of the last-known-good is gone, was altered, or is of another release',
    'as read back',
    'written anew if Git holds the same digest; else nothing is written',
    'restore the Secret from a backup, or put the release that the message names to head',
  ),
  RecordTooLarge: row(
    'the release at head is too large to be kept, so it is not started',
    'primary with the last-known-good',
    'continues when Git holds a smaller one',
    'take large ConfigMaps or Secrets out of the pod template',
  ),
  ScalerMissing: row(
    'the scaler that autoscalerRef names is in neither Git nor the cluster',
    'as read back',
    'tried again',
    'add it to Git, or take autoscalerRef away',
  ),
  PrimaryMissing: row(
    'the primary was deleted',
    'nobody, or the canary',
    'it is created from the last-known-good',
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
    'whoever is ready',
    'the Canary goes once the target carries all traffic',
  ),
  HandedBack: row(
    'the target carries all traffic',
    'the target',
    'the Canary goes; Services and routes stay',
  ),
  Moving: row(
    'traffic and pods move between native and a provider that copies',
    'the one that served, until the other one can',
    'the next release begins once it has moved',
  ),
  Moved: row('the provider of the spec is in effect', 'the side of that provider', nothing),
  HandBackGivenUp: row(
    'the target did not take the traffic back in time',
    'whoever is ready; the primary stays where it is needed',
    'the Canary goes all the same',
    'look at the pods of the target, then delete what was left without an owner',
  ),
  RecordKept: row('the last-known-good was read back', 'primary', nothing),
  DrillPassed: row('the last-known-good would be accepted by the cluster as it is today', 'primary', nothing),
  DrillFailed: row(
    'the cluster would not take the last-known-good as it is',
    'primary',
    'a revert would meet the same refusal',
    'mend what the message names, then holdfast drill',
  ),
  NoRecord: row('no release has proven itself yet', 'what served before', 'the first good one is kept'),
  InSync: row('the primary is as it was written', 'primary', nothing),
  ForeignChange: row(
    'somebody changed the primary',
    'primary',
    'the next release takes it out',
    'stop the other writer',
  ),
  ReplicasChanged: row(
    'somebody changed the number of pods of the primary',
    'primary',
    'it gets the number of Git again',
    'leave replicas to Git, or to an autoscaler that spec.autoscalerRef names',
  ),
  NotHeld: row('no release is held', 'as read back', nothing),
  NotReverted: row('the newest release was not reverted', 'as read back', nothing),
  // Reasons about what Holdfast reads from and writes to Git beside the manifests (design section 2.2, `write`).
  StartedFromLedger: row(
    "a new cluster starts from the ledger's commit",
    'what served before',
    'head is rolled out as a canary',
  ),
  LedgerUnavailable: row(
    "the ledger's commit cannot be used",
    'what served before',
    'read again, or head is the first release where it is gone for good',
    'see docs/guides/write-back.md',
  ),
  WrittenToGit: row('ledger, commit status or revert were written to Git', 'as read back', nothing),
  GitUnavailable: row(
    'Git or the forge could not be reached for a write',
    'as read back',
    'tried again; the cluster does not wait for it',
  ),
  GitRefused: row(
    'Git or the forge refused a write three times',
    'as read back',
    nothing,
    'give the credentials the right, or change spec.write; see docs/guides/write-back.md',
  ),
  RevertByHand: row(
    'the rejected release could not be taken back in Git without guessing',
    'primary with the last-known-good',
    nothing,
    'revert or fix it in Git',
  ),
  // Reasons of work beside other tools, and of taking over what Flagger left (design section 2.5).
  TargetScaledUp: row(
    'another tool scales the target up while it rests',
    'as before',
    'it is scaled down again, less and less often',
    "leave replicas out of the other tool's manifest",
  ),
  Adopted: row('what Flagger left was taken over as it is', 'as before', nothing),
  FailedUnderFlagger: row(
    'head had failed under Flagger, before Holdfast took over',
    'primary with the last-known-good',
    'nothing; the digest is rejected',
    'fix or revert it in Git, or retry',
  ),
} as const satisfies Record<string, ReasonRow>;

/** A word of the closed table. */
export type RolloutReason = keyof typeof rolloutReasons;

/** A word read back from a status, if it is one of the table; else the fallback. */
export function knownReason(word: string | undefined, fallback: RolloutReason): RolloutReason {
  return word !== undefined && Object.hasOwn(rolloutReasons, word) ? (word as RolloutReason) : fallback;
}
