/** Servers that answer as the metric systems do, from what their makers document. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** The clock of the tests. */
export const nowMs = Date.UTC(2026, 0, 1);
const nowSeconds = nowMs / 1_000;

/** What a system was asked. */
export interface AskedOf {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The question in a request. */
export async function askedOf(request: IncomingMessage): Promise<AskedOf> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const { method = '', headers, url = '' } = request;
  return { method, headers, url: new URL(url, 'http://server'), body: Buffer.concat(chunks).toString() };
}

/** As HTTP has it: a bearer token, else user and password. */
function isLetIn(
  { headers }: AskedOf,
  { token, username, password }: Readonly<Record<string, string>>,
): boolean {
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  return headers.authorization === (token ? `Bearer ${token}` : basic);
}

/** A number, or what systems write for one that is none. */
type Value = number | null | 'NaN' | 'Infinity';

/** One metric system. */
export interface MetricDouble {
  readonly type: string;
  /** Of the Secret: what is needed, and a Secret that the system lets in. */
  readonly needs: readonly string[];
  readonly secret: Readonly<Record<string, string>>;
  /** More of `spec.provider`. */
  readonly provider?: Readonly<Record<string, unknown>>;
  /** As a template has it, and whether the system is asked for exactly that, over the last minute. */
  readonly query: string;
  isAsked(asked: AskedOf): boolean;
  /** Whether the request carries the credentials of the Secret. */
  isLetIn(asked: AskedOf, secret: Readonly<Record<string, string>>): boolean;
  /** The answer with one value for each series, of that time. JSON has no NaN: undefined where the system cannot say it. */
  answer(values: readonly Value[], atMs?: number): string | undefined;
  /** Whether answers tell that time. */
  readonly tellsTime: boolean;
  /** The system's words for a query that it does not understand. */
  problem(words: string): string;
}

/** As a system's JSON library writes it, if at all. */
function json(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    one === Number.POSITIVE_INFINITY ? '1e999' : one,
  ).replaceAll('"1e999"', '1e999');
}

/** Systems whose JSON has numbers only: NaN cannot be said, and infinity is a number too large. */
function numeric(values: readonly Value[]): Array<number | null> | undefined {
  if (values.includes('NaN')) return undefined;
  return values.map((value) => (value === 'Infinity' ? Number.POSITIVE_INFINITY : (value as number | null)));
}

function instant(type: 'prometheus' | 'loki', path: string): MetricDouble {
  const vector = (values: readonly Value[], at: number) => {
    const names: Record<string, string> = { Infinity: '+Inf' };
    const result = values
      .filter((value) => value !== null)
      .map((value) => ({ metric: {}, value: [at, names[String(value)] ?? String(value)] }));
    return json({ status: 'success', data: { resultType: 'vector', result } });
  };
  return {
    type,
    needs: [],
    secret: { token: 'token-of-prometheus' },
    query: 'sum(rate(errors{app="x"}[1m]))',
    isAsked: ({ url }) =>
      url.pathname === path && url.searchParams.get('query') === 'sum(rate(errors{app="x"}[1m]))',
    isLetIn,
    answer: (values, atMs = nowMs) => vector(values, atMs / 1_000),
    tellsTime: true,
    problem: (words) => json({ status: 'error', errorType: 'bad_data', error: words }),
  };
}

const datadogSeries = (values: ReadonlyArray<number | null>, at: number) =>
  json({
    status: 'ok',
    series: values.map((value) => ({
      metric: 'errors',
      interval: 20,
      // The last bucket still fills; the one before is whole.
      pointlist: [
        [(at - 40) * 1_000, 999],
        [(at - 20) * 1_000, value],
        [at * 1_000, 0.001],
      ],
    })),
  });

