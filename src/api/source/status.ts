/** Source status (design section 2.2): written when there is news, never per poll. */
import * as z from 'zod';
import { conditionsSchema, requestFields, text, timestamp } from '../schema.ts';

/** The newest commit that was seen. */
const sourceHeadSchema = z.object({
  commit: text(64).describe('Full SHA.'),
  author: text(160).describe('Name of the author.').optional(),
  subject: text(160).describe("First line of the commit's message.").optional(),
  time: timestamp().describe('When it was committed.').optional(),
});

const count = z.int().min(0);

const sourceCountsSchema = z.object({
  objects: count.describe('Objects rendered.').optional(),
  applied: count.describe('Objects applied.').optional(),
  failed: count.describe('Objects refused by the API server.').optional(),
  pruned: count.describe('Objects deleted by the last prune.').optional(),
  canaries: count.describe('Canaries among them.').optional(),
});

export const sourceStatusSchema = z.object({
  observedGeneration: z.int().describe('Generation this status was computed from.').optional(),
  conditions: conditionsSchema.describe('Ready, Fetched, Rendered, Applied, Healthy and others.').optional(),
  head: sourceHeadSchema.describe('The newest commit seen.').optional(),
  appliedCommit: text(64)
    .describe('The last commit whose objects were all applied or handed over.')
    .optional(),
  shortCommit: text(7).describe("First seven characters of appliedCommit, for kubectl's columns.").optional(),
  attemptedCommit: text(64)
    .describe(
      'The last commit that was let in, whether or not all of it could be applied. History must lead on from it.',
    )
    .optional(),
  appliedTime: timestamp().describe('When that was done.').optional(),
  counts: sourceCountsSchema.describe('Number of objects by result.').optional(),
  ...requestFields,
  approval: z
    .object({
      request: text(512).describe('Value of the annotation holdfast.dev/approve.'),
      verb: z.enum(['rewrite', 'prune']).describe('Which kind of thing it approves.'),
      hash: text(64).describe(
        'What of that kind: a commit, or the hash of the objects that are still to be deleted.',
      ),
    })
    .describe('What the last approval opened, and nothing else.')
    .optional(),
  problem: z
    .object({
      reason: text(64).describe('Reason of the condition Ready then.'),
      time: timestamp().describe('Since when.'),
    })
    .describe('The problem that spec.alerts reported last and that is not over.')
    .optional(),
  message: text(160).describe('What is going on, why, and what you can do.').optional(),
});

export type SourceStatus = z.infer<typeof sourceStatusSchema>;
