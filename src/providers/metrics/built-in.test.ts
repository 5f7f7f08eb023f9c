import { describe, expect, it } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import { builtInQuery } from './built-in.ts';
import { type MetricRole, metricSubject } from './subject.ts';

const canary: Canary = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'c', namespace: 'shop' },
  spec: {
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
    service: { name: 'front', port: 80 },
    ingressRef: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', name: 'entry' },
    routeRef: { apiVersion: 'apisix.apache.org/v2', kind: 'ApisixRoute', name: 'table' },
    analysis: { interval: '1m', threshold: 1, stepWeight: 5 },
  },
};

function query(name: 'request-success-rate' | 'request-duration', provider: string, role: MetricRole) {
  return builtInQuery(name, provider, { subject: metricSubject(canary, role), interval: '1m' });
}

describe('the built-in success rate', () => {
  it('finds the pods of a DaemonSet, and neither copy counts those of the other', () => {
    const daemon = {
      ...canary,
      spec: { ...canary.spec, targetRef: { ...canary.spec.targetRef, kind: 'DaemonSet' as const } },
    };
    const pattern = (role: MetricRole) => {
      const subject = metricSubject(daemon, role);
      const found = builtInQuery('request-success-rate', 'kubernetes', { subject, interval: '1m' });
      return new RegExp(`^(${/pod_name=~"([^"]+)"/.exec(found?.promql ?? '')?.[1]})$`);
    };
    expect(pattern('canary').test('podinfo-x7k2p')).toBe(true);
    expect(pattern('canary').test('podinfo-primary-x7k2p')).toBe(false);
    expect(pattern('primary').test('podinfo-primary-x7k2p')).toBe(true);
  });

  it('of a Service as target is that of its copy with contour, and unknown where pods are counted', () => {
    const targetRef = { apiVersion: 'v1', kind: 'Service' as const, name: 'podinfo' };
    const subject = metricSubject({ ...canary, spec: { ...canary.spec, targetRef } }, 'canary');
    const asked = (provider: string) =>
      builtInQuery('request-success-rate', provider, { subject, interval: '1m' })?.promql;

    expect(asked('contour')).toContain('envoy_cluster_name=~"shop_front-canary_');
    expect(asked('gatewayapi:v1')).toBeUndefined();
  });

  it('of a Knative Service is that of the revision of its side', () => {
    const targetRef = { apiVersion: 'serving.knative.dev/v1', kind: 'Service' as const, name: 'podinfo' };
    const knative = { ...canary, spec: { ...canary.spec, targetRef } };
    const subject = metricSubject(knative, 'primary', {
      workload: 'podinfo-00007',
      otherWorkload: 'podinfo-00008',
    });
    const found = builtInQuery('request-duration', 'knative', { subject, interval: '1m' });

    expect(found?.promql).toContain(
      'envoy_cluster_upstream_rq_time_bucket{envoy_cluster_name=~"shop/podinfo-00007"}',
    );
    expect(subject).toMatchObject({ target: 'podinfo', service: 'podinfo', route: 'podinfo-00007' });
    const names = (pattern: string, pod: string) => new RegExp(`^${pattern}$`).test(pod);
    expect(names(subject.pods, 'podinfo-00007-deployment-65d8b5c7d9-x2x5k')).toBe(true);
    expect(names(subject.otherPods, 'podinfo-00008-deployment-65d8b5c7d9-x2x5k')).toBe(true);
    expect(names(subject.pods, 'podinfo-00008-deployment-65d8b5c7d9-x2x5k')).toBe(false);
    expect(metricSubject(knative, 'canary').route).toBe('podinfo');
  });

  it.each<[string, MetricRole, string, string, string]>([
    [
      'kubernetes',
      'canary',
      'http_request_duration_seconds_count',
      'kubernetes_namespace="shop",kubernetes_pod_name=~"podinfo-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"',
      'status!~"5.*"',
    ],
    [
      'gatewayapi:v1',
      'primary',
      'http_request_duration_seconds_count',
      'kubernetes_namespace="shop",kubernetes_pod_name=~"podinfo-primary-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"',
      'status!~"5.*"',
    ],
    [
      'contour',
      'canary',
      'envoy_cluster_upstream_rq',
      'envoy_cluster_name=~"shop_front-canary_[0-9a-zA-Z-]+"',
      'envoy_response_code!~"5.*"',
    ],
    [
      'contour',
      'primary',
      'envoy_cluster_upstream_rq',
      'envoy_cluster_name=~"shop_front-primary_[0-9a-zA-Z-]+"',
      'envoy_response_code!~"5.*"',
    ],
    [
      'nginx',
      'canary',
      'nginx_ingress_controller_requests',
      'namespace="shop",ingress="entry",canary!=""',
      'status!~"5.*"',
    ],
    [
      'nginx',
      'primary',
      'nginx_ingress_controller_requests',
      'namespace="shop",ingress="entry",canary=""',
      'status!~"5.*"',
    ],
    [
      'skipper',
      'canary',
      'skipper_response_duration_seconds_bucket',
      'route=~"kube(ew)?_shop__entry_canary__.*__front_canary(_[0-9]+)?",le="+Inf"',
      'code!~"5.."',
    ],
    [
      'skipper',
      'primary',
      'skipper_response_duration_seconds_bucket',
      'route=~"kube(ew)?_shop__(entry_canary__.*__front_primary|entry__.*__front)(_[0-9]+)?",le="+Inf"',
      'code!~"5.."',
    ],
    [
      'traefik',
      'canary',
      'traefik_service_request_duration_seconds_bucket',
      'service=~"shop-front-canary-[0-9a-zA-Z-]+@kubernetescrd",le="+Inf"',
      'code!~"5.."',
    ],
    ['apisix', 'canary', 'apisix_http_status', 'route=~"shop_table-front-canary_.+"', 'code!~"5.."'],
    [
      'gloo',
      'primary',
      'envoy_cluster_upstream_rq',
      'envoy_cluster_name=~"shop-front-primaryupstream-[0-9a-zA-Z-]+_[0-9a-zA-Z-]+"',
      'envoy_response_code!~"5.*"',
    ],
    [
      'kuma',
      'canary',
      'envoy_cluster_upstream_rq',
      'service=~"front-canary_shop_svc_[0-9a-zA-Z-]+"',
      'envoy_response_code!~"5.*"',
    ],
    [
      'gatewayapi:v1beta1',
      'canary',
      'http_request_duration_seconds_count',
      'kubernetes_namespace="shop",kubernetes_pod_name=~"podinfo-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"',
      'status!~"5.*"',
    ],
    [
      'istio',
      'primary',
      'istio_requests_total',
      'reporter="destination",destination_workload_namespace="shop",destination_workload=~"podinfo-primary"',
      'response_code!~"5.*"',
    ],
    [
      'smi:v1alpha2',
      'canary',
      'istio_requests_total',
      'reporter="destination",destination_workload_namespace="shop",destination_workload=~"podinfo"',
      'response_code!~"5.*"',
    ],
    [
      'linkerd',
      'canary',
      'response_total',
      'namespace="shop",deployment=~"podinfo",direction="inbound"',
      'classification!="failure"',
    ],
    [
      'osm',
      'primary',
      'osm_request_total',
      'destination_namespace="shop",destination_kind="Deployment",destination_name="podinfo-primary"',
      'response_code!~"5.*"',
    ],
    ...(['appmesh', 'appmesh:v1beta2'] as const).map(
      (provider): [string, MetricRole, string, string, string] => [
        provider,
        'canary',
        'envoy_cluster_upstream_rq',
        'kubernetes_namespace="shop",kubernetes_pod_name=~"podinfo-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"',
        'envoy_response_code!~"5.*"',
      ],
    ),
  ])('of %s for the %s', (provider, role, counter, labels, good) => {
    expect(query('request-success-rate', provider, role)).toEqual({
      promql: `(sum(rate(${counter}{${labels},${good}}[1m])) or vector(0)) / sum(rate(${counter}{${labels}}[1m])) * 100`,
      factor: 1,
      whole: false,
      samples: `sum(increase(${counter}{${labels}}[1m]))`,
    });
  });
});

