import type { Clock } from '../api/clock.ts';
import type { MetricTemplate } from '../api/metric-template.ts';
import { parseMetricTemplate } from '../api/parse.ts';
import type { Cluster, Metrics, WatchedSet } from '../engine/ports/ports.ts';
import type { HttpClient } from '../http/types.ts';
import { readMetric, templateOf } from '../metrics/read-metric.ts';
import { secretValues } from './secret-values.ts';

/** What asking metrics needs. */
export interface MetricsPortOptions {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly metricsServer: string;
  /** All MetricTemplates, as watched. */
  readonly templates: WatchedSet;
  readonly cluster: Pick<Cluster, 'get'>;
}

/** The engine's view of metric providers. Secrets of templates are read when they are needed and kept nowhere. */
export function createMetricsPort(options: MetricsPortOptions): Metrics {
  const { clock, http, metricsServer } = options;
  return {
    async read({ canary, metric, role, provider, workload, pods }, signal) {
      const reference = templateOf(canary, metric);
      const template = reference && findTemplate(options.templates, reference);
      if (typeof template === 'string') return { kind: 'error', detail: template };
      const secret = template && (await secretOf(options.cluster, template));
      const source = {
        canary,
        metric,
        role,
        provider,
        workload,
        pods,
        metricsServer,
        template,
        secret,
        nowMs: clock.nowMs(),
      };
      return readMetric(source, {
        send: (request) => http.send({ ...request, signal: joined(request.signal, signal) }),
      });
    },
  };
}

/** A template that cannot be read says why. */
function findTemplate(
  templates: WatchedSet,
  { namespace, name }: { namespace: string; name: string },
): MetricTemplate | string | undefined {
  const object = templates.get(namespace, name);
  if (!object) return undefined;
  const parsed = parseMetricTemplate(object);
  if (parsed.ok) return parsed.value;
  const [problem] = parsed.problems;
  return `MetricTemplate ${namespace}/${name}: ${problem?.path ?? ''} ${problem?.message ?? ''}`;
}

function secretOf(
  cluster: Pick<Cluster, 'get'>,
  { metadata, spec }: MetricTemplate,
): Promise<Record<string, string> | undefined> {
  const { secretRef } = spec.provider;
  return secretValues(cluster, metadata.namespace, secretRef?.name);
}

function joined(own: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return own ? AbortSignal.any([own, other]) : other;
}
