/** Webhooks and alerts of an analysis. */
import * as z from 'zod';
import { duration, flaggerDuration, stringMap } from './schema.ts';

/** When Flagger's webhooks run; the empty string means rollout. */
export const webhookTypeSchema = z.enum([
  '',
  'confirm-rollout',
  'pre-rollout',
  'rollout',
  'confirm-promotion',
  'post-rollout',
  'event',
  'rollback',
  'confirm-traffic-increase',
]);

const webhookFields = {
  name: z.string().describe('Name of the webhook, for events and messages.'),
  url: z.string().describe('Address that gets the POST request.'),
  muteAlert: z.boolean().describe('Sends no alert when this webhook fails. Default false.').optional(),
  timeout: flaggerDuration().describe('Longest time of one attempt, as 10s or 1m. Default 10s.').optional(),
  retries: z.number().describe('Further attempts after a failed one. Default 0.').optional(),
  disableTLS: z.boolean().describe('Accepts any server certificate. Default false.').optional(),
  metadata: stringMap().describe('Values passed on to the receiver.').optional(),
};

export const canaryWebhookSchema = z.object({
  ...webhookFields,
  type: webhookTypeSchema.describe('When the webhook runs. Default rollout: at every check.').optional(),
  deadline: duration()
    .describe(
      'Gates only: closed for longer than this, the release fails. Default: a gate waits without end.',
    )
    .optional(),
});

/** A webhook of postPromotion: asked at every check after promotion. */
export const postPromotionWebhookSchema = z.object({
  ...webhookFields,
  type: z.enum(['', 'post-promotion']).describe('Only post-promotion, which is the default.').optional(),
});

export const alertSeveritySchema = z.enum(['', 'info', 'warn', 'error']);

export const canaryAlertSchema = z.object({
  name: z.string().describe('Name of the alert, for messages.'),
  severity: alertSeveritySchema
    .describe('Lowest severity that is sent: info sends all, error only errors.')
    .optional(),
  providerRef: z
    .object({
      name: z.string().describe('Name of the AlertProvider.'),
      namespace: z.string().describe("Its namespace. Default: the Canary's.").optional(),
    })
    .describe('The AlertProvider to send to.'),
});

export type WebhookType = z.infer<typeof webhookTypeSchema>;
export type CanaryWebhook = z.infer<typeof canaryWebhookSchema>;
export type PostPromotionWebhook = z.infer<typeof postPromotionWebhookSchema>;
export type AlertSeverity = z.infer<typeof alertSeveritySchema>;
export type CanaryAlert = z.infer<typeof canaryAlertSchema>;
