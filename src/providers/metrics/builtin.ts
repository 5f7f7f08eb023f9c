/**
 * Built-in metrics by routing provider (flagger-behaviour.md 2.5, 3). The queries are Flagger's with two differences: when every request
 * fails there is no series of good ones, which reads as 0 % here and as "no values" there; and pods of DaemonSets are found (3.13).
 */
import { sharesWorkload } from '../../api/defaults.ts';
import { literal, type MetricRole, type MetricSubject } from './subject.ts';

/** Names that need neither query nor template. */
type BuiltInName = 'request-success-rate' | 'request-duration';

/** PromQL of one built-in metric. */
interface BuiltInQuery {
  /** Percent, or milliseconds after multiplication by `factor`. */
  promql: string;
  factor: number;
  /** Durations are cut to whole milliseconds before they are compared. */
  whole: boolean;
  /** PromQL of the number of requests in the window, for minSamples. */
  samples: string;
}

/** How one data plane counts requests. */
interface Observer {
  /** Routing providers it serves. */
  serves(provider: string): boolean;
  /** It finds requests by the names of pods, which a target of kind Service does not say. */
  byPods?: boolean;
  counter: string;
  /** Label selector of the failed requests' complement. */
  good: string;
  histogram: string;
  /** From the histogram's unit to milliseconds. */
  factor: number;
  selector(subject: MetricSubject, role: MetricRole): string;
  /** Asked where no series carries the labels of `selector`. */
  otherwise?(subject: MetricSubject): string;
}

/** As Flagger's own scrape configuration names pods. */
const byFlaggersLabels = ({ namespace, pods }: MetricSubject): string =>
  `kubernetes_namespace="${namespace}",kubernetes_pod_name=~"${pods}"`;

const observers: readonly Observer[] = [
  {
    serves: (provider) => provider === 'kubernetes' || provider.startsWith('gatewayapi:'),
    byPods: true,
    counter: 'http_request_duration_seconds_count',
    good: 'status!~"5.*"',
    histogram: 'http_request_duration_seconds_bucket',
    factor: 1_000,
    selector: byFlaggersLabels,
  },
  {
    // No router counts for us: the application does, pod by pod, with the labels of today's scrape configurations or Flagger's.
    serves: sharesWorkload,
    counter: 'http_request_duration_seconds_count',
    good: 'status!~"5.*"',
    histogram: 'http_request_duration_seconds_bucket',
    factor: 1_000,
    selector: ({ namespace, pods }) => `namespace="${namespace}",pod=~"${pods}"`,
    otherwise: byFlaggersLabels,
  },
  {
    serves: (provider) => provider === 'contour',
    counter: 'envoy_cluster_upstream_rq',
    good: 'envoy_response_code!~"5.*"',
    histogram: 'envoy_cluster_upstream_rq_time_bucket',
    factor: 1,
    selector: ({ namespace, ownService }) =>
      `envoy_cluster_name=~"${literal(namespace)}_${literal(ownService)}_[0-9a-zA-Z-]+"`,
  },
  {
    serves: (provider) => provider === 'knative',
    counter: 'envoy_cluster_upstream_rq',
    good: 'envoy_response_code!~"5.*"',
    histogram: 'envoy_cluster_upstream_rq_time_bucket',
    factor: 1,
    selector: ({ namespace, route }) => `envoy_cluster_name=~"${literal(namespace)}/${literal(route)}"`,
  },
  {
    serves: (provider) => provider === 'istio',
    counter: 'istio_requests_total',
    good: 'response_code!~"5.*"',
    histogram: 'istio_request_duration_milliseconds_bucket',
    factor: 1,
    selector: ({ namespace, target }) =>
      `reporter="destination",destination_workload_namespace="${namespace}",destination_workload=~"${literal(target)}"`,
  },
];

/** Whether a metric's name is built in. */
export function isBuiltIn(name: string): name is BuiltInName {
  return name === 'request-success-rate' || name === 'request-duration';
}

/** The query, or undefined when nothing is known about how this provider counts requests. `interval` is a PromQL duration. */
export function builtInQuery(
  name: BuiltInName,
  provider: string,
  { subject, role, interval }: { subject: MetricSubject; role: MetricRole; interval: string },
): BuiltInQuery | undefined {
  const observer = observers.find(({ serves }) => serves(provider));
  if (!observer || (observer.byPods && subject.kind === 'service')) return undefined;
  const { counter, good, histogram, factor } = observer;
  const selectors = [observer.selector(subject, role), observer.otherwise?.(subject) ?? []].flat();
  const sum = (of: (labels: string) => string): string => anyOf(selectors.map(of));
  const samples = sum((labels) => `sum(increase(${counter}{${labels}}[${interval}]))`);
  if (name === 'request-duration') {
    const buckets = sum((labels) => `sum(rate(${histogram}{${labels}}[${interval}])) by (le)`);
    return { promql: `histogram_quantile(0.99, ${buckets})`, factor, whole: true, samples };
  }
  const all = sum((labels) => `sum(rate(${counter}{${labels}}[${interval}]))`);
  const passed = sum((labels) => `sum(rate(${counter}{${labels},${good}}[${interval}]))`);
  return { promql: `(${passed} or vector(0)) / ${all} * 100`, factor: 1, whole: false, samples };
}

/** The first of these that has any series. */
function anyOf(expressions: readonly string[]): string {
  return expressions.length === 1 ? expressions.join() : `(${expressions.join(' or ')})`;
}
