/** What the kind of the target allows: rolled out in place (ADR 21), a Knative Service, or a Service (flagger-behaviour 2.1, 2.2, 2.9). */

import type { Findings } from '../problems.ts';
import { apexName, type Canary, isBuiltIn, sharesWorkload, targetApiVersion } from './canary.ts';

const routed =
  'needs a router in front of two workloads, and provider native steps the pods of one: leave it out, or choose a provider that copies';

const inPlaceKinds: readonly string[] = ['Deployment', 'StatefulSet', 'DaemonSet'];
const scaledPartition =
  'provider native holds a StatefulSet by a partition, which is a number and no share: a scaler that adds pods at a step would start the new release in them. Leave it out, and set replicas';

const cannotBeCopied =
  'must be native for a StatefulSet: its pods have names and volumes of their own, so that no copy can run beside it';

/** Only pods of a DaemonSet are taken node by node. */
function checkNodeOrder({ spec }: Canary, provider: string | undefined, found: Findings): void {
  if (!spec.analysis.nodeOrder || (sharesWorkload(provider) && spec.targetRef.kind === 'DaemonSet')) return;
  const message = 'orders the nodes of a DaemonSet with provider native, and nothing else: leave it out';
  found.problems.push({ path: 'spec.analysis.nodeOrder', message });
}

/** Adds what cannot work in place; `provider` is the Canary's own, or the default one. */
export function checkNative(canary: Canary, provider: string | undefined, found: Findings): void {
  checkNodeOrder(canary, provider, found);
  const { spec } = canary;
  const { targetRef, analysis, autoscalerRef } = spec;
  const problem = (path: string, message: string) => void found.problems.push({ path, message });
  if (!sharesWorkload(provider)) {
    if (targetRef.kind === 'StatefulSet') problem('spec.provider', cannotBeCopied);
    return;
  }
  if (!inPlaceKinds.includes(targetRef.kind))
    problem(
      'spec.targetRef.kind',
      `must be one of ${inPlaceKinds.join(', ')} for provider native: a ${targetRef.kind} has no pods of its own`,
    );
  if (targetRef.kind === 'StatefulSet' && autoscalerRef) problem('spec.autoscalerRef', scaledPartition);
  if (analysis.match?.length) problem('spec.analysis.match', routed);
  if (analysis.mirror === true) problem('spec.analysis.mirror', routed);
  if (analysis.sessionAffinity) problem('spec.analysis.sessionAffinity', routed);
  if ((analysis.iterations ?? 0) > 0)
    problem(
      'spec.analysis.iterations',
      'provider native goes by shares of the pods: give stepWeight with maxWeight, or stepWeights',
    );
  for (const part of ['apex', 'primary'] as const)
    if (spec.service?.[part])
      found.warnings.push({
        path: `spec.service.${part}`,
        message: 'has no effect: with provider native only Service -canary is generated',
      });
}

// Knative: the target and the provider go together, and its autoscaler is its own (flagger-behaviour 2.1, verification 2).

/** Adds what does not fit; only the spec's own provider counts, not the default one. */
export function checkKnative({ spec }: Canary, found: Findings): void {
  const { targetRef, provider, autoscalerRef } = spec;
  const isKnative = targetRef.kind === 'Service' && targetRef.apiVersion === 'serving.knative.dev/v1';
  if (isKnative && provider !== 'knative')
    found.problems.push({ path: 'spec.provider', message: 'must be knative for a Knative Service' });
  if (!isKnative && provider === 'knative')
    found.problems.push({
      path: 'spec.targetRef',
      message: 'must be a Service of serving.knative.dev/v1 for provider knative',
    });
  if (isKnative && spec.service?.name && spec.service.name !== targetRef.name)
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

// A Service as target: Holdfast does not manage its pods, so that only a route in front of it can split requests (flagger-behaviour 2.2, 2.9).

/** Adds what cannot work with a target of kind Service; `provider` is the Canary's own, or the default one. */
export function checkServiceTarget({ spec }: Canary, provider: string | undefined, found: Findings): void {
  const { targetRef, service } = spec;
  if (targetRef.kind !== 'Service' || targetRef.apiVersion === 'serving.knative.dev/v1') return;
  const problem = (path: string, message: string) => void found.problems.push({ path, message });
  if (targetApiVersion(targetRef) !== 'v1')
    problem('spec.targetRef.apiVersion', 'must be serving.knative.dev/v1 for a Service of Knative');
  if (provider === 'kubernetes')
    problem(
      'spec.provider',
      'kubernetes moves traffic by the selector of a Service it generates, and here the Service is the target; put a route in front of it: gatewayapi:v1 or contour',
    );
  if (!service)
    problem('spec.service.port', 'is missing; the route has to know which port of the Service to use');
  if (service?.name && service.name !== targetRef.name)
    problem(
      'spec.service.name',
      `must be ${targetRef.name}, as spec.targetRef.name, or absent: the route and the copies of the Service are called after it`,
    );
  if (!provider?.startsWith('gatewayapi:')) return;
  for (const list of ['analysis', 'postPromotion'] as const)
    spec[list]?.metrics?.forEach((metric, index) => {
      if (!isBuiltIn(metric)) return;
      const message = `${metric.name} is counted by the names of pods, which a Service as target does not say; use a templateRef or a query`;
      problem(`spec.${list}.metrics[${index}].name`, message);
    });
}

// Names of the Services that are made: shorter, and of fewer characters, than names of workloads may be.

const mostCharacters = 63;

/** Adds a name for which the API server would refuse the Services; `provider` is the Canary's own, or the default one. */
export function checkServiceNames(canary: Canary, provider: string | undefined, found: Findings): void {
  const { service, targetRef } = canary.spec;
  if (provider === 'knative' || !service) return;
  const apex = apexName(canary);
  const longest = `${apex}-${sharesWorkload(provider) ? 'canary' : 'primary'}`;
  const path = service.name ? 'spec.service.name' : 'spec.targetRef.name';
  const isNamedAfterTarget = !service.name && targetRef.kind !== 'Service';
  const way = isNamedAfterTarget ? '; give the Services another name with spec.service.name' : '';
  if (longest.length > mostCharacters)
    found.problems.push({
      path,
      message: `is too long: Service ${longest} must fit in ${mostCharacters} characters${way}`,
    });
  else if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(apex))
    found.problems.push({
      path,
      message: `${apex} cannot be the name of a Service, which has lower-case letters, digits and - alone${way}`,
    });
}
