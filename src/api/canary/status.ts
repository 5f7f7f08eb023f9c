/** Canary status: Flagger's fields with their meaning, and what Holdfast adds (design section 2.3). */
import * as z from 'zod';
import { incidentSchema } from '../incident.ts';
import { limits } from '../limits.ts';
import { conditionsSchema, text, timestamp } from '../schema.ts';

/** Flagger's closed set of phases; the empty one is a Canary nobody has looked at yet. */
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

/** What one check said; inconclusive is neither a pass nor a failure (S29). */
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

/** Further fields belong to the rollout core and are kept as they are. */
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

/** What became of a request by annotation. */
export const requestAnswerSchema = z.object({
  result: z.enum(['Done', 'Refused']).describe('Done or Refused.'),
  reason: text(64).describe('Why, as in the table of reasons.'),
  message: text(256).describe('What follows, or why nothing does.'),
  time: timestamp().describe('When it was handled.'),
});

/** Bookkeeping of the release under way; further fields belong to the rollout core and are kept as they are. */
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
});

/** Checked as any spec when it is read back. */
const specInForceSchema = z.object({
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
    .describe('The last valid spec; it stays in force while a newer one is invalid.')
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
  otherBackends: z
    .object({
      state: z
        .enum(['alone', 'serving', 'idle'])
        .describe(
          'alone: the two sides are not named beside them; serving: they are, and get no requests yet; idle: they get all.',
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
  handled: z
    .record(text(64), text(512))
    .meta({ maxProperties: 32 })
    .describe('The last request of each verb that was handled.')
    .optional(),
  answers: z
    .record(text(64), requestAnswerSchema)
    .meta({ maxProperties: 32 })
    .describe('The result of the last request of each verb.')
    .optional(),
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
    .max(5)
    .describe('The last reports, newest first, and whether their alerts were sent.')
    .optional(),
  scaledDown: z
    .object({
      time: timestamp().describe('When.'),
      count: z.int().min(1).describe('How many times in a row.'),
    })
    .describe('When a target that another tool had scaled up between releases was last scaled down.')
    .optional(),
  run: canaryRunSchema.describe('Bookkeeping of the release under way.').optional(),
});

export type CanaryPhase = z.infer<typeof canaryPhaseSchema>;
export type PostPromotionState = z.infer<typeof postPromotionStateSchema>;
export type PostPromotionStatus = z.infer<typeof postPromotionStatusSchema>;
export type CheckResult = z.infer<typeof checkResultSchema>;
export type ReleaseHistoryEntry = z.infer<typeof releaseHistorySchema>;
export type Serving = z.infer<typeof servingSchema>;
export type RequestAnswer = z.infer<typeof requestAnswerSchema>;
export type SpecInForce = z.infer<typeof specInForceSchema>;
export type CanaryStatus = z.infer<typeof canaryStatusSchema>;

/** The status without the spec in force, which no decision carries along: it is put in with each write. */
export function withoutSpecInForce({ specInForce: _, ...status }: CanaryStatus): CanaryStatus {
  return status;
}

/** The message of the condition Reverted: why, and behind it what the revert left as head says (design section 5, Scope). */

/** Between the two; the second part is added when Git was compared. */
export const revertMessageSeparator = '; stays as head says: ';

/** Why it was reverted, without what stays. */
export function whyReverted(message: string): string {
  return message.split(revertMessageSeparator)[0] ?? '';
}
