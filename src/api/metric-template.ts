/** MetricTemplate (flagger.app/v1beta1): a query with a provider, shared by Canaries. */
import * as z from 'zod';
import type { KubernetesObject } from './kubernetes.ts';

const metricProviderTypeSchema = z.enum([
  'prometheus',
  'influxdb',
  'datadog',
  'externalmetrics',
  'stackdriver',
  'cloudwatch',
  'newrelic',
  'graphite',
  'dynatrace',
  'keptn',
  'splunk',
]);

const metricProviderSchema = z.object({
  type: metricProviderTypeSchema.describe('Kind of metric system.'),
  address: z.string().describe('Address of its API.').optional(),
  headers: z
    .record(z.string(), z.array(z.string()))
    .describe('Headers sent with every query (Prometheus).')
    .optional(),
  secretRef: z
    .object({ name: z.string().describe('Name of the Secret.') })
    .describe("Secret with the credentials, in the template's namespace.")
    .optional(),
  region: z.string().describe('Region (CloudWatch).').optional(),
  insecureSkipVerify: z.boolean().describe('Accepts any server certificate. Default false.').optional(),
});

export const metricTemplateSpecSchema = z.object({
  provider: metricProviderSchema.describe('Who answers the query.'),
  query: z
    .string()
    .describe(
      'The query as a Go template; known are name, namespace, target, service, ingress, route, interval, variables, pods and otherPods (regular expressions of pod names).',
    ),
});

type MetricTemplateSpec = z.infer<typeof metricTemplateSpecSchema>;

/** A MetricTemplate as the API server stores it. */
export interface MetricTemplate extends KubernetesObject {
  apiVersion: 'flagger.app/v1beta1';
  kind: 'MetricTemplate';
  spec: MetricTemplateSpec;
}