const datadog: MetricDouble = {
  type: 'datadog',
  needs: ['datadog_api_key', 'datadog_application_key'],
  secret: { datadog_api_key: 'api-key-of-datadog', datadog_application_key: 'app-key-of-datadog' },
  query: 'sum:errors{app:x}.as_count()',
  isAsked: ({ url: { pathname, searchParams } }) =>
    pathname === '/api/v1/query' &&
    searchParams.get('query') === 'sum:errors{app:x}.as_count()' &&
    searchParams.get('from') === String(nowSeconds - 600) &&
    searchParams.get('to') === String(nowSeconds),
  isLetIn: ({ headers }, secret) =>
    headers['dd-api-key'] === secret.datadog_api_key &&
    headers['dd-application-key'] === secret.datadog_application_key,
  answer: (values, atMs = nowMs) => {
    const given = numeric(values);
    return given && datadogSeries(given[0] === null ? [] : given, atMs / 1_000);
  },
  tellsTime: true,
  problem: (words) => json({ errors: [words] }),
};

const newrelic: MetricDouble = {
  type: 'newrelic',
  needs: ['newrelic_account_id', 'newrelic_query_key'],
  secret: { newrelic_account_id: '1234567', newrelic_query_key: 'query-key-of-newrelic' },
  query: 'SELECT filter(count(*), WHERE error) / count(*) FROM Transaction',
  isAsked: ({ url: { pathname, searchParams } }) =>
    pathname === '/v1/accounts/1234567/query' &&
    searchParams.get('nrql') ===
      'SELECT filter(count(*), WHERE error) / count(*) FROM Transaction SINCE 60 seconds ago',
  isLetIn: ({ headers }, secret) => headers['x-query-key'] === secret.newrelic_query_key,
  answer: (values) => {
    const given = numeric(values);
    return given && json({ results: given.map((result) => ({ result })), performanceStats: {} });
  },
  tellsTime: false,
  problem: (words) => json({ error: words }),
};

const graphiteTargets = (values: ReadonlyArray<number | null>, at: number) =>
  json(
    values.map((value, index) => ({
      target: `series ${index}`,
      datapoints: [
        [7, at - 120],
        [value, at - 60],
        [null, at],
      ].map(([one, time]) => [value === null ? null : one, time]),
    })),
  );

const graphite: MetricDouble = {
  type: 'graphite',
  needs: ['username', 'password'],
  secret: { username: 'reader', password: 'password-of-graphite' },
  query: 'target=summarize(sumSeries(shop.*.errors), "1min")\n  &from=-2min',
  isAsked: ({ url: { pathname, searchParams } }) =>
    pathname === '/render' &&
    searchParams.get('target') === 'summarize(sumSeries(shop.*.errors), "1min")' &&
    searchParams.get('from') === '-2min' &&
    searchParams.get('format') === 'json',
  isLetIn,
  answer: (values, atMs = nowMs) => {
    const given = numeric(values);
    return given && graphiteTargets(given, atMs / 1_000);
  },
  tellsTime: true,
  problem: (words) => json({ error: words }),
};

const fluxNames: Readonly<Record<string, string>> = { Infinity: '+Inf', null: '' };

/** Two records of a table, the older one first. */
const fluxTables = (values: readonly Value[], atMs: number) =>
  [
    '#datatype,string,long,dateTime:RFC3339,double,string',
    '#group,false,false,false,false,true',
    '#default,_result,,,,',
    ',result,table,_time,_value,note',
    ...values.flatMap((value, index) => [
      `,,${index},${new Date(atMs - 60_000).toISOString()},7,"a ""quoted"", note"`,
      `,,${index},${new Date(atMs).toISOString()},${fluxNames[String(value)] ?? value},"a ""quoted"", note"`,
    ]),
    '',
    '',
  ].join('\r\n');

const influxdb: MetricDouble = {
  type: 'influxdb',
  needs: ['org', 'token'],
  secret: { org: 'shop-org', token: 'token-of-influxdb' },
  query: 'from(bucket: "shop") |> range(start: -1m) |> filter(fn: (r) => r._measurement == "errors")',
  isAsked: ({ method, url, headers, body }) =>
    method === 'POST' &&
    url.pathname === '/api/v2/query' &&
    url.searchParams.get('org') === 'shop-org' &&
    headers['content-type'] === 'application/vnd.flux' &&
    body === 'from(bucket: "shop") |> range(start: -1m) |> filter(fn: (r) => r._measurement == "errors")',
  isLetIn: ({ headers }, { token }) => headers.authorization === `Token ${token}`,
  answer: (values, atMs = nowMs) => (values[0] === null ? '\r\n' : fluxTables(values, atMs)),
  tellsTime: true,
  problem: (words) => json({ code: 'invalid', message: words }),
};

