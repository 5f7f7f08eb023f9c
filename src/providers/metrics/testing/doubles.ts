/** Servers that answer as the metric systems do, from what their makers document. */
import { createHash, createHmac, createVerify, generateKeyPairSync } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

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
  const { method = '', headers, url = '' } = request;
  return { method, headers, url: new URL(url, 'http://server'), body: await text(request) };
}

/** As HTTP has it: a bearer token, else user and password. */
function isLetIn(
  { headers }: AskedOf,
  { token, username, password }: Readonly<Record<string, string>>,
): boolean {
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  return headers.authorization === (token ? `Bearer ${token}` : basic);
}

/** A number, or what systems write for a missing one. */
type Value = number | null | 'NaN' | 'Infinity';

/** One metric system. */
export interface MetricDouble {
  readonly type: string;
  /** Of the Secret: what is needed, and a Secret that the system lets in. */
  readonly needs: readonly string[];
  readonly secret: Readonly<Record<string, string>>;
  /** The Secret after a rotation, where it is not `new-` before each value. */
  readonly rotated?: Readonly<Record<string, string>>;
  /** The Secret for a server at this address. */
  secretAt?(url: string, secret: Readonly<Record<string, string>>): Readonly<Record<string, string>>;
  /** The answer to a request for something else than the metric. */
  aside?(asked: AskedOf): string | undefined;
  /** More of `spec.provider`. */
  readonly provider?: Readonly<Record<string, unknown>>;
  /** As a template has it, and whether the system is asked for exactly that, over the last minute. */
  readonly query: string;
  isAsked(asked: AskedOf): boolean;
  /** Whether the request carries the credentials of the Secret. */
  isLetIn(asked: AskedOf, secret: Readonly<Record<string, string>>): boolean;
  /** The answer with one value for each series, of that time. JSON has no NaN: undefined where the system cannot say it. */
  answer(values: readonly Value[], atMs?: number): string | undefined;
  /** Whether answers contain that time. */
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

const cloudwatchQueries = [
  { Id: 'e1', Expression: 'm1 / m2 * 100', Label: 'ErrorRate' },
  { Id: 'm1', MetricStat: { Metric: { Namespace: 'Shop' }, Period: 60, Stat: 'Sum' }, ReturnData: false },
];

const cloudwatch: MetricDouble = {
  type: 'cloudwatch',
  needs: ['aws_access_key_id', 'aws_secret_access_key'],
  secret: {
    aws_access_key_id: 'AKIDEXAMPLE',
    aws_secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    aws_session_token: 'session-token-of-aws',
  },
  provider: { region: 'eu-north-1' },
  query: JSON.stringify(cloudwatchQueries),
  isAsked: ({ method, url, headers, body }) =>
    method === 'POST' &&
    url.pathname === '/' &&
    headers['x-amz-target'] === 'GraniteServiceVersion20100801.GetMetricData' &&
    body ===
      JSON.stringify({
        MetricDataQueries: cloudwatchQueries,
        StartTime: nowSeconds - 600,
        EndTime: nowSeconds,
        ScanBy: 'TimestampDescending',
      }),
  isLetIn: (asked, secret) =>
    asked.headers['x-amz-security-token'] === secret.aws_session_token &&
    asked.headers.authorization?.endsWith(`Signature=${signatureOf(asked, secret)}`) === true,
  answer: (values, atMs = nowMs) => {
    const given = numeric(values);
    const at = atMs / 1_000;
    const MetricDataResults = given?.map((value) =>
      value === null
        ? { Id: 'e1', Label: 'ErrorRate', StatusCode: 'Complete', Timestamps: [], Values: [] }
        : {
            Id: 'e1',
            StatusCode: 'Complete',
            // The period that began 20 s ago still fills.
            Timestamps: [at - 20, at - 80, at - 140],
            Values: [0.001, value, 999],
          },
    );
    return MetricDataResults && json({ MetricDataResults, Messages: [] });
  },
  tellsTime: true,
  problem: (words) => json({ __type: 'com.amazon.coral.service#ValidationError', Message: words }),
};

/** Signature Version 4, step by step as AWS describes it. */
function signatureOf(
  { method, url, headers, body }: AskedOf,
  secret: Readonly<Record<string, string>>,
): string {
  const { groups = {} } =
    /Credential=(?<id>[^/]+)\/(?<scope>[^,]+), SignedHeaders=(?<names>[^,]+)/.exec(
      headers.authorization ?? '',
    ) ?? {};
  const { id, scope = '', names = '' } = groups;
  const hasToken = names.split(';').includes('x-amz-security-token');
  if (id !== secret.aws_access_key_id || hasToken !== Boolean(secret.aws_session_token)) return 'none';
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const lines = names.split(';').map((name) => `${name}:${headers[name]}\n`);
  const canonical = [method, url.pathname, '', lines.join(''), names, sha256(body)].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret.aws_secret_access_key}`);
  return hmac(key, toSign).toString('hex');
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** The key of a service account, as Google gives it out. */
const serviceAccountKey = (id: string, url = 'http://server') =>
  JSON.stringify({
    type: 'service_account',
    project_id: 'shop-project',
    private_key_id: id,
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: 'holdfast@shop-project.iam.gserviceaccount.com',
    token_uri: `${url}/token`,
  });

/** The token of an assertion that the key signed; undefined for any other. */
function accessTokenFor(body: string): string | undefined {
  const parameters = new URLSearchParams(body);
  const [header = '', claims = '', signature = ''] = parameters.get('assertion')?.split('.') ?? [];
  const isSigned = createVerify('RSA-SHA256')
    .update(`${header}.${claims}`)
    .verify(publicKey, signature, 'base64url');
  const decoded = [header, claims].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
  const isRight =
    parameters.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
    decoded[1].iss === 'holdfast@shop-project.iam.gserviceaccount.com' &&
    decoded[1].scope === 'https://www.googleapis.com/auth/monitoring.read' &&
    decoded[1].aud.endsWith('/token') &&
    decoded[1].exp - decoded[1].iat === 3_600;
  return isSigned && isRight ? `token-of-${decoded[0].kid}` : undefined;
}

const mql =
  "fetch k8s_container::shop/errors | filter resource.namespace_name == 'shop' | group_by [], [sum(val())]";

const stackdriver: MetricDouble = {
  type: 'stackdriver',
  needs: ['project'],
  secret: { project: 'shop-project', serviceAccountKey: serviceAccountKey('key-1') },
  rotated: { project: 'shop-project', serviceAccountKey: serviceAccountKey('key-2') },
  secretAt: (url, { project = '', serviceAccountKey: key = '{}' }) => ({
    project,
    serviceAccountKey: serviceAccountKey(JSON.parse(key).private_key_id, url),
  }),
  aside: ({ url, body }) =>
    url.pathname === '/token' ? json({ access_token: accessTokenFor(body) }) : undefined,
  query: mql,
  isAsked: ({ method, url, body }) =>
    method === 'POST' &&
    url.pathname === '/v3/projects/shop-project/timeSeries:query' &&
    JSON.parse(body).query === mql,
  isLetIn: ({ headers }, { serviceAccountKey: key = '{}' }) =>
    headers.authorization === `Bearer token-of-${JSON.parse(key).private_key_id}`,
  answer: (values, atMs = nowMs) => {
    const given = numeric(values);
    const point = (value: number | null, endMs: number) => ({
      // Whole numbers come as text.
      values: [Number.isInteger(value) ? { int64Value: String(value) } : { doubleValue: value }],
      timeInterval: {
        endTime: new Date(endMs).toISOString(),
        startTime: new Date(endMs - 60_000).toISOString(),
      },
    });
    const timeSeriesData = given
      ?.filter((value) => value !== null)
      .map((value) => ({ pointData: [point(value, atMs), point(999, atMs - 60_000)] }));
    return (
      timeSeriesData &&
      json({ timeSeriesDescriptor: {}, ...(timeSeriesData.length > 0 ? { timeSeriesData } : {}) })
    );
  },
  tellsTime: true,
  problem: (words) => json({ error: { code: 400, message: words, status: 'INVALID_ARGUMENT' } }),
};

const externalMetrics: MetricDouble = {
  type: 'externalmetrics',
  needs: [],
  secret: { token: 'token-of-the-adapter' },
  query: 'shop/queue_length?labelSelector=app%3Dx',
  isAsked: ({ url }) =>
    url.pathname === '/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue_length' &&
    url.searchParams.get('labelSelector') === 'app=x',
  isLetIn,
  answer: (values, atMs = nowMs) => {
    const items = values
      .filter((value) => value !== null)
      .map((value) => ({
        metricName: 'queue_length',
        metricLabels: {},
        timestamp: new Date(atMs).toISOString(),
        // Quantities of one value are written in several ways.
        value: value === 12.5 ? '12500m' : String(value),
      }));
    return json({ kind: 'ExternalMetricValueList', apiVersion: 'external.metrics.k8s.io/v1beta1', items });
  },
  tellsTime: true,
  problem: (words) => json({ kind: 'Status', status: 'Failure', message: words }),
};

/** One for each line of the table that is asked over HTTP. */
export const doubles: readonly MetricDouble[] = [
  instant('prometheus', '/api/v1/query'),
  instant('loki', '/loki/api/v1/query'),
  cloudwatch,
  datadog,
  dynatrace,
  externalMetrics,
  graphite,
  influxdb,
  newrelic,
  splunk,
  stackdriver,
  web,
];
