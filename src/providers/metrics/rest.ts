/** Metric systems that answer one request over HTTP: what is the same for all of them. */
import type * as z from 'zod';
import { limits, oneLine, shorten, withoutLastSlashes } from '../../api/limits.ts';
import type { MetricReading } from '../../api/observed.ts';
import type { HttpAuth, HttpResponse, HttpTls } from '../../http/types.ts';
import { withoutSecrets } from '../../http/without-secrets.ts';
import {
  failedReading,
  type MetricAccess,
  type MetricHttp,
  type MetricProvider,
  type MetricRequest,
  unanswered,
} from './provider.ts';

/** What is sent. */
interface RestQuestion {
  readonly url: URL;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly auth?: HttpAuth | undefined;
}

/** One such system. */
interface RestProvider<Answer, Request extends MetricRequest> {
  readonly type: string;
  readonly timeoutMs?: number;
  /** Where the template names no address. Throws for what the template lacks. */
  readonly address?: string | ((request: Request) => string);
  /** The request, below the address. Throws for what the template or its Secret lack. */
  question(request: Request, base: URL, access: MetricAccess): RestQuestion | Promise<RestQuestion>;
  /** What a good answer is called in messages, and its schema. */
  readonly title: string;
  readonly answer: z.ZodType<Answer>;
  /** Of an answer that is no JSON. Default: it must be JSON. */
  decode?(text: string): unknown;
  /** `again`: asks with another request, where the answer shows that it should have been that. */
  reading(
    answer: Answer,
    request: Request,
    again: (better: Request) => Promise<MetricReading>,
  ): MetricReading | Promise<MetricReading>;
}

/** Its entry of the table. Never throws: failures become an `error` that shows no secret. */
export function restProvider<Answer, Request extends MetricRequest = MetricRequest>(
  provider: RestProvider<Answer, Request>,
): Pick<MetricProvider, 'type' | 'timeoutMs'> & {
  query(request: Request, access: MetricAccess): Promise<MetricReading>;
} {
  return {
    type: provider.type,
    ...(provider.timeoutMs ? { timeoutMs: provider.timeoutMs } : {}),
    async query(request, access) {
      try {
        const { address = '' } = provider;
        const base = baseOf(request.address || (typeof address === 'string' ? address : address(request)));
        const asked = async (one: Request): Promise<MetricReading> =>
          readingOf(provider, await ask(await provider.question(one, base, access), one, access), one, asked);
        const reading = await asked(request);
        return reading.kind === 'value' ? reading : { ...reading, detail: shown(reading.detail, request) };
      } catch (error) {
        return unanswered(error, (message) => shown(message, request));
      }
    },
  };
}

function baseOf(address: string): URL {
  // `host:9090` is a URL, too. That of Splunk's stream may be one of a websocket.
  if (/^(http|ws)s?:/i.test(address) && URL.canParse(address)) return new URL(address);
  throw new Error(
    'the address must be http(s)://host[:port][/path]: spec.provider.address of the MetricTemplate, or spec.metricsServer of the Canary',
  );
}

/** A path below the address, with these parameters. */
export function below(base: URL, path: string, parameters: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(base);
  url.pathname = `${withoutLastSlashes(base.pathname)}${path}`;
  url.search = new URLSearchParams(parameters).toString();
  url.hash = '';
  return url;
}

/** A key of the template's Secret. Throws when there is none. */
export function secretValue({ secret, secretName }: MetricRequest, key: string): string {
  const value = secret?.[key]?.trim();
  if (value) return value;
  throw new Error(
    secret
      ? `Secret ${secretName} has no key ${key}`
      : `the provider needs a Secret with the key ${key}; name it in spec.provider.secretRef`,
  );
}

/** `token`, or `username` and `password`. Throws when the Secret has neither, unless it is there for TLS alone. */
export function credentials({ secret, secretName }: MetricRequest): HttpAuth | undefined {
  if (!secret) return undefined;
  const [token, username, password] = [secret.token, secret.username, secret.password].map((one) =>
    one?.trim(),
  );
  if (token) return { kind: 'bearer', token };
  if (username && password) return { kind: 'basic', username, password };
  if (secret['ca.crt'] || secret['tls.crt']) return undefined;
  throw new Error(`Secret ${secretName} needs the key token, or the keys username and password`);
}

/** `ca.crt`, and `tls.crt` with `tls.key`: the names of Flux and of kubernetes.io/tls. */
export function tlsOf({ secret, insecureSkipVerify }: MetricRequest): HttpTls {
  const { 'ca.crt': ca, 'tls.crt': cert, 'tls.key': key } = secret ?? {};
  return {
    ...(ca ? { ca } : {}),
    ...(cert && key ? { cert, key } : {}),
    ...(insecureSkipVerify ? { insecureSkipVerify: true } : {}),
  };
}

