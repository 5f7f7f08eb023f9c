/** What holds for every line of the table that is asked over HTTP, against servers that answer as the systems do. */
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { Canary } from '../../api/canary/canary.ts';
import type { MetricTemplate } from '../../api/metric-template.ts';
import type { MetricReading } from '../../api/observed.ts';
import { createHttpClient } from '../../http/client.ts';
import { startTestServer, testCertificate } from '../../http/testing/servers.ts';
import { createPauses } from './pauses.ts';
import { readMetric } from './read-metric.ts';
import { supportedMetricProviders } from './table.ts';
import { type AskedOf, askedOf, doubles, type MetricDouble, nowMs } from './testing/doubles.ts';

const closers: Array<() => Promise<void>> = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

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

/** A server of the system that requires its Secret, and the requests that it got. */
async function start(double: MetricDouble, respond: (response: ServerResponse) => void, isSecure = false) {
  const http = createHttpClient({ allowLoopback: true });
  const pauses = createPauses({ nowMs: () => nowMs });
  const asked: AskedOf[] = [];
  let secret: Readonly<Record<string, string>> | undefined = double.secret;
  const server = await startTestServer(async (request, response) => {
    const one = await askedOf(request);
    const aside = double.aside?.(one);
    if (aside !== undefined) {
      response.end(aside);
      return;
    }
    asked.push(one);
    if (secret && !double.isLetIn(one, secret)) {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(double.problem(`these are no credentials: ${JSON.stringify(one.headers)} ${one.url}`));
    } else respond(response);
  }, isSecure);
  closers.push(async () => {
    await http.close();
    await server.close();
  });
  return {
    asked,
    address: server.url,
    /** The accepted credentials from now on; undefined: no credentials are needed. */
    letIn(changed: Readonly<Record<string, string>> | undefined) {
      secret = changed;
    },
    read(given: Given = {}): Promise<MetricReading> {
      const chosen = 'secret' in given ? given.secret : double.secret;
      const values =
        chosen && double.secretAt && chosen.serviceAccountKey
          ? { ...chosen, ...double.secretAt(server.url, chosen) }
          : chosen;
      const template: MetricTemplate = {
        apiVersion: 'flagger.app/v1beta1',
        kind: 'MetricTemplate',
        metadata: { name: 'errors', namespace: 'shop' },
        spec: {
          provider: {
            type: double.type as MetricTemplate['spec']['provider']['type'],
            address: server.url,
            ...(given.secret === undefined && 'secret' in given ? {} : { secretRef: { name: 'access' } }),
            ...double.provider,
            ...given.provider,
          },
          query: double.query,
        },
      };
      const metric = { name: 'errors', templateRef: { name: 'errors' }, ...given.metric };
      const source = {
        canary,
        metric,
        role: 'canary',
        provider: 'contour',
        metricsServer: '',
        nowMs,
      } as const;
      const timeoutMs = given.timeoutMs ?? 10_000;
      return readMetric({ ...source, template, secret: values, timeoutMs }, pauses.respectedBy(http));
    },
  };
}

interface Given {
  readonly metric?: { readonly interval: string; readonly maxSampleAge: string };
  readonly secret?: Readonly<Record<string, string>> | undefined;
  readonly provider?: Partial<MetricTemplate['spec']['provider']>;
  readonly timeoutMs?: number;
}

function answering(text: string | undefined, status = 200, headers = {}) {
  return (response: ServerResponse) => {
    response.writeHead(status, headers);
    response.end(text);
  };
}

/** What of a Secret is no secret: a user, an account, an organization, a project. */
const openKeys = ['username', 'newrelic_account_id', 'org', 'project', 'aws_access_key_id'];

function rotatedOf(secret: MetricDouble['secret']): MetricDouble['secret'] {
  const changed = Object.entries(secret).map(([key, text]) => [
    key,
    openKeys.includes(key) ? text : `new-${text}`,
  ]);
  return Object.fromEntries(changed);
}

