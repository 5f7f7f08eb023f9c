import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { measureEffort } from '../../../test/effort.ts';
import type { CanaryMetric } from '../../api/canary/analysis.ts';
import type { Canary } from '../../api/canary/canary.ts';
import type { MetricTemplate } from '../../api/metric-template.ts';
import { createHttpClient } from '../../http/client.ts';
import { startTestServer } from '../../http/testing/servers.ts';
import type { HttpRequest } from '../../http/types.ts';
import { type MetricSource, templateOf } from './question.ts';
import { readMetric } from './read-metric.ts';
import { supportedMetricProviders } from './table.ts';

const nowMs = Date.UTC(2026, 0, 1);
const nowSeconds = nowMs / 1_000;
const closers: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server on a separate port, the requests it got, and a client for it. */
async function aServer(handler: Handler) {
  const asked: Array<{ path: string; query: string | null; headers: IncomingMessage['headers'] }> = [];
  const server = await startTestServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://server');
    asked.push({ path: url.pathname, query: url.searchParams.get('query'), headers: request.headers });
    handler(request, response);
  });
  const http = createHttpClient({ allowLoopback: true });
  closers.push(async () => {
    await http.close();
    await server.close();
  });
  return { asked, http, address: server.url };
}

function json(body: unknown, status = 200): Handler {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
}

function vector(...values: unknown[]): Handler {
  const result = values.map((value) => ({ metric: {}, value: [nowSeconds, value] }));
  return json({ status: 'success', data: { resultType: 'vector', result } });
}

const canary: Canary = {
  apiVersion: 'flagger.app/v1beta1',
  kind: 'Canary',
  metadata: { name: 'podinfo', namespace: 'shop' },
  spec: {
    targetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'podinfo' },
    service: { port: 80 },
    analysis: { interval: '1m', threshold: 1, stepWeight: 5 },
  },
};

function aSource(metric: CanaryMetric, address: string, more: Partial<MetricSource> = {}): MetricSource {
  return {
    canary,
    metric,
    role: 'canary',
    provider: 'contour',
    metricsServer: address,
    nowMs,
    ...more,
  };
}

const inline: CanaryMetric = {
  name: 'errors',
  query: 'sum(\n  errors{pod=~"{{ target }}-.*"}[{{ interval }}]\n)',
};

it.each([
  ['1m30s', '1m30s'],
  ['1m500ms', '1m500ms'],
  ['30seconds', '30s'],
])('a built-in metric with the interval %s has the window %s', async (interval, window) => {
  const { asked, http, address } = await aServer(vector('99'));
  const metric = { name: 'request-success-rate', interval };

  expect(await readMetric(aSource(metric, address), http)).toEqual({ kind: 'value', value: 99 });
  expect(asked[0]?.query).toContain(`[${window}]`);
});

describe('where Linkerd is the mesh', () => {
  it.each([
    ['nginx', 'linkerd', 'response_total{namespace="shop",deployment=~"podinfo",direction="inbound"'],
    ['nginx', 'istio', 'nginx_ingress_controller_requests{namespace="shop",ingress="podinfo"'],
    ['native', 'linkerd', 'http_request_duration_seconds_count{namespace="shop"'],
  ] as const)('requests that come by %s are counted by %s', async (provider, defaultProvider, series) => {
    const { asked, http, address } = await aServer(vector('99'));
    const metric = { name: 'request-success-rate' };
    const spec = { ...canary.spec, provider };
    const source = aSource(metric, address, { canary: { ...canary, spec }, provider, defaultProvider });

    expect(await readMetric(source, http)).toEqual({ kind: 'value', value: 99 });
    expect(asked[0]?.query).toContain(series);
  });
});

