/** Prometheus and what speaks its API (flagger-behaviour.md 4, S29). */
import * as z from 'zod';
import { limits } from '../../api/limits.ts';
import type { MetricReading } from '../../api/observed.ts';
import { shorten } from '../../api/text.ts';
import type { HttpAuth, HttpResponse } from '../../http/types.ts';
import type { MetricHttp, MetricProvider, MetricRequest } from './provider.ts';

/** Clocks of two machines may differ by this much before an answer counts as stale. */
const clockSkewMs = 30_000;
const messageLimit = 200;

const sample = z.tuple([z.number(), z.string().max(64)]);
const answerSchema = z.discriminatedUnion('resultType', [
  z.object({ resultType: z.literal('vector'), result: z.array(z.object({ value: sample })) }),
  z.object({ resultType: z.literal('scalar'), result: sample }),
  z.object({ resultType: z.literal('matrix') }),
  z.object({ resultType: z.literal('string') }),
]);
const envelopeSchema = z.object({ status: z.literal('success'), data: answerSchema });
const errorSchema = z.object({ errorType: z.string().optional(), error: z.string() });

type Answer = z.infer<typeof answerSchema>;

/** The `prometheus` entry of the table of providers. */
export const prometheus: MetricProvider = { type: 'prometheus', query };

async function query(request: MetricRequest, http: MetricHttp): Promise<MetricReading> {
  if (request.query.length > limits.queryCharacters)
    return failure(
      `the query has ${request.query.length} characters; at most ${limits.queryCharacters} are sent`,
    );
  try {
    const answer = readAnswer(await ask(request, http));
    return 'kind' in answer ? answer : readingOf(answer, request);
  } catch (error) {
    return failure(error instanceof Error ? error.message : 'the request failed');
  }
}

function ask(request: MetricRequest, http: MetricHttp): Promise<HttpResponse> {
  const auth = credentials(request.secret);
  return http.send({
    url: queryUrl(request.address, request.query),
    headers: {
      accept: 'application/json',
      ...Object.fromEntries(
        Object.entries(request.headers).map(([name, values]) => [name, values.join(', ')]),
      ),
    },
    ...(auth ? { auth } : {}),
    ...(request.insecureSkipVerify ? { tls: { insecureSkipVerify: true } } : {}),
    limits: {
      totalTimeoutMs: request.timeoutMs,
      idleTimeoutMs: request.timeoutMs,
      maxBytes: limits.httpResponseBytes,
    },
  });
}

/** The instant query's URL; white space in a query has no meaning and is collapsed, as Flagger does. */
function queryUrl(address: string, promql: string): string {
  const base = URL.canParse(address) ? new URL(address) : undefined;
  if (!base) throw new Error('the provider address is not a URL; it must be http(s)://host[:port][/path]');
  base.pathname = `${base.pathname.replace(/\/+$/, '')}/api/v1/query`;
  base.search = new URLSearchParams({ query: promql.replace(/\s+/g, ' ').trim() }).toString();
  base.hash = '';
  return base.toString();
}

/** `token`, or `username` and `password`. Throws when the Secret has neither. */
function credentials(secret: MetricRequest['secret']): HttpAuth | undefined {
  if (!secret) return undefined;
  const { token, username, password } = secret;
  if (token) return { kind: 'bearer', token: token.trim() };
  if (username && password) return { kind: 'basic', username, password };
  throw new Error('the Secret of the provider needs the key token, or the keys username and password');
}

function readAnswer({ status, body }: HttpResponse): Answer | MetricReading {
  const json = parse(body);
  if (status < 200 || status > 299) {
    const { data } = errorSchema.safeParse(json);
    return failure(
      `HTTP ${status}${data ? `: ${shorten(`${data.errorType ?? 'error'}: ${data.error}`, messageLimit)}` : ''}`,
    );
  }
  const envelope = envelopeSchema.safeParse(json);
  if (envelope.success) return envelope.data.data;
  return failure(
    json === undefined ? 'the answer is not JSON' : 'the answer is not a Prometheus query result',
  );
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

/** One series, one finite and fresh number: anything else is not knowing (S29). */
function readingOf(answer: Answer, { nowMs, windowMs }: MetricRequest): MetricReading {
  const samples = samplesOf(answer);
  if (!samples) return failure(`the query returns a ${answer.resultType}; it must return one number`);
  const [first, ...others] = samples;
  if (!first) return { kind: 'noData', detail: 'the query returns no series' };
  if (others.length > 0)
    return failure(`the query returns ${samples.length} series; aggregate them to one, as with sum(...)`);
  const [seconds, text] = first;
  const ageMs = nowMs - seconds * 1_000;
  if (Math.abs(ageMs) > windowMs + clockSkewMs)
    return {
      kind: 'noData',
      detail: `the sample is ${Math.round(ageMs / 1_000)} s old; the data is stale or a clock is wrong`,
    };
  const value = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value)
    ? { kind: 'value', value }
    : { kind: 'noData', detail: `the value is ${shorten(text, messageLimit)}` };
}

function samplesOf(answer: Answer): Array<z.infer<typeof sample>> | undefined {
  if (answer.resultType === 'scalar') return [answer.result];
  return answer.resultType === 'vector' ? answer.result.map(({ value }) => value) : undefined;
}

function failure(detail: string): MetricReading & { kind: 'error' } {
  return { kind: 'error', detail };
}