/** What is sent for a user with a password. */
function basicOf({ username, password }: MetricDouble['secret']): string {
  return Buffer.from(`${username}:${password}`).toString('base64');
}

it('is held to by every line of the table', () => {
  // Objects of the API server: systems/cluster.test.ts and systems/job.test.ts.
  const overHttp = supportedMetricProviders().filter((type) => type !== 'keptn' && type !== 'job');
  expect(doubles.map(({ type }) => type).toSorted()).toEqual(overHttp.toSorted());
});

describe.each(doubles.map((double) => [double.type, double] as const))('%s', (_, double) => {
  const value = () => answering(double.answer([12.5]));
  const secrets = Object.entries(double.secret)
    .filter(([key]) => !openKeys.includes(key))
    .flatMap(([, text]) => [text, Buffer.from(text).toString('base64'), basicOf(double.secret)]);

  it('gives the value of the query over the window, asked with the credentials', async () => {
    const { asked, read } = await start(double, value());
    expect(await read()).toEqual({ kind: 'value', value: 12.5 });
    expect(asked.map((one) => double.isAsked(one))).toEqual([true]);
  });

  it('knows zero and negative values', async () => {
    const zero = await start(double, answering(double.answer([0])));
    expect(await zero.read()).toEqual({ kind: 'value', value: 0 });
    const negative = await start(double, answering(double.answer([-3e-7])));
    expect(await negative.read()).toEqual({ kind: 'value', value: -3e-7 });
  });

  it('has no data where the system has none', async () => {
    const { read } = await start(double, answering(double.answer([null])));
    expect(await read()).toMatchObject({ kind: 'noData' });
  });

  it('does not choose between several series', async () => {
    const { read } = await start(double, answering(double.answer([1, 2])));
    const reading = await read();
    expect(reading).toMatchObject({ kind: 'error' });
    expect(reading.kind === 'error' && reading.detail).toContain('2');
  });

  it.each(['NaN', 'Infinity'] as const)('takes %s for no value', async (name) => {
    const text = double.answer([name]) ?? '{"value": NaN}';
    const { read } = await start(double, answering(text));
    expect((await read()).kind).not.toBe('value');
  });

  if (double.tellsTime)
    it('takes a value that is older than the window for no data', async () => {
      const { read } = await start(double, answering(double.answer([12.5], nowMs - 200_000)));
      const reading = await read();
      expect(reading).toMatchObject({ kind: 'noData' });
      expect(reading.kind === 'noData' && reading.detail).toMatch(/the sample is \d+ s old/);
    });

  if (double.tellsTime)
    it("judges the age of a value by the server's clock: ours may be off", async () => {
      const { read } = await start(double, (response) => {
        response.setHeader('date', new Date(nowMs - 3_600_000).toUTCString());
        answering(double.answer([12.5], nowMs - 3_600_000))(response);
      });
      expect(await read()).toMatchObject({ kind: 'value' });
    });

  it("gives the system's words for a query that it does not understand", async () => {
    const { read } = await start(double, answering(double.problem('unknown word at 5'), 400));
    const reading = await read();
    expect(reading).toMatchObject({ kind: 'error' });
    expect(reading.kind === 'error' && reading.detail).toMatch(/^HTTP 400.*unknown word at 5$/);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['an error without words', answering('', 500)],
    ['HTML', answering('<html>log in</html>')],
    ['another document', answering('{"hello": ["world"]}')],
    ['nothing', answering('')],
    ['no content', answering(undefined, 204)],
    ['bytes that are no text', (response) => response.end(Buffer.from([0xff, 0xfe, 0x00]))],
    ['a redirect', answering('', 302, { location: 'http://169.254.169.254/' })],
    ['a connection that is closed', (response) => response.socket?.destroy()],
    [
      'half an answer',
      (response) => {
        response.write('{"sta');
        response.socket?.end();
      },
    ],
    ['an answer that is too large', (response) => response.end(' '.repeat(3_000_000))],
    ['an answer that never comes', () => {}],
  ])('has no value from %s', async (_what, respond) => {
    const { read } = await start(double, respond);
    const { kind } = await read({ timeoutMs: 500 });
    expect(kind).not.toBe('value');
  });

  it('leaves a server alone that asks for it, and says so', async () => {
    const { asked, read, address } = await start(double, answering('', 429, { 'retry-after': '30' }));
    expect(await read()).toEqual({ kind: 'error', detail: 'HTTP 429' });
    const { host } = new URL(address);
    expect(await read()).toEqual({
      kind: 'error',
      detail: `${host} asked its clients to wait (Retry-After); it is asked again in 30 s`,
    });
    expect(asked).toHaveLength(1);
  });

  it('shows no secret, even one that the server repeats', async () => {
    const { read, letIn } = await start(double, value());
    letIn(double.rotated ?? {});
    const reading = await read();
    expect(reading).toMatchObject({ kind: 'error' });
    const detail = reading.kind === 'error' ? reading.detail : '';
    expect(detail).toContain('HTTP 401');
    for (const secret of secrets) {
      expect(detail).not.toContain(secret);
    }
  });

  it('reads the Secret again for every check', async () => {
    const { read, letIn } = await start(double, value());
    expect(await read()).toMatchObject({ kind: 'value' });
    const rotated = double.rotated ?? rotatedOf(double.secret);
    letIn(rotated);
    expect(await read()).toMatchObject({ kind: 'error' });
    expect(await read({ secret: rotated })).toMatchObject({ kind: 'value' });
  });

  if (double.needs.length > 0)
    it('names the Secret and the key that it lacks', async () => {
      const { asked, read } = await start(double, value());
      for (const key of double.needs) {
        const { [key]: __, ...rest } = double.secret;
        const reading = await read({ secret: rest });
        expect(reading).toMatchObject({ kind: 'error' });
        expect(reading.kind === 'error' && reading.detail).toContain('Secret shop/access');
        expect(reading.kind === 'error' && reading.detail).toContain(key);
      }
      expect(asked).toEqual([]);
    });

  it('trusts no unknown certificate, unless the Secret has its authority or the template says so', async () => {
    const { read } = await start(double, value(), true);
    expect(await read()).toMatchObject({ kind: 'error', detail: expect.stringContaining('not trusted') });
    const secret = { ...double.secret, 'ca.crt': testCertificate };
    expect(await read({ secret })).toEqual({ kind: 'value', value: 12.5 });
    expect(await read({ provider: { insecureSkipVerify: true } })).toEqual({ kind: 'value', value: 12.5 });
  });

  it('sends the headers of the template, and never one in place of its credentials', async () => {
    const { asked, read } = await start(double, value());
    const headers = { 'X-Scope-OrgID': ['shop'], Authorization: ['Bearer other'], 'X-Query-Key': ['other'] };
    expect(await read({ provider: { headers } })).toMatchObject({ kind: 'value' });
    expect(asked[0]?.headers['x-scope-orgid']).toBe('shop');
  });
});

