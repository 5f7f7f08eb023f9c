import type { CanaryMetric } from '../../api/canary/analysis.ts';
import { parseCanary } from '../../api/kinds/parse.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { queryProblem } from '../../providers/metrics/query-check.ts';
import { templateOf } from '../../providers/metrics/question.ts';
import type { RenderedObject, RenderResult } from '../../render/rendered-object.ts';
import { kindOf } from './kinds.ts';
import type { Finding } from './releases.ts';

/** Queries of MetricTemplates and Canaries with variables or functions that are not there. `all`: every object that was found. */
export function queryFindings({ objects, lineOf }: RenderResult, all: readonly RenderedObject[]): Finding[] {
  return objects.flatMap((entry) =>
    problemsIn(entry.object, all).map(({ field, message }): Finding => {
      const { origin } = entry;
      return { file: origin.file, line: lineOf(origin, field), field, message, severity: 'problem' };
    }),
  );
}

interface QueryProblem {
  readonly field: string;
  readonly message: string;
}

function problemsIn(object: KubernetesObject, all: readonly RenderedObject[]): QueryProblem[] {
  const kind = kindOf(object);
  if (kind === 'MetricTemplate') {
    const { query } = (object.spec ?? {}) as { query?: unknown };
    const message = typeof query === 'string' ? queryProblem(query) : undefined;
    return message === undefined ? [] : [{ field: 'spec.query', message }];
  }
  const parsed = kind === 'Canary' ? parseCanary(object) : undefined;
  if (!parsed?.ok) return [];
  const canary = parsed.value;
  const { analysis, postPromotion } = canary.spec;
  const problem = (metric: CanaryMetric, path: string): QueryProblem[] => {
    const { query, templateVariables: variables = {} } = metric;
    const reference = templateOf(canary, metric);
    const template =
      reference &&
      all.find(
        ({ object: other }) =>
          kindOf(other) === 'MetricTemplate' &&
          other.metadata.name === reference.name &&
          (other.metadata.namespace ?? reference.namespace) === reference.namespace,
      )?.object;
    const text = query ?? (template?.spec as { query?: unknown } | undefined)?.query;
    if (typeof text !== 'string') return [];
    // Problems that do not depend on a Canary are reported at the template.
    if (query === undefined && queryProblem(text) !== undefined) return [];
    const message = queryProblem(text, { canary, variables });
    return message === undefined
      ? []
      : [{ field: `${path}.${query === undefined ? 'templateVariables' : 'query'}`, message }];
  };
  return [
    ...(analysis.metrics ?? []).flatMap((metric, at) => problem(metric, `spec.analysis.metrics[${at}]`)),
    ...(postPromotion?.metrics ?? []).flatMap((metric, at) =>
      problem(metric, `spec.postPromotion.metrics[${at}]`),
    ),
  ];
}
