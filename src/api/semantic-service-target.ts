/** A Service as target: its pods are somebody else's, so that only what is in front of it can divide requests (flagger-behaviour 2.2, 2.9). */
import type { Canary } from './canary.ts';
import type { CanaryMetric } from './canary-metric.ts';
import type { Problem } from './problems.ts';
import { builtInMetrics } from './semantic-metric.ts';

/** Adds what cannot work with a target of kind Service; `provider` is the Canary's own, or the default one. */
export function checkServiceTarget(
  { spec }: Canary,
  provider: string | undefined,
  found: { problems: Problem[] },
): void {
  const { targetRef, service } = spec;
  if (targetRef.kind !== 'Service' || targetRef.apiVersion === 'serving.knative.dev/v1') return;
  const problem = (path: string, message: string) => void found.problems.push({ path, message });
  if (targetRef.apiVersion !== 'v1')
    problem(
      'spec.targetRef.apiVersion',
      'must be v1 for a Service, or serving.knative.dev/v1 for one of Knative',
    );
  if (provider === 'kubernetes')
    problem(
      'spec.provider',
      'kubernetes moves traffic by the selector of a Service it generates, and here the Service is the target; put a route in front of it: gatewayapi:v1 or contour',
    );
  if (!service)
    problem('spec.service.port', 'is missing; the route has to know which port of the Service to use');
  if (service?.name !== undefined && service.name !== targetRef.name)
    problem(
      'spec.service.name',
      `must be ${targetRef.name}, as spec.targetRef.name, or absent: the route and the copies of the Service are called after it`,
    );
  if (!provider?.startsWith('gatewayapi:')) return;
  for (const list of ['analysis', 'postPromotion'] as const)
    spec[list]?.metrics?.forEach((metric, index) => {
      if (!needsPods(metric)) return;
      const message = `${metric.name} is counted by the names of pods, which a Service as target does not say; use a templateRef or a query`;
      problem(`spec.${list}.metrics[${index}].name`, message);
    });
}

/** Built-in names are asked whatever else the metric says. */
function needsPods({ name }: CanaryMetric): boolean {
  return (builtInMetrics as readonly string[]).includes(name);
}