it.each([
  ['older than the window, as of |> last() over hours', nowMs - 3_000_000, 'noData'],
  ['of now', nowMs, 'value'],
  ['of a clock that is ten seconds ahead', nowMs + 10_000, 'value'],
  ['without a time, as of |> sum()', undefined, 'value'],
] as const)('influxdb: the only record is judged by its time: %s', async (_, atMs, kind) => {
  const double = doubles.find(({ type }) => type === 'influxdb');
  if (!double) return expect.fail('there is no double of InfluxDB');
  const [column, cell] = atMs === undefined ? ['', ''] : [',_time', `,${new Date(atMs).toISOString()}`];
  const table = `#default,_result,,${column && ','}\r\n,result,table${column},_value\r\n,,0${cell},12.5\r\n\r\n`;
  const { read } = await start(double, answering(table));
  expect((await read()).kind).toBe(kind);
});

it('influxdb: a server without login, as one of version 1.8, is asked without a Secret', async () => {
  const double = doubles.find(({ type }) => type === 'influxdb');
  if (!double) return expect.fail('there is no double of InfluxDB');
  const { asked, read, letIn } = await start(double, answering(double.answer([12.5])));
  letIn(undefined);
  expect(await read({ secret: undefined })).toEqual({ kind: 'value', value: 12.5 });
  expect(asked.map(({ url, headers }) => [url.searchParams.get('org'), headers.authorization])).toEqual([
    ['', undefined],
  ]);
});