const dynatrace: MetricDouble = {
  type: 'dynatrace',
  needs: ['dynatrace_token'],
  secret: { dynatrace_token: 'token-of-dynatrace' },
  query: 'builtin:service.errors.total.rate:filter(eq("dt.entity.service",X)):splitBy():avg',
  isAsked: ({ url: { pathname, searchParams } }) =>
    pathname === '/api/v2/metrics/query' &&
    searchParams.get('metricSelector') ===
      'builtin:service.errors.total.rate:filter(eq("dt.entity.service",X)):splitBy():avg' &&
    searchParams.get('resolution') === 'Inf' &&
    searchParams.get('from') === String(nowMs - 600_000) &&
    searchParams.get('to') === String(nowMs),
  isLetIn: ({ headers }, secret) => headers.authorization === `Api-Token ${secret.dynatrace_token}`,
  answer: (values) => {
    const given = numeric(values);
    const data = given?.map((value) => ({ dimensions: [], timestamps: [nowMs], values: [value] }));
    return data && json({ totalCount: 1, resolution: 'Inf', result: [{ metricId: 'x', data }] });
  },
  tellsTime: false,
  problem: (words) => json({ error: { code: 400, message: words } }),
};

const event = (name: string, data: unknown) =>
  `event: ${name}\nid: ${name}-1\n${JSON.stringify(data, null, 1).replaceAll(/^/gm, 'data: ')}\n\n`;

const signalFlow = (values: ReadonlyArray<number | string | null>, atMs: number) => {
  const known = values.map((value, index) => ({ tsId: `AAAA${index}`, value }));
  return [
    event('control-message', { event: 'STREAM_START', timestampMs: nowMs }),
    event('message', {
      message: { messageCode: 'JOB_RUNNING_RESOLUTION', contents: { resolutionMs: 1000 } },
    }),
    ...known.map(({ tsId }) => event('metadata', { properties: { sf_metric: 'errors' }, tsId })),
    event('data', { data: known.map(({ tsId }) => ({ tsId, value: 7 })), logicalTimestampMs: atMs - 30_000 }),
    event('data', { data: known, logicalTimestampMs: atMs, maxDelayMs: 12_000 }),
    event('control-message', { event: 'END_OF_CHANNEL', timestampMs: nowMs }),
  ].join('');
};

const splunk: MetricDouble = {
  type: 'splunk',
  needs: ['sf_token_key'],
  secret: { sf_token_key: 'token-of-splunk' },
  query: "data('errors', filter=filter('app', 'x')).sum().publish()",
  isAsked: ({ method, url: { pathname, searchParams }, body }) =>
    method === 'POST' &&
    pathname === '/v2/signalflow/execute' &&
    searchParams.get('start') === String(nowMs - 600_000) &&
    searchParams.get('stop') === String(nowMs) &&
    body === "data('errors', filter=filter('app', 'x')).sum().publish()",
  isLetIn: ({ headers }, secret) => headers['x-sf-token'] === secret.sf_token_key,
  answer: (values, atMs = nowMs) => signalFlow(values[0] === null ? [] : values, atMs),
  tellsTime: true,
  problem: (words) => json({ code: 400, message: words }),
};

const web: MetricDouble = {
  type: 'web',
  needs: [],
  secret: { token: 'token-of-web' },
  provider: { jsonPointer: '/data/rates/0' },
  query: '/slo/x?window=1m',
  isAsked: ({ url }) => url.pathname === '/slo/x' && url.search === '?window=1m',
  isLetIn,
  answer: (values) => {
    if (values.length > 1) return json({ data: { rates: [values] } });
    return json({ data: { rates: values[0] === null ? [] : values } });
  },
  tellsTime: false,
  problem: (words) => json({ error: { message: words } }),
};

/** One for each line of the table that is asked over HTTP. */
export const doubles: readonly MetricDouble[] = [
  instant('prometheus', '/api/v1/query'),
  instant('loki', '/loki/api/v1/query'),
  datadog,
  dynatrace,
  graphite,
  influxdb,
  newrelic,
  splunk,
  web,
];
