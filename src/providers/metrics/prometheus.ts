/** Prometheus and what speaks its API (flagger-behaviour.md 4, S29). */
import * as z from 'zod';
import { limits } from '../../api/limits.ts';
import type { MetricReading } from '../../api/observed.ts';
import { shorten } from '../../api/text.ts';
import type { HttpAuth } from '../../http/types.ts';
import {
  askProvider,
  failedReading,
  type MetricHttp,
  type MetricProvider,
  type MetricRequest,
} from './provider.ts';

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
  const { length } = request.query;
  if (length > limits.queryCharacters)
    return failedReading(`the query has ${length} characters; at most ${limits.queryCharacters} are sent`);
  try {
    const { status, json } = await askProvider(request, http, {
      url: queryUrl(request),
      auth: credentials(request.secret),
    });
    if (status < 200 || status > 299) {
      const { data } = errorSchema.safeParse(json);
      const detail = data ? `: ${shorten(`${data.errorType ?? 'error'}: ${data.error}`, messageLimit)}` : '';
      return failedReading(`HTTP ${status}${detail}`);
    }
    const envelope = envelopeSchema.safeParse(json);
    if (envelope.success) return readingOf(envelope.data.data, request);
    return failedReading(
      json === undefined ? 'the answer is not JSON' : 'the answer is not a Prometheus query result',
    );
  } catch (error) {
    return failedReading(error instanceof Error ? error.message : 'the request failed');
  }
}

/** The instant query's URL; white space in a query has no meaning and is collapsed, as Flagger does. */
function queryUrl({ address, query }: MetricRequest): string {
  const base = URL.canParse(address) ? new URL(address) : undefined;
  if (!base) throw new Error('the provider address is not a URL; it must be http(s)://host[:port][/path]');
  base.pathname = `${base.pathname.replace(/\/+$/, '')}/api/v1/query`;
  base.search = new URLSearchParams({ query: query.replace(/\s+/g, ' ').trim() }).toString();
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

/** One series, one finite and fresh number: anything else is not knowing (S29). */
function readingOf(answer: Answer, { nowMs, windowMs }: MetricRequest): MetricReading {
  if (answer.resultType === 'matrix' || answer.resultType === 'string')
    return failedReading(`the query returns a ${answer.resultType}; it must return one number`);
  const samples = answer.resultType === 'scalar' ? [answer.result] : answer.result.map(({ value }) => value);
  const [first, ...others] = samples;
  if (!first) return { kind: 'noData', detail: 'the query returns no series' };
  if (others.length > 0)
    return failedReading(
      `the query returns ${samples.length} series; aggregate them to one, as with sum(...)`,
    );
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
