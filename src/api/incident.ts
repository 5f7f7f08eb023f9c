/** What people are told of a release at the moments that matter: one value for status line, event, alert, commit status and pull request. */
import * as z from 'zod';
import { text, timestamp } from './schema.ts';

/** How much it matters: info is good news, warn asks for a look, error says that a release went wrong. */
export const severitySchema = z.enum(['info', 'warn', 'error']);

/** Where the release stands. */
export const incidentOutcomeSchema = z.enum([
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
export const alertStateSchema = z.object({
  name: text(253).describe('Name of the alert in analysis.alerts.'),
  state: z.enum(['waiting', 'sent', 'failed']).describe('waiting, sent or failed.'),
  detail: text(256).describe('Why it could not be sent.').optional(),
});

const answering = z.object({
  workload: text(253).describe('Name of the workload.'),
  commit: text(64).describe('Commit that it runs, in full.'),
  subject: text(160).describe("First line of that commit's message.").optional(),
  weight: z.int().min(0).max(100).describe('Share of the traffic in percent, as read from the route.'),
  ready: z.int().min(0).describe('Pods that are ready.'),
});

/** One thing people were told; made when the state is entered, and kept as it was said. */
export const incidentSchema = z.object({
  key: text(253).describe(
    'Names this news: release, outcome and reason. Nothing is told twice under one key.',
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
  stays: text(512).describe('What of the commit stays applied.').optional(),
  serving: z
    .array(answering)
    .max(4)
    .describe('Who answered requests then, largest share first; absent in news of a Source.')
    .optional(),
  next: z
    .object({
      action: text(160).describe('What happens next.'),
      time: timestamp().describe('When.').optional(),
    })
    .describe('What comes next by itself; absent: nothing automatic.')
    .optional(),
  command: text(512).describe('One command that a person can run.').optional(),
  alerts: z.array(alertStateSchema).max(32).describe('What came of each alert.').optional(),
});

export type Severity = z.infer<typeof severitySchema>;
export type IncidentOutcome = z.infer<typeof incidentOutcomeSchema>;
export type AlertState = z.infer<typeof alertStateSchema>;
export type Incident = z.infer<typeof incidentSchema>;