it('influxdb: a query that fails halfway says why', async () => {
  const double = doubles.find(({ type }) => type === 'influxdb');
  if (!double) return expect.fail('there is no double of InfluxDB');
  const table =
    '#datatype,string,string\r\n#group,true,true\r\n#default,,\r\n,error,reference\r\n,memory limit exceeded,897\r\n\r\n';
  const { read } = await start(double, answering(table));
  expect(await read()).toMatchObject({ kind: 'error', detail: 'the query failed: memory limit exceeded' });
});

it.each([
  ['a page in one line', '<html>log in</html>'],
  ['an error in one line', '{"code":"unauthorized","message":"log in"}'],
])('influxdb: %s is an error, and not a query without data', async (_, text) => {
  const double = doubles.find(({ type }) => type === 'influxdb');
  if (!double) return expect.fail('there is no double of InfluxDB');
  const { read } = await start(double, answering(text));
  expect(await read()).toEqual({
    kind: 'error',
    detail: 'the answer is not the annotated CSV of a Flux query',
  });
});

it('influxdb: a tag of the name error is no failed query', async () => {
  const double = doubles.find(({ type }) => type === 'influxdb');
  if (!double) return expect.fail('there is no double of InfluxDB');
  const table = `,result,table,_time,_value,error\r\n,_result,0,${new Date(nowMs).toISOString()},12.5,timeout\r\n\r\n`;
  const { read } = await start(double, answering(table));
  expect(await read()).toEqual({ kind: 'value', value: 12.5 });
});

it.each([
  ['one percentile', { 95: 0.25 }, { kind: 'value', value: 0.25 }],
  [
    'two percentiles',
    { 95: 0.25, 99: 0.5 },
    { kind: 'error', detail: 'the query returns 2 values; it must return one number' },
  ],
])('newrelic: the answer to percentile() with %s', async (_, percentiles, reading) => {
  const double = doubles.find(({ type }) => type === 'newrelic');
  if (!double) return expect.fail('there is no double of New Relic');
  const { read } = await start(double, answering(JSON.stringify({ results: [{ percentiles }] })));
  expect(await read()).toEqual(reading);
});

const at = (seconds: number) => nowMs / 1_000 + seconds;

it.each([
  ['text', `[["7", "${at(-60)}"], ["12.5", "${at(0)}"]]`, { kind: 'value', value: 12.5 }],
  [
    'infinite now, as 1e9999',
    `[[7, ${at(-60)}], [1e9999, ${at(0)}]]`,
    { kind: 'noData', detail: 'the value is Infinity' },
  ],
  ['infinite before', `[[1e9999, ${at(-60)}], [7, ${at(0)}]]`, { kind: 'value', value: 7 }],
])('graphite: points may be %s', async (_, datapoints, reading) => {
  const double = doubles.find(({ type }) => type === 'graphite');
  if (!double) return expect.fail('there is no double of Graphite');
  const { read } = await start(double, answering(`[{"target": "a", "datapoints": ${datapoints}}]`));
  expect(await read()).toEqual(reading);
});

it('loki: the words of a refusal in plain text are told, without the token', async () => {
  const double = doubles.find(({ type }) => type === 'loki');
  if (!double) return expect.fail('there is no double of Loki');
  const words = `parse error at line 1, col 5: unexpected IDENTIFIER; ${double.secret.token}\nmore`;
  const plain = { 'content-type': 'text/plain; charset=utf-8' };
  const refused = await start(double, answering(words, 400, plain));
  expect(await refused.read()).toEqual({
    kind: 'error',
    detail: 'HTTP 400: parse error at line 1, col 5: unexpected IDENTIFIER; ***',
  });
  const insecure = await start(double, answering('Client sent an HTTP request to an HTTPS server.\n', 400));
  expect(await insecure.read()).toEqual({
    kind: 'error',
    detail: 'HTTP 400: Client sent an HTTP request to an HTTPS server.',
  });
  const answered = await start(double, answering(words, 200, plain));
  expect(await answered.read()).toEqual({ kind: 'error', detail: 'the answer is not JSON' });
});