describe('what a Prometheus answers', () => {
  it.each<[string, Handler, object]>([
    ['one number', vector('12.5'), { kind: 'value', value: 12.5 }],
    ['a number with an exponent', vector('1e+06'), { kind: 'value', value: 1_000_000 }],
    ['zero', vector('0'), { kind: 'value', value: 0 }],
    [
      'a scalar',
      json({ status: 'success', data: { resultType: 'scalar', result: [nowSeconds, '-3'] } }),
      { kind: 'value', value: -3 },
    ],
    ['nothing', vector(), { kind: 'noData', detail: 'the query returns no series' }],
    ['NaN', vector('NaN'), { kind: 'noData', detail: 'the value is NaN' }],
    ['+Inf', vector('+Inf'), { kind: 'noData', detail: 'the value is +Inf' }],
    ['empty text', vector(''), { kind: 'noData', detail: 'the value is ' }],
    [
      'signs that forge lines',
      vector('1\u001b[2J\nServing\u202e'),
      { kind: 'noData', detail: 'the value is 1 [2J Serving' },
    ],
    [
      'a warning that forges lines',
      json({
        status: 'success',
        warnings: ['gone\r\nServing: v9'],
        data: { resultType: 'vector', result: [] },
      }),
      { kind: 'error', detail: 'the answer is not complete: gone Serving: v9' },
    ],
    ['hexadecimal', vector('0x10'), { kind: 'noData', detail: 'the value is 0x10' }],
    [
      'two series',
      vector('1', '2'),
      { kind: 'error', detail: 'the query returns 2 series; aggregate them to one, as with sum(...)' },
    ],
    [
      'a native histogram',
      json({
        status: 'success',
        data: { resultType: 'vector', result: [{ metric: {}, histogram: [nowSeconds, { count: '10' }] }] },
      }),
      {
        kind: 'error',
        detail:
          'the query returns a native histogram; it must return one number, as with histogram_quantile(...)',
      },
    ],
    [
      'a matrix',
      json({ status: 'success', data: { resultType: 'matrix', result: [] } }),
      { kind: 'error', detail: 'the query returns a matrix; it must return one number' },
    ],
    [
      'a number that is no text',
      vector(1),
      { kind: 'error', detail: 'the answer is not a Prometheus query result' },
    ],
    [
      'an old answer',
      json({
        status: 'success',
        data: { resultType: 'vector', result: [{ value: [nowSeconds - 120, '1'] }] },
      }),
      { kind: 'noData', detail: 'the sample is 120 s old; the data is stale or a clock is wrong' },
    ],
    [
      'HTML',
      (_, response) => response.end('<html>login</html>'),
      { kind: 'error', detail: 'the answer is not JSON' },
    ],
    [
      'HTML with 401',
      (_, response) => {
        response.statusCode = 401;
        response.end('<html>secret</html>');
      },
      { kind: 'error', detail: 'HTTP 401' },
    ],
    [
      'its own error',
      json({ status: 'error', errorType: 'bad_data', error: 'parse error at char 5' }, 400),
      { kind: 'error', detail: 'HTTP 400: bad_data: parse error at char 5' },
    ],
    [
      'no content',
      (_, response) => response.writeHead(204).end(),
      { kind: 'error', detail: 'the answer is not JSON' },
    ],
  ])('%s', async (_, handler, reading) => {
    const { http, address } = await aServer(handler);

    expect(await readMetric(aSource(inline, address), http)).toEqual(reading);
  });

  it.each<[string, Handler]>([
    ['never', () => {}],
    ['10 MB', (_, response) => response.end('x'.repeat(10_000_000))],
    [
      'with a redirect',
      (_, response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    ],
    ['by hanging up', (request) => request.socket.destroy()],
  ])('%s is an error, never a value', async (_, handler) => {
    const { http, address } = await aServer(handler);

    expect((await readMetric(aSource(inline, address, { timeoutMs: 300 }), http)).kind).toBe('error');
  });
});

describe('what a Prometheus is asked', () => {
  it('is the inline query on one line, below the path of the address', async () => {
    const { http, address, asked } = await aServer(vector('1'));

    // The CRD leaves open what follows.
    const interval = '30s]) or (secrets[5m';
    await readMetric(aSource({ ...inline, interval }, `${address}/prom/`, { role: 'primary' }), http);

    expect(asked).toMatchObject([
      { path: '/prom/api/v1/query', query: 'sum( errors{pod=~"podinfo-primary-.*"}[30s] )' },
    ]);
  });

  it('is asked at once below an address of very many slashes', async () => {
    const { http, address } = await aServer(vector('1'));
    const effort = measureEffort();
    await readMetric(aSource(inline, `${address}${'/'.repeat(60_000)}prom`), http);
    expect(effort()).toBeLessThan(100);
  });

  it('is asked at the path of the template alone, whatever the Canary puts into a variable', async () => {
    const { asked, http, address } = await aServer(json({ value: 1 }));
    const template = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'errors', namespace: 'shop' },
      spec: {
        provider: { type: 'web', address, jsonPointer: '/value' },
        query: '/services/{{ variables.id }}?window={{ interval }}',
      },
    } satisfies MetricTemplate;
    const readingOf = (id: string) => {
      const metric = { name: 'errors', templateRef: { name: 'errors' }, templateVariables: { id } };
      return readMetric(aSource(metric, '', { template }), http);
    };
    expect(await readingOf('../admin?all=1&#')).toMatchObject({ value: 1 });
    expect(await readingOf('..')).toMatchObject({
      kind: 'error',
      detail: expect.stringContaining('no part'),
    });
    expect(asked.map(({ path }) => path)).toEqual(['/services/..%2Fadmin%3Fall%3D1%26%23']);
  });

  it('is asked of Graphite with values as they are, whatever a URL would read them as', async () => {
    const sent: URL[] = [];
    const http = {
      async send({ url }: HttpRequest) {
        sent.push(new URL(url));
        return { status: 200, headers: {}, body: Buffer.from('[]') };
      },
    };
    const template = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'errors', namespace: 'shop' },
      spec: {
        provider: { type: 'graphite', address: 'http://graphite' },
        query: 'target=alias(grep(shop.*, "{{ pods }}"), "{{ variables.title }}")&from=-2min',
      },
    } satisfies MetricTemplate;
    const readingOf = (title: string) => {
      const metric = { name: 'errors', templateRef: { name: 'errors' }, templateVariables: { title } };
      return readMetric(aSource(metric, '', { template }), http);
    };
    await readingOf('R&D, 5 % more&from=-1d');
    expect(await readingOf('", 1)')).toMatchObject({
      kind: 'error',
      detail: expect.stringContaining('quotes'),
    });
    expect(sent.map(({ searchParams }) => Object.fromEntries(searchParams))).toEqual([
      {
        target: 'alias(grep(shop.*, "podinfo-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"), "R&D, 5 % more&from=-1d")',
        from: '-2min',
        format: 'json',
      },
    ]);
  });

  it('is read at once where it is text of very many digits that is no number', async () => {
    const { http, address } = await aServer(json({ value: `${'1'.repeat(60_000)}x` }));
    const template = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'errors', namespace: 'shop' },
      spec: { provider: { type: 'web', address, jsonPointer: '/value' }, query: '' },
    } satisfies MetricTemplate;
    const metric = { name: 'errors', templateRef: { name: 'errors' } };
    const effort = measureEffort();
    const reading = await readMetric(aSource(metric, '', { template }), http);
    expect(effort()).toBeLessThan(100);
    expect(reading).toEqual({ kind: 'noData', detail: 'the value is not a number' });
  });

  it('is no query beyond the limit, however small its template was', async () => {
    const { asked, http, address } = await aServer(vector('1'));
    const metric = {
      name: 'errors',
      query: '{{ variables.list }}',
      templateVariables: { list: 'x'.repeat(20_000) },
    };
    const reading = await readMetric(aSource(metric, address), http);
    expect(reading).toEqual({
      kind: 'error',
      detail: 'the query has 20000 characters; at most 16384 are sent',
    });
    expect(asked).toEqual([]);
  });

  it('is the Prometheus that the Canary names, for built-in metrics too', async () => {
    const { http, address, asked } = await aServer(vector('99.5'));
    const own = { ...canary, spec: { ...canary.spec, metricsServer: address } };

    const reading = await readMetric(
      aSource({ name: 'request-success-rate' }, 'http://nobody.invalid', { canary: own }),
      http,
    );

    expect(reading).toEqual({ kind: 'value', value: 99.5 });
    expect(asked[0]?.query).toContain('envoy_cluster_name=~"shop_podinfo-canary_[0-9a-zA-Z-]+"');
  });

  it.each([
    ['built-in', { name: 'request-success-rate' }],
    ['inline', inline],
  ])(
    "carries the operator's credentials for %s metrics, and never to a server of the Canary",
    async (_, metric) => {
      const { http, address, asked } = await aServer(vector('99.5'));
      const metricsServerSecret = { name: 'in /credentials', values: { token: 'token-of-the-operator' } };
      const own = { ...canary, spec: { ...canary.spec, metricsServer: address } };

      await readMetric(aSource(metric, address, { metricsServerSecret }), http);
      await readMetric(aSource(metric, 'http://nobody.invalid', { metricsServerSecret, canary: own }), http);

      expect(asked.map(({ headers }) => headers.authorization)).toEqual([
        'Bearer token-of-the-operator',
        undefined,
      ]);
    },
  );

  it('gives durations in whole milliseconds whatever the unit of the histogram', async () => {
    const { http, address } = await aServer(vector('0.5129'));

    const reading = await readMetric(
      aSource({ name: 'request-duration' }, address, { provider: 'kubernetes' }),
      http,
    );

    expect(reading).toEqual({ kind: 'value', value: 512 });
  });

  it('counts requests first when a number of samples is demanded', async () => {
    const { http, address, asked } = await aServer(vector('9.4'));
    const metric: CanaryMetric = { name: 'request-success-rate', minSamples: 10 };

    expect(await readMetric(aSource(metric, address), http)).toEqual({
      kind: 'noData',
      detail: '9 requests in the window; minSamples is 10',
    });
    expect((await readMetric(aSource({ ...metric, minSamples: 9 }, address), http)).kind).toBe('value');
    expect(asked.map(({ query }) => query?.startsWith('sum(increase('))).toEqual([true, true, false]);
  });
});

