/** Check of references to other namespaces, for clusters where namespaces belong to different people (Flagger's -no-cross-namespace-refs). */
import type { Canary } from './canary.ts';
import type { Problem } from './problems.ts';

/** Adds every reference that leaves the Canary's namespace; an empty one stays in it. */
export function checkNamespaces({ metadata, spec }: Canary, found: { problems: Problem[] }): void {
  const own = metadata.namespace ?? '';
  for (const [path, namespace] of namespacesOf(spec)) {
    if (!namespace || namespace === own) continue;
    found.problems.push({
      path,
      message: `is ${namespace}; references to other namespaces are forbidden here`,
    });
  }
}

function namespacesOf(spec: Canary['spec']): Array<readonly [path: string, namespace: string | undefined]> {
  const metrics = (list: string, entries: Canary['spec']['analysis']['metrics'] = []) =>
    entries.map(
      ({ templateRef }, index) =>
        [`spec.${list}.metrics[${index}].templateRef.namespace`, templateRef?.namespace] as const,
    );
  return [
    ['spec.upstreamRef.namespace', spec.upstreamRef?.namespace],
    ...metrics('analysis', spec.analysis?.metrics),
    ...metrics('postPromotion', spec.postPromotion?.metrics),
    ...(spec.analysis?.alerts ?? []).map(
      ({ providerRef }, index) =>
        [`spec.analysis.alerts[${index}].providerRef.namespace`, providerRef.namespace] as const,
    ),
  ];
}
