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
  'loki',
  'web',
  'job',
]);

const metricProviderSchema = z.object({
  type: metricProviderTypeSchema.describe('Kind of metric system.'),
  address: z
    .string()
    .describe(
      'Address of its API. Default: the public one of Datadog, New Relic, CloudWatch and Cloud Monitoring, the Kubernetes API for externalmetrics; the others need it.',
    )
    .optional(),
  headers: z
    .record(z.string(), z.array(z.string()))
    .describe('Headers sent with every query over HTTP.')
    .optional(),
  secretRef: z
    .object({ name: z.string().describe('Name of the Secret.') })
    .describe(
      "Secret with the credentials, in the template's namespace; its keys depend on the type. With ca.crt, only servers of that authority are trusted; tls.crt and tls.key are the client's certificate.",
    )
    .optional(),
  region: z.string().describe('Region (CloudWatch).').optional(),
  jsonPointer: z
    .string()
    .max(512)
    .regex(/^(\/|$)/)
    .describe(
      'Holdfast, type web: JSON pointer to the value in the answer, as /data/errorRate. Default: the answer itself.',
    )
    .optional(),
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
