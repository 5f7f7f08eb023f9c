/** A workload that is rolled out in place: what takes two workloads, or a router in front of them, cannot be had (ADR 21). */
import type { Canary } from './canary.ts';
import { sharesWorkload } from './effective.ts';
import type { Problem } from './problems.ts';

const routed =
  'needs a router in front of two workloads, and provider native steps the pods of one: leave it out, or choose a provider that copies';

const inPlaceKinds: readonly string[] = ['Deployment', 'StatefulSet', 'DaemonSet'];
const scaledPartition =
  'provider native holds a StatefulSet by a partition, which is a number and no share: a scaler that adds pods at a step would start the new release in them. Leave it out, and set replicas';

/** A StatefulSet cannot be copied: its pods have names and volumes of their own. */
function checkCopied({ spec }: Canary, found: { problems: Problem[] }): void {
  if (spec.targetRef.kind !== 'StatefulSet') return;
  found.problems.push({
    path: 'spec.provider',
    message:
      'must be native for a StatefulSet: its pods have names and volumes of their own, so that no copy can stand beside it',
  });
}

/** Only pods of a DaemonSet are taken node by node. */
function checkNodeOrder(
  { spec }: Canary,
  provider: string | undefined,
  found: { problems: Problem[] },
): void {
  if (!spec.analysis.nodeOrder || (sharesWorkload(provider) && spec.targetRef.kind === 'DaemonSet')) return;
  const message = 'orders the nodes of a DaemonSet with provider native, and nothing else: leave it out';
  found.problems.push({ path: 'spec.analysis.nodeOrder', message });
}

/** Adds what cannot work in place; `provider` is the Canary's own, or the default one. */
export function checkNative(
  canary: Canary,
  provider: string | undefined,
  found: { problems: Problem[]; warnings: Problem[] },
): void {
  checkNodeOrder(canary, provider, found);
  if (!sharesWorkload(provider)) return checkCopied(canary, found);
  const { spec } = canary;
  const { targetRef, analysis, autoscalerRef } = spec;
  const problem = (path: string, message: string) => void found.problems.push({ path, message });
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