describe('where both sides are pods of one workload', () => {
  const native: Canary = { ...canary, spec: { ...canary.spec, provider: 'native' } };
  const pods = { pods: 'podinfo-6d5f-[0-9a-z]+', otherPods: 'podinfo-(77c|84b)-[0-9a-z]+' };
  const asked = (name: 'request-success-rate' | 'request-duration', role: MetricRole = 'canary') => {
    const subject = metricSubject(native, role, { workload: 'podinfo', pods });
    return builtInQuery(name, 'native', { subject, interval: '1m' });
  };
  const labels = [
    'namespace="shop",pod=~"podinfo-6d5f-[0-9a-z]+"',
    'kubernetes_namespace="shop",kubernetes_pod_name=~"podinfo-6d5f-[0-9a-z]+"',
  ];

  it('the success rate is that of the pods of the newest template, with either naming scheme', () => {
    const counter = 'http_request_duration_seconds_count';
    const rate = (good: string) =>
      `(${labels.map((one) => `sum(rate(${counter}{${one}${good}}[1m]))`).join(' or ')})`;
    expect(asked('request-success-rate')).toEqual({
      promql: `(${rate(',status!~"5.*"')} or vector(0)) / ${rate('')} * 100`,
      factor: 1,
      whole: false,
      samples: `(${labels.map((one) => `sum(increase(${counter}{${one}}[1m]))`).join(' or ')})`,
    });
    expect(asked('request-success-rate', 'primary')).toEqual(asked('request-success-rate'));
  });

  it('so is the duration', () => {
    const buckets = labels.map(
      (one) => `sum(rate(http_request_duration_seconds_bucket{${one}}[1m])) by (le)`,
    );
    expect(asked('request-duration')).toMatchObject({
      promql: `histogram_quantile(0.99, (${buckets.join(' or ')}))`,
      factor: 1_000,
    });
  });
});

