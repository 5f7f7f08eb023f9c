import { nothing, type ReasonRow, row } from './reason-row.ts';

/** Reasons from promotion on, in the order a release meets them. */
export const promotionReasons = {
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
  NotHeld: row('no release is held', 'as read back', nothing),
  NotReverted: row('the newest release was not reverted', 'as read back', nothing),
} as const satisfies Record<string, ReasonRow>;
