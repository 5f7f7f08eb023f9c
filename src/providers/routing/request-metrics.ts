/** How data planes count requests, for the built-in metrics (flagger-behaviour.md 2.5, 3). */

/** Whose requests they are: one side of a Canary. All but `pods` are DNS names. */
interface RequestSubject {
  readonly namespace: string;
  /** The workload. */
  readonly target: string;
  /** The Service that selects the pods of this side only. */
  readonly ownService: string;
  /** `ingressRef`. */
  readonly ingress: string;
  /** `routeRef`, or the revision where the target is a Knative Service. */
  readonly route: string;
  /** RE2 of the names of the pods. */
  readonly pods: string;
}

/** The series of one data plane. */
export interface RequestMetrics {
  /** They are selected by the names of pods, which are unknown for a target of kind Service. */
  readonly byPods?: boolean;
  readonly counter: string;
  /** Label selector of the requests that did not fail. */
  readonly good: string;
  /** Buckets of how long requests take: the 99th percentile counts. */
  readonly histogram?: string;
  /** Where there are no buckets for it: the mean, from two counters that end in `_sum` and `_count`. */
  readonly mean?: string;
  /** Further labels of `counter`, and of `histogram`. */
  readonly only?: { readonly counter?: string; readonly histogram?: string };
  /** From the unit of durations to milliseconds. */
  readonly factor: number;
  /** Label selector of the subject's requests. */
  selector(subject: RequestSubject): string;
  /** Asked where no series carries the labels of `selector`. */
  otherwise?(subject: RequestSubject): string;
}

const ofApplication = {
  counter: 'http_request_duration_seconds_count',
  good: 'status!~"5.*"',
  histogram: 'http_request_duration_seconds_bucket',
  factor: 1_000,
};
/** Labels that Flagger's own scrape configuration gives the series of a pod. */
export const byFlaggersLabels = ({ namespace, pods }: RequestSubject) =>
  `kubernetes_namespace="${namespace}",kubernetes_pod_name=~"${pods}"`;

/** What the application counts, with the labels of Flagger's own scrape configuration. */
export const applicationMetrics: RequestMetrics = {
  ...ofApplication,
  byPods: true,
  selector: byFlaggersLabels,
};

/** The same pod by pod, with the labels of today's scrape configurations or Flagger's. */
export const podMetrics: RequestMetrics = {
  ...ofApplication,
  selector: ({ namespace, pods }) => `namespace="${namespace}",pod=~"${pods}"`,
  otherwise: byFlaggersLabels,
};

/** What an Envoy proxy counts by upstream cluster; the selector says how a provider names these. */
export const envoyMetrics = {
  counter: 'envoy_cluster_upstream_rq',
  good: 'envoy_response_code!~"5.*"',
  histogram: 'envoy_cluster_upstream_rq_time_bucket',
  factor: 1,
};

/** What the sidecars of Istio count. */
export const istioMetrics: RequestMetrics = {
  counter: 'istio_requests_total',
  good: 'response_code!~"5.*"',
  histogram: 'istio_request_duration_milliseconds_bucket',
  factor: 1,
  selector: ({ namespace, target }) =>
    `reporter="destination",destination_workload_namespace="${namespace}",destination_workload=~"${literal(target)}"`,
};

/** A DNS name as a regular expression inside a PromQL string. */
export function literal(name: string): string {
  return name.replaceAll('.', '\\\\.');
}
