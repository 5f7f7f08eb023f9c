/** Providers that ask the API server: external metrics and Keptn. */
import { describe, expect, it } from 'vitest';
import type { CanaryMetric } from '../../../api/canary/analysis.ts';
import type { Canary } from '../../../api/canary/canary.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { MetricTemplate } from '../../../api/metric-template.ts';
import type { MetricCluster } from '../provider.ts';
import { readMetric } from '../read-metric.ts';
import { doubles, nowMs } from '../testing/doubles.ts';

const canary = {
  metadata: { name: 'web', namespace: 'shop' },
  spec: { targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, service: { port: 80 } },
} as Canary;

/** Objects by `Kind/namespace/name`; Keptn completes an Analysis when it is looked at a second time. */
function aCluster(given: Readonly<Record<string, object>> = {}, pass = true) {
  const objects = new Map(Object.entries(given));
  const asked: string[] = [];
  const made: KubernetesObject[] = [];
  const keyOf = ({ kind, namespace, name }: { kind: string; namespace?: string | undefined; name: string }) =>
    `${kind}/${namespace}/${name}`;
  const cluster: MetricCluster = {
    async get(reference) {
      asked.push(keyOf(reference));
      const found = objects.get(keyOf(reference));
      if (reference.kind === 'Analysis')
        objects.set(keyOf(reference), { status: { state: 'Completed', pass } });
      return found as KubernetesObject | undefined;
    },
    async create(object) {
      made.push(object);
      objects.set(keyOf({ kind: object.kind, ...object.metadata }), {});
      return { ...object, metadata: { ...object.metadata, uid: 'u' } };
    },
    async delete(reference, { uid }) {
      if (uid === 'u') objects.delete(keyOf(reference));
    },
    async externalMetric({ namespace, metric, labelSelector }) {
      asked.push([namespace, metric, labelSelector].join(' '));
      const given = objects.get(metric);
      if (given) return { items: [given] };
      const double = doubles.find(({ type }) => type === 'externalmetrics');
      return JSON.parse(double?.answer([12.5]) ?? '');
    },
  };
  return { asked, made, objects, cluster };
}

function read(
  type: 'externalmetrics' | 'keptn',
  query: string,
  cluster: MetricCluster | undefined,
  crossesNamespaces = false,
  more: Pick<CanaryMetric, 'maxSampleAge'> = {},
) {
  const template = {
    metadata: { name: 'm', namespace: 'shop' },
    spec: { provider: { type }, query },
  } as MetricTemplate;
  const metric = { name: 'm', templateRef: { name: 'm' }, ...more };
  const source = { canary, metric, role: 'canary', provider: 'contour', metricsServer: '', nowMs } as const;
  const send = async () => {
    throw new Error('nobody is asked over HTTP');
  };
  return readMetric({ ...source, template }, { send, cluster, crossesNamespaces });
}

describe('externalmetrics without an address', () => {
  it.each([
    ['queue_length', 'shop queue_length '],
    ['shop/queue_length?labelSelector=app%3D{{ target }}', 'shop queue_length app=web'],
    ['  queue_length?labelSelector=a%3Db%2Cc%3Dd\n', 'shop queue_length a=b,c=d'],
  ])('asks the API server for %s', async (query, wanted) => {
    const { asked, cluster } = aCluster();
    expect(await read('externalmetrics', query, cluster)).toEqual({ kind: 'value', value: 12.5 });
    expect(asked).toEqual([wanted]);
  });

  it.each(['', 'a/b/c', 'UPPER/metric', '../metric', 'shop/..', 'a metric'])(
    'refuses the query %j',
    async (query) => {
      const { asked, cluster } = aCluster();
      expect(await read('externalmetrics', query, cluster)).toMatchObject({ kind: 'error' });
      expect(asked).toEqual([]);
    },
  );

  it('takes a value without a time as of now, unless its age is bounded', async () => {
    const { cluster } = aCluster({ queue: { value: '3', timestamp: null }, length: { value: '4' } });

    expect(await read('externalmetrics', 'queue', cluster)).toEqual({ kind: 'value', value: 3 });
    expect(await read('externalmetrics', 'length', cluster)).toEqual({ kind: 'value', value: 4 });
    expect(await read('externalmetrics', 'queue', cluster, false, { maxSampleAge: '1m' })).toEqual({
      kind: 'noData',
      detail: 'the answer has no time of the value (maxSampleAge is 1m)',
    });
  });

  it('has no data where the time cannot be read', async () => {
    const { cluster } = aCluster({ queue: { value: '3', timestamp: 'yesterday' } });

    expect(await read('externalmetrics', 'queue', cluster)).toEqual({
      kind: 'noData',
      detail: 'the time of the sample cannot be read',
    });
  });
});

