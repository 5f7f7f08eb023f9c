/** Canary status: Flagger's fields with their meaning, and what Holdfast adds (design section 2.3). */
import * as z from 'zod';
import { limits } from '../limits.ts';
import { conditionsSchema, requestFields, text, timestamp } from '../schema.ts';

/** Flagger's closed set of phases; the empty one is a Canary that was not reconciled yet. */
const canaryPhaseSchema = z.enum([
  '',
  'Initializing',
  'Initialized',
  'Waiting',
  'Progressing',
  'WaitingPromotion',
  'Promoting',
  'Finalising',
  'Succeeded',
  'Failed',
  'Terminating',
  'Terminated',
]);

/** Where a release stands after the first write to the primary. */
const postPromotionStateSchema = z.enum(['Converging', 'Verifying', 'Held', 'Reverting']);

/** The result of one check; inconclusive is neither a pass nor a failure (S29). */
const checkVerdictSchema = z.enum(['pass', 'fail', 'inconclusive']);

const commit = text(64).describe('Full SHA of the commit; empty when the release came from no Source.');
const digest = text(128).describe('Digest of the release.');
const subject = text(160).describe("First line of the commit's message.");
const workload = text(253).describe('Name of the workload.');

const lastKnownGoodSchema = z.object({
  commit,
  digest,
  promotedTime: timestamp().describe('When it was proven good.'),
  record: text(253).describe('Name of the Secret that holds its record.'),
});

/** Further fields belong to the rollout core and are not validated. */
const postPromotionStatusSchema = z.looseObject({
  state: postPromotionStateSchema.describe('Converging, Verifying, Held or Reverting.'),
  reason: text(64).describe('Why it is in this state, as in the table of reasons.').optional(),
  startTime: timestamp().describe('When this state began.').optional(),
  failedChecks: z.int().min(0).describe('Failed checks since promotion.').optional(),
  passedChecks: z.int().min(0).describe('Passed checks in a row.').optional(),
  cause: text(1024).describe('What the failure is, for people.').optional(),
  lastCheckTime: timestamp().describe('When the last check was made.').optional(),
  lastProgressTime: timestamp().describe('When the primary last gained a pod.').optional(),
});

const rejectionSchema = z.object({
  digest,
  commit,
  reason: text(64).describe('Why it was rejected, as in the table of reasons.'),
  time: timestamp().describe('When it was rejected.'),
  cause: text(64).describe('What was diagnosed, as in the table of causes.').optional(),
  suspect: z.boolean().describe('The last known good release failed the same check.').optional(),
  pending: z.boolean().describe('Not written to its Secret yet; it counts anyway.').optional(),
});

const checkResultSchema = z.object({
  name: text(253).describe('Name of the check.'),
  value: z.number().describe('What was measured.').optional(),
  min: z.number().describe('Lower bound.').optional(),
  max: z.number().describe('Upper bound.').optional(),
  verdict: checkVerdictSchema.describe('pass, fail or inconclusive.'),
  detail: text(512).describe('Why there is no value, or what differs.').optional(),
  time: timestamp().describe('When it was asked.'),
});

const releaseHistorySchema = z.object({
  digest,
  commit,
  subject: subject.optional(),
  result: z.enum(['Initialized', 'Succeeded', 'Failed', 'Superseded']).describe('How the release ended.'),
  reason: text(64).describe('Why, as in the table of reasons.').optional(),
  message: text(512).describe('How it ended, in one sentence.').optional(),
  startTime: timestamp().describe('When it began.').optional(),
  endTime: timestamp().describe('When it ended.'),
  postRollout: z
    .enum(['Pending', 'Passed', 'Failed'])
    .describe('Whether webhooks of type post-rollout were called, and what they answered.')
    .optional(),
});

const servingSchema = z.object({
  workload,
  digest,
  commit,
  subject: subject.optional(),
  weight: z.int().min(0).max(100).describe('Share of the traffic in percent, as read from the route.'),
  ready: z.int().min(0).describe('Pods that are ready.'),
});

/** Condition that says what of a Canary is in Git. */
export const writtenCondition = 'WrittenToGit';

// Reports about a release (incident.ts says how they are shown).

/** How much it matters: info is good news, warn asks for a look, error says that a release went wrong. */
const severitySchema = z.enum(['info', 'warn', 'error']);

/** Where the release stands. */
const incidentOutcomeSchema = z.enum([
  'Initialized',
  'Started',
  'Succeeded',
  'Waiting',
  'Stopped',
  'Held',
  'Failed',
  'Reverted',
]);

