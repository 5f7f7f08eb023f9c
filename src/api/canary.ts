/** Canary (flagger.app/v1beta1): every field Flagger 1.44 accepts, and the optional ones of design section 2.3. */
import * as z from 'zod';
import { canaryAnalysisSchema } from './canary-analysis.ts';
import { canaryServiceSchema } from './canary-service.ts';
import type { CanaryStatus } from './canary-status.ts';
import type { KubernetesObject } from './kubernetes.ts';
import { postPromotionSchema } from './post-promotion.ts';
import { stringMap, text } from './schema.ts';

/** Routing providers: Flagger's list, and `native` for a rolling update that is stepped in place. */
export const canaryProviderSchema = z.enum([
  'apisix',
  'appmesh',
  'appmesh:v1beta2',
  'contour',
  'gatewayapi:v1',
  'gatewayapi:v1beta1',
  'gloo',
  'istio',
  'knative',
  'kubernetes',
  'kuma',
  'linkerd',
  'nginx',
  'osm',
  'skipper',
  'smi:v1alpha1',
  'smi:v1alpha2',
  'smi:v1alpha3',
  'traefik',
  'native',
]);

export const targetKindSchema = z.enum(['DaemonSet', 'Deployment', 'Service', 'StatefulSet']);

function reference<Kind extends z.ZodType>(kind: Kind) {
  return z.object({
    apiVersion: z.string().describe('API version of the object.'),
    kind: kind.describe('Kind of the object.'),
    name: z.string().describe("Name of the object, in the Canary's namespace."),
  });
}

export const autoscalerRefSchema = reference(z.enum(['HorizontalPodAutoscaler', 'ScaledObject'])).extend({
  primaryScalerQueries: stringMap()
    .describe("ScaledObject: queries of the primary's triggers, by name.")
    .optional(),
  primaryScalerReplicas: z
    .object({
      minReplicas: z.int().min(1).describe('Fewest replicas of the primary.').optional(),
      maxReplicas: z.int().min(1).describe('Most replicas of the primary.').optional(),
    })
    .describe("Bounds of the primary's scaler.")
    .optional(),
});

export const canarySpecSchema = z.object({
  provider: canaryProviderSchema
    .describe('Who splits the traffic. Default: --provider of the program.')
    .optional(),
  metricsServer: z
    .string()
    .describe('Prometheus address for built-in metrics and inline queries.')
    .optional(),
  targetRef: reference(targetKindSchema).describe('The workload to roll out.'),
  autoscalerRef: autoscalerRefSchema.describe('The scaler of the workload.').optional(),
  ingressRef: reference(z.enum(['Ingress']))
    .describe('The Ingress to split (nginx, skipper).')
    .optional(),
  routeRef: reference(z.enum(['ApisixRoute']))
    .describe('The route to split (APISIX).')
    .optional(),
  upstreamRef: reference(z.enum(['Upstream']))
    .extend({ namespace: z.string().describe('Namespace of the Upstream.').optional() })
    .describe('The Upstream whose settings are copied (Gloo).')
    .optional(),
  service: canaryServiceSchema.describe('The Services and routes to generate.').optional(),
  analysis: canaryAnalysisSchema.describe('How a new release is tried.'),
  postPromotion: postPromotionSchema
    .describe('Holdfast: what is watched after promotion and what a failure leads to.')
    .optional(),
  revisionIgnore: z
    .array(text(512).regex(/^\//))
    .max(50)
    .describe(
      'Holdfast: JSON pointers into the workload that do not make a new release, as /spec/template/metadata/annotations/build.',
    )
    .optional(),
  progressDeadlineSeconds: z
    .number()
    .describe('Longest time in seconds a workload may take to become ready. Default 600.')
    .optional(),
  skipAnalysis: z.boolean().describe('Promotes without analysis. Default false.').optional(),
  revertOnDeletion: z
    .boolean()
    .describe('Gives the workload its traffic back when the Canary is deleted. Default false.')
    .optional(),
  suspend: z.boolean().describe('Stops this Canary where it is. Default false.').optional(),
});

export type CanaryProvider = z.infer<typeof canaryProviderSchema>;
export type TargetKind = z.infer<typeof targetKindSchema>;
export type AutoscalerRef = z.infer<typeof autoscalerRefSchema>;
export type CanarySpec = z.infer<typeof canarySpecSchema>;

/** A Canary as the API server stores it. */
export interface Canary extends KubernetesObject {
  apiVersion: 'flagger.app/v1beta1';
  kind: 'Canary';
  spec: CanarySpec;
  status?: CanaryStatus;
}
