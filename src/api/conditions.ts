/** Conditions of any kind's status. */
import * as z from 'zod';
import type { Condition } from './kubernetes.ts';
import { text, timestamp } from './schema.ts';

const condition = z.object({
  type: text(64).describe('What the condition is about.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('True, False or Unknown.'),
  reason: text(64).describe('One word for programs; see the table of reasons.'),
  message: text(1024).describe('One line for people.').optional(),
  lastTransitionTime: timestamp().describe('When the status last changed.').exactOptional(),
  lastUpdateTime: timestamp().describe('When the condition was last written.').exactOptional(),
  observedGeneration: z.int().describe('Generation of the object it was computed from.').exactOptional(),
});

/**
 * At most 32 conditions, a type once. Flagger may leave the message out, every writer we know sets it; the shared type
 * says it is there.
 */
export const conditionsSchema = z.array(condition).max(32) as unknown as z.ZodType<Condition[]>;