/** One alert of analysis.alerts and what came of it. */
const alertStateSchema = z.object({
  name: text(253).describe('Name of the alert in analysis.alerts.'),
  state: z.enum(['waiting', 'sent', 'failed']).describe('waiting, sent or failed.'),
  detail: text(256).describe('Why it could not be sent.').optional(),
});

const incidentServing = z.object({
  workload: text(253).describe('Name of the workload.'),
  commit: text(64).describe('Commit that it runs, in full.'),
  subject: text(160).describe("First line of that commit's message.").optional(),
  weight: z.int().min(0).max(100).describe('Share of the traffic in percent, as read from the route.'),
  ready: z.int().min(0).describe('Pods that are ready.'),
});

/** One report; created when the state is entered, and not changed later. */
export const incidentSchema = z.object({
  key: text(253).describe(
    'Identifies this report: release, outcome and reason. Nothing is reported twice under one key.',
  ),
  time: timestamp().describe('When the state was entered.'),
  outcome: incidentOutcomeSchema.describe('Where the release stands.'),
  severity: severitySchema.describe('info, warn or error.'),
  reason: text(64).describe('Why, as in the table of reasons.'),
  message: text(512).describe('What happened, in one sentence.'),
  commit: text(64).describe('Commit it is about, in full; empty when it came from no Source.'),
  author: text(160).describe('Who wrote that commit.').optional(),
  subject: text(160).describe("First line of that commit's message.").optional(),
  finding: text(512).describe('The finding with its value and bound.').optional(),
  onCanary: text(512).describe('Whether the canary showed the same.').optional(),
  stays: text(512).describe('What remains applied of the commit.').optional(),
  serving: z
    .array(incidentServing)
    .max(4)
    .describe('Who answered requests then, largest share first; absent in reports about a Source.')
    .optional(),
  next: z
    .object({
      action: text(160).describe('What happens next.'),
      time: timestamp().describe('When.').optional(),
    })
    .describe('What happens next automatically; absent: nothing.')
    .optional(),
  command: text(512).describe('One command that a person can run.').optional(),
  alerts: z.array(alertStateSchema).max(32).describe('What came of each alert.').optional(),
});

/** The release under way; its timers are in `bookkeeping`, and further fields belong to the rollout core and are not validated. */
const canaryRunSchema = z.looseObject({
  digest: digest.optional(),
  commit: commit.optional(),
  startTime: timestamp().describe('When the release was admitted.').optional(),
  stepTime: timestamp().describe('When the current step began.').optional(),
  lastCheckTime: timestamp().describe('When the checks were last asked.').optional(),
  lastProgressTime: timestamp().describe('When a workload last gained a pod.').optional(),
  progressKey: text(253).describe('What the progress was measured on.').optional(),
  step: z.int().min(0).describe('Number of the current step.').optional(),
  fastLane: z.boolean().describe('A proven release: steps and analysis are left out.').optional(),
  account: text(512)
    .describe('User that its Source writes it as, also after the Source is deleted; absent: Holdfast itself.')
    .optional(),
});

/** Checked like any spec when it is read back. */
export const specInForceSchema = z.object({
  generation: z.int().describe('Generation of the Canary that brought it.'),
  spec: z.looseObject({}).describe('The spec, with the overrides of annotations.'),
});

const flaggerFields = {
  phase: canaryPhaseSchema.describe("Flagger's phase.").optional(),
  failedChecks: z.number().describe('Failed checks of this analysis.').optional(),
  canaryWeight: z.number().describe("The canary's share in percent, as read from the route.").optional(),
  iterations: z.number().describe('Checks done of an A/B or blue/green release.').optional(),
  trackedConfigs: z
    .record(z.string(), z.string())
    .describe('Checksums of the ConfigMaps and Secrets that the workload uses.')
    .optional(),
  lastAppliedSpec: z.string().describe('Digest of the release last started.').optional(),
  lastPromotedSpec: z.string().describe('Digest of the release last found good.').optional(),
  lastTransitionTime: timestamp().describe('When the status last changed.').optional(),
  sessionAffinityCookie: z.string().describe('Cookie of this release.').optional(),
  primarySessionAffinityCookie: z.string().describe('Cookie of the primary.').optional(),
  previousSessionAffinityCookie: z.string().describe('Cookie of the release before.').optional(),
  conditions: conditionsSchema
    .describe(
      'Promoted, Ready, Reconciling, Stalled, Verified, Reverted, Held, Drifted, RollbackReady and others.',
    )
    .optional(),
};