describe('the built-in duration', () => {
  it.each<[string, string, number]>([
    ['kubernetes', 'http_request_duration_seconds_bucket', 1_000],
    ['contour', 'envoy_cluster_upstream_rq_time_bucket', 1],
    ['istio', 'istio_request_duration_milliseconds_bucket', 1],
    ['linkerd', 'response_latency_ms_bucket', 1],
    ['osm', 'osm_request_duration_ms_bucket', 1],
    ['appmesh', 'envoy_cluster_upstream_rq_time_bucket', 1],
    ['traefik', 'traefik_service_request_duration_seconds_bucket', 1_000],
    ['apisix', 'apisix_http_latency_bucket', 1],
  ])('of %s is the 99th percentile in milliseconds', (provider, histogram, factor) => {
    const found = query('request-duration', provider, 'canary');

    expect(found).toMatchObject({ factor, whole: true });
    expect(found?.promql).toMatch(
      new RegExp(
        `^histogram_quantile\\(0\\.99, sum\\(rate\\(${histogram}\\{.*\\}\\[1m\\]\\)\\) by \\(le\\)\\)$`,
      ),
    );
  });
});

describe('the built-in duration without histogram buckets', () => {
  it.each([
    ['nginx', 'nginx_ingress_controller_response_duration_seconds'],
    ['skipper', 'skipper_serve_route_duration_seconds'],
  ])('of %s is the mean in milliseconds', (provider, series) => {
    const found = query('request-duration', provider, 'canary');

    expect(found).toMatchObject({ factor: 1_000, whole: true });
    expect(found?.promql).toMatch(
      new RegExp(
        `^sum\\(rate\\(${series}_sum\\{(.*)\\}\\[1m\\]\\)\\) / sum\\(rate\\(${series}_count\\{\\1\\}\\[1m\\]\\)\\)$`,
      ),
    );
    expect(found?.promql).not.toContain('le=');
  });
});

it('buckets of APISIX are those of whole requests', () => {
  expect(query('request-duration', 'apisix', 'canary')?.promql).toContain('_.+",type=~"request"}');
});

it('has no query for an unknown provider', () => {
  expect(query('request-duration', 'contuor', 'canary')).toBeUndefined();
});

it('lets nothing but DNS names into a query, and dots in them only as dots', () => {
  const evil = { ...canary, metadata: { name: 'c', namespace: 'a"} or vector(1)' } };
  const dotted = {
    ...canary,
    spec: { ...canary.spec, targetRef: { ...canary.spec.targetRef, name: 'pod.info' } },
  };

  expect(() => metricSubject(evil, 'canary')).toThrow('namespace is not a DNS name');
  expect(
    builtInQuery('request-duration', 'istio', {
      subject: metricSubject(dotted, 'canary'),
      interval: '1m',
    })?.promql,
  ).toContain('destination_workload=~"pod\\\\.info"');
});
