/** Canary (flagger.app/v1beta1): every field Flagger 1.44 accepts, and the optional ones of design section 2.3. */
import { parse as parseYaml } from 'yaml';
import * as z from 'zod';
import type { KubernetesObject } from '../kubernetes.ts';
import { limits } from '../limits.ts';
import { type Problem, problemOf } from '../problems.ts';
import { stringMap, text } from '../schema.ts';
import { canaryAnalysisSchema, postPromotionSchema } from './analysis.ts';
import { canaryServiceSchema } from './service.ts';
import type { CanaryStatus } from './status.ts';

/** Routing providers: Flagger's list, and `native` for a rolling update that is stepped in place. */
const canaryProviderSchema = z.enum([
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

const targetKindSchema = z.enum(['DaemonSet', 'Deployment', 'Service', 'StatefulSet']);

function reference<Kind extends z.ZodType>(kind: Kind) {
  return z.object({
    apiVersion: z.string().describe('API version of the object.'),
    kind: kind.describe('Kind of the object.'),
    name: z.string().describe("Name of the object, in the Canary's namespace."),
  });
}

const autoscalerRefSchema = reference(z.enum(['HorizontalPodAutoscaler', 'ScaledObject'])).extend({
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
  routeRef: reference(z.enum(['ApisixRoute', 'HTTPRoute', 'HTTPProxy', 'VirtualService']))
    .describe(
      'The route to split (APISIX). Holdfast: with HTTPRoute, HTTPProxy or VirtualService a route that you keep, of which only the weights are written (gatewayapi, contour, istio).',
    )
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

export type CanarySpec = z.infer<typeof canarySpecSchema>;

/** A Canary as the API server stores it. */
export interface Canary extends KubernetesObject {
  apiVersion: 'flagger.app/v1beta1';
  kind: 'Canary';
  spec: CanarySpec;
  status?: CanaryStatus;
  /** The status as the API server has it; absent where that is the same. */
  storedStatus?: CanaryStatus;
}

// `spec.postPromotion` as an annotation, for clusters where Flagger's own CRD prunes the field (design section 2.3).

/** The annotation's key; its value is the YAML that would stand under spec.postPromotion. */
export const postPromotionAnnotation = 'holdfast.dev/post-promotion';

const at = ['metadata', 'annotations', postPromotionAnnotation];
const atText = `metadata.annotations[${JSON.stringify(postPromotionAnnotation)}]`;

/** The Canary with the annotation moved to spec.postPromotion. A field in the spec wins: the annotation is not read then. */
export function withAnnotatedPostPromotion(canary: Canary): { canary: Canary; problems: Problem[] } {
  const text = canary.metadata.annotations?.[postPromotionAnnotation];
  if (text === undefined || canary.spec.postPromotion) return { canary, problems: [] };
  if (Buffer.byteLength(text) > limits.postPromotionAnnotationBytes)
    return { canary, problems: [{ path: atText, message: 'is too long' }] };
  let value: unknown;
  try {
    value = parseYaml(text, { maxAliasCount: 0, logLevel: 'error' });
  } catch {
    return { canary, problems: [{ path: atText, message: 'cannot be read as YAML' }] };
  }
  const parsed = postPromotionSchema.safeParse(value);
  if (parsed.success)
    return { canary: { ...canary, spec: { ...canary.spec, postPromotion: parsed.data } }, problems: [] };
  return { canary, problems: parsed.error.issues.map((issue) => problemOf(issue, value, at)) };
}
