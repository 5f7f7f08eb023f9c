/** What commands print line by line while they watch. */
import * as z from 'zod';
import { canaryName, time } from './parts.ts';

const rolloutNews = [
  z.object({
    type: z.literal('state').describe('Phase, state or message changed.'),
    phase: z.string().describe('Phase of the Canary.'),
    state: z.string().describe('State after promotion; empty: none.'),
    reason: z.string().describe('Why it is in that state.'),
    message: z.string().describe('The line of the status.'),
    next: z.string().describe('What comes next.'),
    nextTime: z.string().describe('When; empty: it is not known.'),
  }),
  z.object({
    type: z.literal('traffic').describe('The traffic moved.'),
    primaryWeight: z.number().describe("The primary's share in percent."),
    canaryWeight: z.number().describe("The canary's share in percent."),
    serving: z
      .array(
        z.object({
          role: z.enum(['primary', 'canary']).describe('Which side.'),
          commit: z.string().describe('Commit that it runs.'),
          weight: z.number().describe('Its share in percent.'),
          ready: z.number().describe('Pods that are ready.'),
        }),
      )
      .describe('Who answers requests.'),
  }),
  z.object({
    type: z.literal('iteration').describe('A check of an A/B or blue/green release passed.'),
    iteration: z.int().describe('How many have.'),
  }),
  z.object({
    type: z.literal('checks').describe('The checks of one interval.'),
    during: z.enum(['analysis', 'verification']).describe('Before or after promotion.'),
    results: z
      .array(
        z.object({
          name: z.string().describe('Name of the check.'),
          value: z.number().describe('What was measured.').optional(),
          min: z.number().describe('Lower bound.').optional(),
          max: z.number().describe('Upper bound.').optional(),
          verdict: z.enum(['pass', 'fail', 'inconclusive']).describe('The result.'),
          detail: z.string().describe('Why there is no value, or what differs.').optional(),
          time: time.describe('When it was asked.'),
        }),
      )
      .describe('Each of them.'),
  }),
] as const;

/** A line of `holdfast watch`. */
export const watchEvent = z
  .discriminatedUnion('type', [
    ...rolloutNews,
    z.object({
      type: z.literal('release').describe('A release began, or the watch did while this one was the newest.'),
      commit: z.string().describe('Its commit.'),
      subject: z.string().describe("First line of the commit's message."),
    }),
    z.object({
      type: z.literal('connection').describe('Whether changes arrive.'),
      ok: z.boolean().describe('Whether they do.'),
      message: z.string().describe('Why not.'),
    }),
    z.object({ type: z.literal('deleted').describe('The Canary was deleted.') }),
  ])
  .and(z.object({ time: time.describe('When it was seen.'), canary: canaryName }));

/** A line of `holdfast status -w`, among the objects that it shows. */
export const deletedObject = z.object({
  object: z
    .object({
      apiVersion: z.string().describe('Its apiVersion.'),
      kind: z.string().describe('Its kind.'),
      namespace: z.string().describe('Its namespace.').optional(),
      name: z.string().describe('Its name.'),
      uid: z.string().describe('Its UID: one that was created again with this name has another.').optional(),
    })
    .describe('The object that was deleted.'),
});

/** A line of `holdfast demo`. */
export const demoEvent = z
  .discriminatedUnion('type', [
    ...rolloutNews,
    z.object({
      type: z.literal('started').describe('The stage is set.'),
      stage: z.string().describe('Where it plays.'),
      namespace: z.string().describe('The namespace.'),
      provider: z.string().describe('Routing provider.'),
      sampled: z.boolean().describe('Requests are sampled.'),
    }),
    z.object({
      type: z.literal('commit').describe('A commit is on the branch.'),
      name: z.string().describe('Name of the release in the story.'),
      commit: z.string().describe('Full SHA.'),
      subject: z.string().describe('First line of its message.'),
      intent: z.string().describe('What it is for.'),
    }),
    z.object({
      type: z.literal('event').describe('An event that Holdfast wrote about the Canary.'),
      severity: z.enum(['Normal', 'Warning']).describe('Its type.'),
      reason: z.string().describe('Its reason.'),
      message: z.string().describe('Its message.'),
    }),
    z.object({
      type: z.literal('quiet').describe('What the rejected commit caused while it stayed at head.'),
      gitRequests: z.int().describe('Requests to Git.'),
      seconds: z.number().describe('For how long.'),
      written: z.array(z.string()).describe('Objects that changed; none is expected.'),
    }),
    z.object({
      type: z.literal('note').describe('About the demo itself.'),
      message: z.string().describe('What.'),
    }),
    z.object({
      type: z.literal('ended').describe('The last line.'),
      ok: z.boolean().describe('Whether all went as it should.'),
      differences: z
        .array(
          z.object({
            what: z.string().describe('What.'),
            expected: z.string().describe('How it should be.'),
            found: z.string().describe('How it is.'),
          }),
        )
        .describe('What is not as it should be.'),
      promoted: z.array(z.string()).describe('Commits that were promoted.'),
      reverted: z.string().describe('The commit that was reverted.'),
      revertReason: z.string().describe('Why.'),
      failureToGoodMs: z
        .number()
        .nullable()
        .describe('From the finding until the good release had all traffic.'),
      heldMs: z.number().nullable().describe('Of it: how long the canary carried the traffic.'),
      requests: z.int().nullable().describe('Requests that were sampled.'),
      failedRequests: z.int().nullable().describe('Those of them that failed.'),
      log: z.string().describe("File with the program's log when the demo failed; else empty."),
    }),
  ])
  .and(
    z.object({
      time: time.describe('When it was seen.'),
      elapsedMs: z.number().describe('Milliseconds since the demo began.'),
    }),
  );

/** One thing that was reported: a line of `holdfast events -w`. */
export const reportedEvent = z.object({
  firstTime: z.string().describe('When it was first reported; empty: it is not known.'),
  lastTime: z.string().describe('When it was last reported; empty: it is not known.'),
  count: z.int().describe('How often.'),
  type: z.string().describe('Normal or Warning.'),
  reason: z.string().describe('Why, in one word.'),
  object: z.string().describe('What it is about: `Kind namespace/name`.'),
  message: z.string().describe('What was reported.'),
  source: z.string().describe('The controller that reported it.'),
});

/** What `holdfast events` prints. */
export const reportedEvents = z.object({
  events: z.array(reportedEvent).describe('What was reported, the newest last.'),
});

/** A line of `holdfast logs`. */
export const logLine = z.object({
  namespace: z.string().describe('Namespace of the pod.'),
  side: z.string().describe('primary or canary.'),
  pod: z.string().describe('Name of the pod.'),
  container: z.string().describe('Name of the container.'),
  previous: z.boolean().describe('Whether it is of the run that ended before.'),
  line: z.string().describe('The line.'),
});
