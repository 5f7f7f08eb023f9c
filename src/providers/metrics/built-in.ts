import { podMetrics, type RequestMetrics } from '../routing/request-metrics.ts';
import { routerFor } from '../routing/table.ts';
import type { MetricSubject } from './subject.ts';

/**
 * Built-in metrics by routing provider (flagger-behaviour.md 2.5, 3). The queries are Flagger's with two differences: when every request
 * fails there is no series of good ones, which reads as 0 % here and as "no values" there; and pods of DaemonSets are found (3.13).
 */

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

/** Providers without a router: both sides are pods of one workload, or this version only knows how requests are counted. */
const withoutRouter: Readonly<Record<string, RequestMetrics>> = { native: podMetrics };

/** Whether a metric's name is built in. */
export function isBuiltIn(name: string): name is BuiltInName {
  return name === 'request-success-rate' || name === 'request-duration';
}

/** The query, or undefined when nothing is known about how this provider counts requests. `interval` is a PromQL duration. */
export function builtInQuery(
  name: BuiltInName,
  provider: string,
  { subject, interval }: { subject: MetricSubject; interval: string },
): BuiltInQuery | undefined {
  const metrics = routerFor(provider)?.requests ?? withoutRouter[provider];
  if (!metrics || (metrics.byPods && subject.kind === 'service')) return undefined;
  const { counter, good, histogram, mean, factor, only = {} } = metrics;
  const selectors = [metrics.selector(subject), metrics.otherwise?.(subject) ?? []].flat();
  /** The first of the selectors that finds any series. */
  const sum = (of: (labels: string) => string): string =>
    selectors.length === 1 ? selectors.map(of).join() : `(${selectors.map(of).join(' or ')})`;
  const counted = (labels: string) => `${counter}{${labels}${only.counter ? `,${only.counter}` : ''}`;
  const samples = sum((labels) => `sum(increase(${counted(labels)}}[${interval}]))`);
  if (name === 'request-duration') {
    const per = (series: string, labels: string) => `sum(rate(${series}{${labels}}[${interval}]))`;
    const more = only.histogram ? `,${only.histogram}` : '';
    const promql =
      mean === undefined
        ? `histogram_quantile(0.99, ${sum((labels) => `${per(`${histogram}`, `${labels}${more}`)} by (le)`)})`
        : `${sum((labels) => per(`${mean}_sum`, labels))} / ${sum((labels) => per(`${mean}_count`, labels))}`;
    return { promql, factor, whole: true, samples };
  }
  const all = sum((labels) => `sum(rate(${counted(labels)}}[${interval}]))`);
  const passed = sum((labels) => `sum(rate(${counted(labels)},${good}}[${interval}]))`);
  return { promql: `(${passed} or vector(0)) / ${all} * 100`, factor: 1, whole: false, samples };
}
