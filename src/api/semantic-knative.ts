/** Knative: the target and the provider go together, and its autoscaler is its own (flagger-behaviour 2.1, verification 2). */
import type { Canary } from './canary.ts';
import type { Problem } from './problems.ts';

/** Adds what does not fit; only the spec's own provider counts, not the default one. */
export function checkKnative({ spec }: Canary, found: { problems: Problem[] }): void {
  const { targetRef, provider, autoscalerRef } = spec;
  const isKnative = targetRef.kind === 'Service' && targetRef.apiVersion === 'serving.knative.dev/v1';
  if (isKnative && provider !== 'knative')
    found.problems.push({ path: 'spec.provider', message: 'must be knative for a Knative Service' });
  if (!isKnative && provider === 'knative')
    found.problems.push({
      path: 'spec.targetRef',
      message: 'must be a Service of serving.knative.dev/v1 for provider knative',
    });
  if (isKnative && spec.service?.name !== undefined && spec.service.name !== targetRef.name)
    found.problems.push({
      path: 'spec.service.name',
      message: `must be ${targetRef.name}, as spec.targetRef.name, or absent: the Knative Service divides the requests itself`,
    });
  if (isKnative && autoscalerRef)
    found.problems.push({
      path: 'spec.autoscalerRef',
      message: 'cannot be used with a Knative Service, which scales itself',
    });
}