/** Asks with the settings of the template. Throws when there is no answer; every status is an answer. */
async function ask(
  { url, method = 'GET', headers = {}, body, auth }: RestQuestion,
  request: MetricRequest,
  http: MetricHttp,
): Promise<HttpResponse> {
  const { timeoutMs } = request;
  const given = Object.entries(request.headers).map(([name, values]) => [
    name.toLowerCase(),
    values.join(', '),
  ]);
  return http.send({
    url,
    method,
    headers: { accept: 'application/json', ...Object.fromEntries(given), ...headers },
    ...(body === undefined ? {} : { body }),
    ...(auth ? { auth } : {}),
    tls: tlsOf(request),
    limits: { totalTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs, maxBytes: limits.httpResponseBytes },
  });
}

function readingOf<Answer, Request extends MetricRequest>(
  { title, answer, decode, reading }: RestProvider<Answer, Request>,
  response: HttpResponse,
  request: Request,
  again: (better: Request) => Promise<MetricReading>,
): MetricReading | Promise<MetricReading> {
  const { status, headers, body } = response;
  if (status < 200 || status > 299) return failedReading(refusalOf(response));
  const value = decodedBy(decode ?? JSON.parse, body);
  if (value === undefined)
    return failedReading(decode ? `the answer is not ${title}` : 'the answer is not JSON');
  const parsed = answer.safeParse(value);
  if (parsed.success)
    return reading(parsed.data, { ...request, nowMs: serverTimeMs(headers) ?? request.nowMs }, again);
  return failedReading(wordsIn(value) || `the answer is not ${title}`);
}

/** The status of a refusal, and the server's words. */
export function refusalOf({ status, headers, body }: HttpResponse): string {
  const value = decodedBy(JSON.parse, body);
  const words = value === undefined ? plainWords(headers, body) : wordsIn(value);
  return [`HTTP ${status}`, words.replace(`${status}: `, '')].filter(Boolean).join(': ');
}

/** The time of the answer by the clock of the server, which also sets the time of its samples: a wrong clock here makes nothing stale. */
function serverTimeMs({ date = '', age = '0' }: HttpResponse['headers']): number | undefined {
  const ms = Date.parse(date) + Number(age) * 1_000;
  return Number.isFinite(ms) ? ms : undefined;
}

const messageLimit = 200;

/** Without secrets, and of a long text beginning and end: some servers repeat the whole query before they say what is wrong with it. */
function shown(detail: string, request: MetricRequest): string {
  const text = oneLine(hidden(detail, request));
  if (text.length <= messageLimit) return text;
  const end = text.slice(-messageLimit / 2).replace(/^[\uDC00-\uDFFF]/, '');
  return `${shorten(text, messageLimit / 2)} ${end.trimStart()}`;
}

function decodedBy(decode: (text: string) => unknown, body: Uint8Array): unknown {
  try {
    return decode(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** What an answer says about itself in the fields that these APIs use for it. */
function wordsIn(value: unknown, depth = 0): string {
  if (typeof value === 'string') return depth === 0 ? '' : value;
  if (depth > 3 || typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value))
    return value
      .slice(0, 3)
      .map((one) => wordsIn(one, depth + 1))
      .filter(Boolean)
      .join('; ');
  const fields = new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]));
  // AWS writes `__type`, with a namespace before it, and `Message`, `Error` and `Code`.
  const kind = ['errortype', 'code', '__type']
    .map((name) => fields.get(name))
    .find((one) => typeof one === 'string');
  const said = ['error', 'errors', 'message', 'error_description']
    .map((name) => wordsIn(fields.get(name), depth + 1))
    .filter(Boolean);
  return said.length === 0 ? '' : [kind?.replace(/^.*#/, ''), ...said].filter(Boolean).join(': ');
}

/** The first line of a refusal in plain text, as Loki writes it; without a type that of Go's servers that want HTTPS. A page of HTML is somebody else's. */
function plainWords(
  { 'content-type': type = 'text/plain' }: HttpResponse['headers'],
  body: Uint8Array,
): string {
  const [line = ''] = new TextDecoder().decode(body.subarray(0, plainBytes)).trim().split('\n');
  return type.startsWith('text/plain') && !line.startsWith('<') ? line : '';
}

/** What is read of plain text: more than `withoutSecrets` shows, since a cut may go through a secret. */
const plainBytes = 4_096;

/** A server, or a proxy before it, may repeat what it was sent. */
function hidden(text: string, { secret = {} }: MetricRequest): string {
  const [username, password] = [secret.username?.trim(), secret.password?.trim()];
  const values = Object.entries(secret).flatMap(([key, text]) => {
    const value = text.trim();
    if (certificates.includes(key)) return [];
    return [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
  });
  const sent = username && password ? [Buffer.from(`${username}:${password}`).toString('base64')] : [];
  const secrets = [...values, ...sent].filter(({ length }) => length >= shortestHidden);
  return withoutSecrets(text, secrets);
}

/** Everybody may see them; hiding something as long would cut the end of a long text as long. */
const certificates: readonly string[] = ['ca.crt', 'tls.crt'];
/** What is shorter, an account's number or a name like `a`, would leave no message readable. */
const shortestHidden = 4;