it('loki: a long problem is told also where the Secret has authorities, which are no secret', async () => {
  const double = doubles.find(({ type }) => type === 'loki');
  if (!double) return expect.fail('there is no double of Loki');
  const { read } = await start(double, answering(double.problem('unknown word '.repeat(100)), 400));
  const reading = await read({ secret: { ...double.secret, 'ca.crt': testCertificate.repeat(3) } });
  expect(reading.kind === 'error' && reading.detail).toMatch(/^HTTP 400: bad_data: unknown word/);
});

it('loki: a secret that is repeated as JSON writes it is not shown', async () => {
  const double = doubles.find(({ type }) => type === 'loki');
  if (!double) return expect.fail('there is no double of Loki');
  const secret = { username: 'reader', password: 'two"halves' };
  const words = `refused: ${JSON.stringify(secret)}`;
  const { read, letIn } = await start(double, answering(words, 403, { 'content-type': 'text/plain' }));
  letIn(undefined);
  expect(await read({ secret })).toEqual({
    kind: 'error',
    detail: 'HTTP 403: refused: {"username":"***","password":"***"}',
  });
});

const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const dataOfSplunk = event('data', { data: [{ tsId: 'A', value: 0 }], logicalTimestampMs: nowMs });

it.each([
  [
    'with errors',
    event('error', { errors: [{ code: 'ANALYTICS_PROGRAM_NAME_ERROR', context: { line: 1 } }] }),
    'the program failed: ANALYTICS_PROGRAM_NAME_ERROR',
  ],
  [
    'that was aborted',
    dataOfSplunk +
      event('control-message', {
        event: 'CHANNEL_ABORT',
        abortInfo: { sf_job_abortState: 'Aborted', sf_job_abortReason: 'too many jobs' },
      }),
    'the program was aborted: too many jobs',
  ],
  ['that was cut off', dataOfSplunk, 'the stream ended before the program did'],
])('splunk: a stream %s is an error, and not a query without data', async (_, stream, detail) => {
  const double = doubles.find(({ type }) => type === 'splunk');
  if (!double) return expect.fail('there is no double of Splunk');
  const { read } = await start(double, answering(stream));
  expect(await read()).toEqual({ kind: 'error', detail });
});

/** Seconds or milliseconds between two parameters of an address. */
function between(from: string, to: string): ({ url }: AskedOf) => number {
  return ({ url: { searchParams } }) => Number(searchParams.get(to)) - Number(searchParams.get(from));
}

it.each<[string, (asked: AskedOf) => unknown, unknown]>([
  ['newrelic', ({ url }) => /SINCE.*/.exec(url.searchParams.get('nrql') ?? '')?.[0], 'SINCE 300 seconds ago'],
  ['datadog', between('from', 'to'), 3_000],
  ['dynatrace', between('from', 'to'), 3_000_000],
  ['splunk', between('start', 'stop'), 3_000_000],
  [
    'cloudwatch',
    ({ body }) => {
      const { StartTime, EndTime } = JSON.parse(body) as { StartTime: number; EndTime: number };
      return EndTime - StartTime;
    },
    3_000,
  ],
])(
  'a metric with maxSampleAge asks %s for the time of its interval all the same',
  async (type, timeIn, expected) => {
    const double = doubles.find((one) => one.type === type);
    if (!double) return expect.fail(`there is no double of ${type}`);
    const { asked, read } = await start(double, answering('', 500));
    await read({ metric: { interval: '5m', maxSampleAge: '30s' } });
    expect(asked.map(timeIn)).toEqual([expected]);
  },
);
