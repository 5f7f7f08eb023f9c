import { expect, it } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import type { MetricTemplate } from '../../api/metric-template.ts';
import type { HttpRequest } from '../../http/types.ts';
import { readMetric } from './read-metric.ts';

const canary: Canary = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'podinfo', namespace: 'shop' },
  spec: {
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
    analysis: { interval: '1m', threshold: 1, stepWeight: 5 },
  },
};

it.each([
  ['newrelic', (url: URL) => url.searchParams.get('nrql')?.replace('errors ', ''), 'SINCE 300 seconds ago'],
  ['datadog', (url: URL) => Number(url.searchParams.get('to')) - Number(url.searchParams.get('from')), 3_000],
  [
    'dynatrace',
    (url: URL) => Number(url.searchParams.get('to')) - Number(url.searchParams.get('from')),
    3_000_000,
  ],
  [
    'splunk',
    (url: URL) => Number(url.searchParams.get('stop')) - Number(url.searchParams.get('start')),
    3_000_000,
  ],
] as const)(
  'a metric with maxSampleAge asks %s for the time of its interval all the same',
  async (type, timeIn, asked) => {
    const urls: URL[] = [];
    const send = async ({ url }: HttpRequest) => {
      urls.push(new URL(url));
      return { status: 500, headers: {}, body: new Uint8Array() };
    };
    const template = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'errors', namespace: 'shop' },
      spec: {
        provider: { type, address: 'https://metrics.example.com', secretRef: { name: 'all' } },
        query: 'errors',
      },
    } as MetricTemplate;
    const keys = ['newrelic_account_id', 'newrelic_query_key', 'datadog_api_key', 'datadog_application_key'];
    const secret = Object.fromEntries(
      [...keys, 'dynatrace_token', 'sf_token_key'].map((key) => [key, 'value']),
    );
    const metric = { name: 'errors', templateRef: { name: 'errors' }, interval: '5m', maxSampleAge: '30s' };

    const nowMs = Date.UTC(2026, 0, 1);
    const source = {
      canary,
      metric,
      role: 'canary',
      provider: 'contour',
      metricsServer: '',
      nowMs,
      template,
      secret,
    } as const;

    await readMetric(source, { send });

    expect(urls.map((url) => timeIn(url))).toEqual([asked]);
  },
);
