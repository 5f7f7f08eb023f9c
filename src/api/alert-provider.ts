/** AlertProvider (flagger.app/v1beta1): where alerts are sent. */
import * as z from 'zod';
import type { KubernetesObject } from './kubernetes.ts';
import { oneOf } from './schema.ts';

/** Flagger's five, and two more that only our CRD accepts. */
export const alertProviderTypeSchema = z.enum([
  'slack',
  'msteams',
  'discord',
  'rocket',
  'gchat',
  'alertmanager',
  'webhook',
]);

const fields = z.object({
  type: alertProviderTypeSchema
    .describe('Kind of receiver; alertmanager and webhook are unknown to Flagger.')
    .optional(),
  channel: z.string().describe('Channel to write to. Default general.').optional(),
  username: z.string().describe('Name shown as the author. Default flagger.').optional(),
  address: z.string().describe('Address of the incoming webhook.').optional(),
  proxy: z.string().describe('HTTP proxy to go through.').optional(),
  secretRef: z
    .object({ name: z.string().describe('Name of the Secret.') })
    .describe(
      'Secret with address, and optionally token: sent as Bearer token by slack, alertmanager and webhook.',
    )
    .optional(),
});

/** Exactly one of type + address and type + secretRef, as Flagger's CRD demands. */
export const alertProviderSpecSchema = oneOf(fields, 'exactlyOne', [
  ['type', 'address'],
  ['type', 'secretRef'],
]);

export type AlertProviderType = z.infer<typeof alertProviderTypeSchema>;
export type AlertProviderSpec = z.infer<typeof alertProviderSpecSchema>;

/** An AlertProvider as the API server stores it. */
export interface AlertProvider extends KubernetesObject {
  apiVersion: 'flagger.app/v1beta1';
  kind: 'AlertProvider';
  spec: AlertProviderSpec;
}
