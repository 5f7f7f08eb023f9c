import { type ReasonRow, row } from './reason-row.ts';

/** Reasons up to the end of the analysis, in the order a release meets them. */
export const analysisReasons = {
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
} as const satisfies Record<string, ReasonRow>;
