/** The table of metric providers: a further one is one more file and one more line here. */
import type { MetricProvider } from './provider.ts';
import { cloudwatch } from './systems/cloudwatch.ts';
import { datadog } from './systems/datadog.ts';
import { dynatrace } from './systems/dynatrace.ts';
import { externalmetrics } from './systems/externalmetrics.ts';
import { graphite } from './systems/graphite.ts';
import { influxdb } from './systems/influxdb.ts';
import { job } from './systems/job.ts';
import { keptn } from './systems/keptn.ts';
import { newrelic } from './systems/newrelic.ts';
import { loki, prometheus } from './systems/prometheus.ts';
import { splunk } from './systems/splunk.ts';
import { stackdriver } from './systems/stackdriver.ts';
import { web } from './systems/web.ts';

const providers: readonly MetricProvider[] = [
  prometheus,
  cloudwatch,
  datadog,
  dynatrace,
  externalmetrics,
  graphite,
  influxdb,
  job,
  keptn,
  loki,
  newrelic,
  splunk,
  stackdriver,
  web,
];

/** The provider of a MetricTemplate's type, undefined when this version has none. */
export function metricProvider(type: string): MetricProvider | undefined {
  return providers.find((provider) => provider.type === type);
}

/** Types a MetricTemplate may name today, for messages. */
export function supportedMetricProviders(): string[] {
  return providers.map(({ type }) => type);
}
