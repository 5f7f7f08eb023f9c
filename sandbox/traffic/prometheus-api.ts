import type { JsonRecord } from '../api-server/json.ts';
import type { ApiRequest } from '../api-server/request.ts';
import type { TrafficModel, WorkloadTraffic } from './traffic.ts';

const PATH = '/prometheus/api/v1/query';
const QUERY = /^(\w+)\s*\{([^}]*)\}$/;
const LABEL = /(\w+)\s*=\s*"([^"]*)"/g;

const METRICS: Readonly<Record<string, (traffic: WorkloadTraffic) => number>> = {
  sandbox_success_rate: (traffic) => traffic.successPercent,
  sandbox_request_duration_ms: (traffic) => traffic.durationMs,
};

/** An HTTP answer, by the clock of the sandbox. */
interface PrometheusAnswer {
  readonly code: number;
  readonly headers: { readonly date: string };
  readonly body: JsonRecord;
}

/**
 * Answers instant queries in Prometheus' format: `sandbox_success_rate` (percent) and `sandbox_request_duration_ms`, both with labels
 * namespace and workload, and `vector(N)`. No traffic gives an empty result. Undefined for other paths.
 */
export function answerQuery(
  traffic: TrafficModel,
  nowMs: number,
  request: ApiRequest,
): PrometheusAnswer | undefined {
  if (request.path !== PATH) return undefined;
  return { ...answerTo(traffic, nowMs, request), headers: { date: new Date(nowMs).toUTCString() } };
}

function answerTo(
  traffic: TrafficModel,
  nowMs: number,
  request: ApiRequest,
): Omit<PrometheusAnswer, 'headers'> {
  const form = request.method === 'POST' ? new URLSearchParams(request.body) : request.query;
  const query = (form.get('query') ?? '').trim();
  const constant = /^vector\((-?[\d.]+)\)$/.exec(query);
  if (constant) return vector([{ metric: {}, value: [nowMs / 1000, constant[1]] }]);
  const [, name = '', selector = ''] = QUERY.exec(query) ?? [];
  const read = METRICS[name];
  const labels = Object.fromEntries([...selector.matchAll(LABEL)].map(([, key, value]) => [key, value]));
  if (!read || labels.namespace === undefined || labels.workload === undefined) {
    const error = `the sandbox answers only ${Object.keys(METRICS).join(', ')} with labels namespace and workload, and vector(N)`;
    return { code: 400, body: { status: 'error', errorType: 'bad_data', error } };
  }
  const seen = traffic.workload(labels.namespace, labels.workload);
  return vector(seen ? [{ metric: labels, value: [nowMs / 1000, String(read(seen))] }] : []);
}

function vector(result: JsonRecord[]): Omit<PrometheusAnswer, 'headers'> {
  return { code: 200, body: { status: 'success', data: { resultType: 'vector', result } } };
}