export const canaryStatusSchema = z.object({
  ...flaggerFields,
  observedGeneration: z.int().describe('Generation that was read last, valid or not.').optional(),
  specInForce: specInForceSchema
    .describe('The last valid spec, while it is in force in place of a newer one that is invalid.')
    .optional(),
  lastAppliedCommit: text(64)
    .describe('Commit of the newest release that was started or rejected.')
    .optional(),
  scaler: z
    .object({
      kind: text(64).describe('HorizontalPodAutoscaler or ScaledObject.'),
      name: text(253).describe("Name of the target's scaler."),
    })
    .describe('The scaler that the primary has a copy of.')
    .optional(),
  provider: text(64)
    .describe('The provider in effect; spec.provider may be another one while the traffic moves.')
    .optional(),
  move: z
    .object({
      to: text(64).describe('The provider.'),
      startTime: timestamp().describe('When it began.'),
      readyTime: timestamp().describe('Since when the other side could carry all traffic.').optional(),
      handedOverTime: timestamp().describe('Since when the other side carries all traffic.').optional(),
    })
    .describe('The switch between provider native and one with a separate primary, while it runs.')
    .optional(),
  handBack: z
    .object({ readyTime: timestamp().describe('Since when the target could carry all traffic.') })
    .describe('The way of the traffic back to the target, while the Canary is deleted.')
    .optional(),
  otherBackends: z
    .object({
      state: z
        .enum(['alone', 'serving', 'idle'])
        .describe(
          'alone: the route does not name the two sides; serving: it names them, and they get no requests yet; idle: they get all.',
        ),
      since: timestamp().describe('Since when it is so.'),
    })
    .describe(
      'Backends in the route that do not belong to this Canary, until they are removed or replace it.',
    )
    .optional(),
  lastPromotedCommit: text(64).describe('Commit of the last known good release.').optional(),
  lastKnownGood: lastKnownGoodSchema.describe('The release a revert goes back to.').optional(),
  postPromotion: postPromotionStatusSchema
    .describe('The release after the first write to the primary.')
    .optional(),
  rejected: z
    .array(rejectionSchema)
    .max(limits.rejectedDigests)
    .describe('Releases that are not tried again, newest last.')
    .optional(),
  checks: z
    .array(checkResultSchema)
    .max(limits.statusChecks)
    .describe('The last answer of each check.')
    .optional(),
  history: z
    .array(releaseHistorySchema)
    .max(limits.historyEntries)
    .describe('The last releases, newest first.')
    .optional(),
  ...requestFields,
  serving: z
    .array(servingSchema)
    .max(limits.servingEntries)
    .describe('Who answers requests now, largest share first.')
    .optional(),
  next: z
    .object({
      action: text(160).describe('What happens next.'),
      time: timestamp().describe('When, if it is known.').optional(),
    })
    .describe('What happens next automatically.')
    .optional(),
  message: text(160).describe('What is going on, why, and what you can do.').optional(),
  incidents: z
    .array(incidentSchema)
    .max(limits.statusIncidents)
    .describe(
      'The last report, and earlier ones whose alerts are still to be sent; holdfast status NAME -o yaml shows the last five.',
    )
    .optional(),
  scaledDown: z
    .object({
      time: timestamp().describe('When.'),
      count: z.int().min(1).describe('How many times in a row.'),
    })
    .describe('When a target that another tool had scaled up between releases was last scaled down.')
    .optional(),
  run: canaryRunSchema.describe('The release under way.').optional(),
  shortCommit: text(7)
    .describe("First seven characters of lastAppliedCommit, for kubectl's columns.")
    .optional(),
  bookkeeping: text(limits.bookkeepingCharacters)
    .describe(
      'What only Holdfast reads, as base64 of gzip of JSON: timers of the release under way, the valid spec, earlier reports. It is internal and may change between versions.',
    )
    .optional(),
});

export type CanaryPhase = z.infer<typeof canaryPhaseSchema>;
export type PostPromotionState = z.infer<typeof postPromotionStateSchema>;
export type PostPromotionStatus = z.infer<typeof postPromotionStatusSchema>;
export type CheckResult = z.infer<typeof checkResultSchema>;
export type ReleaseHistoryEntry = z.infer<typeof releaseHistorySchema>;
export type Serving = z.infer<typeof servingSchema>;
export type RequestAnswer = NonNullable<CanaryStatus['answers']>[string];
export type SpecInForce = z.infer<typeof specInForceSchema>;
export type CanaryStatus = z.infer<typeof canaryStatusSchema>;

/** The status without the spec in force: decisions leave it out, and each write adds it again. */
export function withoutSpecInForce({ specInForce: _, ...status }: CanaryStatus): CanaryStatus {
  return status;
}

/** Between the two parts of the message of condition Reverted: why, and what the revert left as head says (design section 5, Scope). */
export const revertMessageSeparator = '; stays as head says: ';

/** Why it was reverted, without what stays. */
export function whyReverted(message: string): string {
  return message.split(revertMessageSeparator)[0] ?? '';
}