describe('a MetricTemplate', () => {
  function aTemplate(address: string, provider: object = {}): MetricTemplate {
    return {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'latency', namespace: 'metrics' },
      spec: {
        provider: { type: 'prometheus', address, ...provider },
        query: 'latency{service="{{ service }}",path="{{ variables.path }}"}[{{ interval }}]',
      },
    };
  }
  const metric: CanaryMetric = {
    name: 'latency',
    templateRef: { name: 'latency', namespace: 'metrics' },
    templateVariables: { path: '/api' },
  };

  it('is asked with its variables, headers and credentials', async () => {
    const { http, address, asked } = await aServer(vector('7'));
    const template = aTemplate(address, {
      headers: { 'x-scope-orgid': ['a', 'b'] },
      secretRef: { name: 's' },
    });

    const reading = await readMetric(
      aSource(metric, 'http://nobody.invalid', { template, secret: { token: 'abc\n' }, role: 'primary' }),
      http,
    );

    expect(reading).toEqual({ kind: 'value', value: 7 });
    expect(asked[0]).toMatchObject({
      query: 'latency{service="podinfo-primary",path="/api"}[1m]',
      headers: { 'x-scope-orgid': 'a, b', authorization: 'Bearer abc' },
    });
  });

  it.each([
    { username: 'u', password: 'p' },
    { username: 'u\n', password: 'p\n', token: '\n' },
  ])('sends user name and password when there is no token, without line breaks: %j', async (secret) => {
    const { http, address, asked } = await aServer(vector('7'));
    const template = aTemplate(address, { secretRef: { name: 's' } });

    await readMetric(aSource(metric, '', { template, secret }), http);

    expect(asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from('u:p').toString('base64')}`);
  });

  it.each<[string, Partial<MetricSource>, string]>([
    ['it does not exist', {}, 'MetricTemplate metrics/latency does not exist'],
    [
      'its type is not supported',
      { template: aTemplate('http://x', { type: 'zabbix' as 'datadog' }) },
      `MetricTemplate metrics/latency: provider type zabbix is not supported by this version; supported: ${supportedMetricProviders().join(', ')}`,
    ],
    [
      'its Secret does not exist',
      { template: aTemplate('http://x', { secretRef: { name: 's' } }) },
      'MetricTemplate metrics/latency: Secret s does not exist in its namespace',
    ],
    [
      'its Secret lacks keys',
      { template: aTemplate('http://x', { secretRef: { name: 's' } }), secret: { username: 'u' } },
      'Secret metrics/s needs the key token, or the keys username and password',
    ],
    ...['', 'nonsense', 'prometheus.monitoring:9090'].map(
      (address): [string, Partial<MetricSource>, string] => [
        `its address is "${address}"`,
        { template: aTemplate(address) },
        'the address must be http(s)://host[:port][/path]: spec.provider.address of the MetricTemplate, or spec.metricsServer of the Canary',
      ],
    ),
    [
      'its address carries credentials',
      { template: aTemplate('http://user:hidden@prometheus') },
      'prometheus: the URL holds credentials; move them to a Secret',
    ],
    [
      'a variable is missing',
      { template: aTemplate('http://x'), metric: { ...metric, templateVariables: {} } },
      'line 1, column 42: there is no variable path; set it in templateVariables',
    ],
  ])('gives a clear error when %s', async (_, more, detail) => {
    const { http } = await aServer(vector('1'));

    expect(await readMetric(aSource(metric, '', more), http)).toEqual({ kind: 'error', detail });
  });

  it('is needed only where neither a built-in name nor a query comes first', () => {
    expect(templateOf(canary, metric)).toEqual({ namespace: 'metrics', name: 'latency' });
    expect(templateOf(canary, { name: 'x', templateRef: { name: 't' } })).toEqual({
      namespace: 'shop',
      name: 't',
    });
    expect(templateOf(canary, { ...metric, name: 'request-duration' })).toBeUndefined();
    expect(templateOf(canary, { ...metric, query: 'x' })).toBeUndefined();
  });
});

describe('a metric that is compared by points', () => {
  const compared: CanaryMetric = { ...inline, interval: '5s', compare: { method: 'mannWhitney' } };

  /** Points of one series, one every five seconds; the age of the newest is given in seconds. */
  function matrix(values: readonly string[], newestSecondsAgo = 0): Handler {
    const points = values.map((value, index) => [
      nowSeconds - newestSecondsAgo - 5 * (values.length - 1 - index),
      value,
    ]);
    return json({
      status: 'success',
      data: { resultType: 'matrix', result: [{ metric: {}, values: points }] },
    });
  }

  it.each<[string, Handler, object]>([
    ['finite ones', matrix(['1', '2', '3']), { kind: 'value', value: 3, points: [1, 2, 3] }],
    [
      'moments without requests are left out',
      matrix(['1', 'NaN', '+Inf', '4', 'NaN']),
      { kind: 'value', value: 4, points: [1, 4] },
    ],
    ['none at all', matrix(['NaN', 'NaN']), { kind: 'noData', detail: 'the query returns no points' }],
    [
      'old ones',
      matrix(['1', '2'], 60),
      { kind: 'noData', detail: 'the sample is 60 s old; the data is stale or a clock is wrong' },
    ],
    [
      'an instant answer',
      vector('1'),
      { kind: 'error', detail: 'the answer is not a Prometheus query result over time' },
    ],
    [
      'several series',
      json({
        status: 'success',
        data: { resultType: 'matrix', result: [{ values: [] }, { values: [] }] },
      }),
      { kind: 'error', detail: 'the query returns 2 series; aggregate them to one, as with sum(...)' },
    ],
  ])('gives %s', async (_, handler, reading) => {
    const { address, http } = await aServer(handler);
    expect(await readMetric(aSource(compared, address, { asPoints: true }), http)).toEqual(reading);
  });

  it('asks for the moments between two checks, and no earlier one', async () => {
    let url = new URL('http://server');
    const { address, http } = await aServer((request, response) => {
      url = new URL(request.url ?? '', 'http://server');
      matrix(['1'])(request, response);
    });
    await readMetric(aSource(compared, address, { asPoints: true }), http);
    expect(url.pathname).toBe('/api/v1/query_range');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      query: 'sum( errors{pod=~"podinfo-.*"}[5s] )',
      start: new Date(nowMs - 55_000).toISOString(),
      end: new Date(nowMs).toISOString(),
      step: '5',
    });
  });

  it('is an error with a system that has no points', async () => {
    const template: MetricTemplate = {
      apiVersion: 'flagger.app/v1beta1',
      kind: 'MetricTemplate',
      metadata: { name: 'slo', namespace: 'shop' },
      spec: { provider: { type: 'web', address: 'http://127.0.0.1:9' }, query: '/' },
    };
    const metric: CanaryMetric = {
      name: 'slo',
      templateRef: { name: 'slo' },
      compare: { method: 'mannWhitney' },
    };
    const { http } = await aServer(vector('1'));
    expect(await readMetric(aSource(metric, '', { template, asPoints: true }), http)).toEqual({
      kind: 'error',
      detail: 'points of type web cannot be compared; use compareWith: primary with maxRelativeIncrease',
    });
  });
});

describe('a metric with maxSampleAge', () => {
  it('sends Prometheus how far to look back', async () => {
    let lookBack: string | null = null;
    const { address, http } = await aServer((request, response) => {
      lookBack = new URL(request.url ?? '', 'http://server').searchParams.get('lookback_delta');
      vector()(request, response);
    });
    const reading = await readMetric(aSource({ ...inline, maxSampleAge: '2m' }, address), http);
    expect(lookBack).toBe('120');
    expect(reading).toEqual({ kind: 'noData', detail: 'the query returns no series (maxSampleAge is 2m)' });
  });

  it('takes an answer that the interval alone would call stale, and none that is older', async () => {
    const old = (seconds: number) =>
      json({
        status: 'success',
        data: { resultType: 'vector', result: [{ value: [nowSeconds - seconds, '1'] }] },
      });
    const within = await aServer(old(280));
    const metric = { ...inline, maxSampleAge: '5m' };
    expect(await readMetric(aSource(metric, within.address), within.http)).toMatchObject({ value: 1 });
    const beyond = await aServer(old(340));
    expect(await readMetric(aSource(metric, beyond.address), beyond.http)).toMatchObject({ kind: 'noData' });
  });
});
