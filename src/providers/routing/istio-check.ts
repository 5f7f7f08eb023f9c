/** What Istio cannot do, by field. */
import type { Canary } from '../../api/canary/canary.ts';
import type { RouteProblem } from '../../contracts/routing.ts';
import { isTcp } from './istio-read.ts';

/** Problems of a Canary with provider istio; empty when all is well. */
export function istioProblems(canary: Canary): RouteProblem[] {
  const { service, analysis } = canary.spec;
  const { match = [], iterations, sessionAffinity } = analysis ?? {};
  const warning = (path: string, message: string): RouteProblem => ({ severity: 'warning', path, message });
  const error = (path: string, message: string): RouteProblem => ({ severity: 'error', path, message });
  const isDelegateWithMore =
    service?.delegation && [service.hosts, service.gateways].some((one) => one?.length);
  const open = match.flatMap(({ headers, queryParams, sourceLabels }, index) =>
    Object.keys({ ...headers, ...queryParams, ...sourceLabels }).length > 0 ? [] : index,
  );
  const noConditions = 'needs headers, queryParams or sourceLabels: without them every request would match';
  return [
    ...(isDelegateWithMore
      ? [
          error(
            'spec.service.delegation',
            'cannot be used with hosts or gateways: a delegate VirtualService takes those of its root',
          ),
        ]
      : []),
    ...(isTcp(service) ? tcpProblems(canary) : []),
    ...(sessionAffinity && match.length > 0 && iterations
      ? [warning('spec.analysis.sessionAffinity', 'has no effect together with analysis.match')]
      : []),
    ...open.map((index) => error(`spec.analysis.match[${index}]`, noConditions)),
  ];
}

/** A connection has no headers, and is not copied. */
function tcpProblems({ spec }: Canary): RouteProblem[] {
  const { match, mirror, sessionAffinity } = spec.analysis ?? {};
  const fields = Object.entries({ match: match?.length, mirror, sessionAffinity });
  return fields
    .filter(([, value]) => Boolean(value))
    .map(([field]) => ({
      severity: field === 'match' ? 'error' : 'warning',
      path: `spec.analysis.${field}`,
      message:
        field === 'match' ? 'is not supported with appProtocol tcp' : 'has no effect with appProtocol tcp',
    }));
}
