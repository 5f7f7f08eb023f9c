/** What every metric provider implements. */
import { limits } from '../../api/limits.ts';
import type { MetricReading } from '../../api/observed.ts';
import type { HttpAuth, HttpClient } from '../../http/types.ts';

/** The part of the outbound client that providers need. */
export type MetricHttp = Pick<HttpClient, 'send'>;

/** One question, rendered and complete. */
export interface MetricRequest {
  /** Base address of the provider's API. */
  address: string;
  query: string;
  headers: Readonly<Record<string, readonly string[]>>;
  /** Decoded Secret of the template; undefined: it names none. */
  secret: Readonly<Record<string, string>> | undefined;
  insecureSkipVerify: boolean;
  timeoutMs: number;
  /** Now, in milliseconds since the epoch. */
  nowMs: number;
  /** Window of the metric: an answer older than this is no answer (S29). */
  windowMs: number;
}

/** The endpoint of a request, without the query. */
export type MetricEndpoint = Omit<MetricRequest, 'query' | 'windowMs'>;

/** One kind of metric system. */
export interface MetricProvider {
  type: string;
  /** Throws for nothing that a server does: that is `error` or `noData`. */
  query(request: MetricRequest, http: MetricHttp): Promise<MetricReading>;
}

/** An answer of a provider's API; `json` is undefined where it is none. */
interface ProviderAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** Asks a provider's API with the settings of the endpoint. Throws for what keeps an answer away; every status is an answer. */
export async function askProvider(
  { headers, insecureSkipVerify, timeoutMs }: MetricEndpoint,
  http: MetricHttp,
  { url, auth }: { readonly url: string; readonly auth: HttpAuth | undefined },
): Promise<ProviderAnswer> {
  const given = Object.entries(headers).map(([name, values]) => [name, values.join(', ')]);
  const { status, body } = await http.send({
    url,
    headers: { accept: 'application/json', ...Object.fromEntries(given) },
    ...(auth ? { auth } : {}),
    ...(insecureSkipVerify ? { tls: { insecureSkipVerify: true } } : {}),
    limits: { totalTimeoutMs: timeoutMs, idleTimeoutMs: timeoutMs, maxBytes: limits.httpResponseBytes },
  });
  try {
    return { status, json: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown };
  } catch {
    return { status, json: undefined };
  }
}

/** A reading that is none, and why. */
export function failedReading(detail: string): MetricReading {
  return { kind: 'error', detail };
}
