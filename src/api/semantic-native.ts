/** A workload that is rolled out in place: what takes two workloads, or a router in front of them, cannot be had (ADR 21). */
import type { Canary } from './canary.ts';
import { sharesWorkload } from './effective.ts';
import type { Problem } from './problems.ts';

const routed =
  'needs a router in front of two workloads, and provider native steps the pods of one: leave it out, or choose a provider that copies';

/** Adds what cannot work in place; `provider` is the Canary's own, or the default one. */
export function checkNative(
  { spec }: Canary,
  provider: string | undefined,
  found: { problems: Problem[]; warnings: Problem[] },
): void {
  if (!sharesWorkload(provider)) return;
  const { targetRef, analysis } = spec;
  const problem = (path: string, message: string) => void found.problems.push({ path, message });
  if (targetRef.kind !== 'Deployment')
    problem(
      'spec.targetRef.kind',
      `must be Deployment for provider native; this version cannot step a ${targetRef.kind} yet`,
    );
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
