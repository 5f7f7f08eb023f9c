/** The table of metric providers: a further one is one more file and one more line here. */
import { prometheus } from './prometheus.ts';
import type { MetricProvider } from './provider.ts';

const providers: readonly MetricProvider[] = [prometheus];

/** The provider of a MetricTemplate's type, undefined when this version has none. */
export function metricProvider(type: string): MetricProvider | undefined {
  return providers.find((provider) => provider.type === type);
}

/** Types a MetricTemplate may name today, for messages. */
export function supportedMetricProviders(): string[] {
  return providers.map(({ type }) => type);
}