describe('keptn', () => {
  const lastUpdated = new Date(nowMs - 10_000).toISOString();
  const metrics = {
    'KeptnMetric/shop/errors': { status: { value: '12.5', lastUpdated } },
    'KeptnMetric/shop/old': {
      status: { value: '12.5', lastUpdated: new Date(nowMs - 200_000).toISOString() },
    },
    'KeptnMetric/shop/new': {},
    'KeptnMetric/shop/infinite': { status: { value: '+Inf', lastUpdated } },
  };

  it.each<[string, object]>([
    ['keptnmetric/shop/errors', { kind: 'value', value: 12.5 }],
    ['KeptnMetrics/{{ namespace }}/Errors', { kind: 'value', value: 12.5 }],
    ['keptnmetric/shop/old', { kind: 'noData', detail: expect.stringContaining('200 s old') }],
    ['keptnmetric/shop/new', { kind: 'noData', detail: 'KeptnMetric shop/new has no value yet' }],
    ['keptnmetric/shop/infinite', { kind: 'noData', detail: 'the value is +Inf' }],
    ['keptnmetric/shop/nowhere', { kind: 'error', detail: 'KeptnMetric shop/nowhere does not exist' }],
    ['keptnmetric/shop', { kind: 'error', detail: expect.stringContaining('the query must be like') }],
    ['errors', { kind: 'error', detail: expect.stringContaining('the query must be like') }],
  ])('reads %s', async (query, reading) => {
    expect(await read('keptn', query, aCluster(metrics).cluster)).toEqual(reading);
  });

  it.each([
    [null, undefined, { kind: 'value', value: 3 }],
    [null, '1m', { kind: 'noData', detail: 'the answer has no time of the value (maxSampleAge is 1m)' }],
    ['yesterday', undefined, { kind: 'noData', detail: 'the time of the sample cannot be read' }],
  ])('reads a value with the time %j and maxSampleAge %s', async (lastUpdated, maxSampleAge, reading) => {
    const { cluster } = aCluster({ 'KeptnMetric/shop/m': { status: { value: '3', lastUpdated } } });
    const bound = maxSampleAge === undefined ? {} : { maxSampleAge };
    expect(await read('keptn', 'keptnmetric/shop/m', cluster, false, bound)).toEqual(reading);
  });

  it('says that a value is from the future, and not that it has a negative age', async () => {
    const lastUpdated = new Date(nowMs + 3_600_000).toISOString();
    const { cluster } = aCluster({ 'KeptnMetric/shop/m': { status: { value: '3', lastUpdated } } });
    expect(await read('keptn', 'keptnmetric/shop/m', cluster)).toEqual({
      kind: 'noData',
      detail: 'the sample is 3600 s ahead of now; a clock is wrong',
    });
  });

  it.each([
    [true, 1],
    [false, 0],
  ])('runs an Analysis, gives its outcome %s as %i, and deletes it', async (pass, value) => {
    const { made, objects, cluster } = aCluster({}, pass);
    const query = 'analysis/shop/response-time/5m/service=web;stage=dev';
    expect(await read('keptn', query, cluster)).toEqual({ kind: 'value', value });
    expect(made).toMatchObject([
      {
        apiVersion: 'metrics.keptn.sh/v1beta1',
        kind: 'Analysis',
        metadata: { namespace: 'shop', name: expect.stringMatching(/^response-time-[0-9a-f]{6}$/) },
        spec: {
          timeframe: { recent: '5m' },
          args: { service: 'web', stage: 'dev' },
          analysisDefinition: { name: 'response-time' },
        },
      },
    ]);
    expect([...objects.keys()]).toEqual([]);
  });

  it('deletes the Analysis where it cannot be read', async () => {
    const { objects, cluster } = aCluster();
    const broken: MetricCluster = {
      ...cluster,
      get: async () => {
        throw new Error('analyses is forbidden');
      },
    };
    const reading = await read('keptn', 'analyses/shop/response-time', broken);
    expect(reading).toEqual({ kind: 'error', detail: 'analyses is forbidden' });
    expect([...objects.keys()]).toEqual([]);
  });
});

describe.each([
  ['externalmetrics', 'bank/queue_length'],
  ['keptn', 'keptnmetric/bank/errors'],
  ['keptn', 'analysis/bank/response-time'],
] as const)('%s in another namespace: %s', (type, query) => {
  it('is not read for a template of this one', async () => {
    const { asked, made, cluster } = aCluster();
    expect(await read(type, query, cluster)).toEqual({
      kind: 'error',
      detail:
        'the query is about namespace bank, and the template is in shop; others are read only with --cross-namespace-refs',
    });
    expect([asked, made]).toEqual([[], []]);
  });

  it('is read where references may cross namespaces, by the controller only', async () => {
    const value = { status: { value: '1' } };
    const { cluster } = aCluster({ 'KeptnMetric/bank/errors': value });
    expect(await read(type, query, cluster, true)).toMatchObject({ kind: 'value' });
    expect(await read(type, query, undefined, true)).toEqual({
      kind: 'noData',
      detail: 'the controller asks the API server for it at each check',
      isPending: true,
    });
  });
});
