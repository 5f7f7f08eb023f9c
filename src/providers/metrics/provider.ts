/** What a metric provider has to offer. */
import type { MetricReading } from '../../api/observed.ts';
import type { HttpClient } from '../../http/types.ts';

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

/** Where a question goes, without the question. */
export type MetricEndpoint = Omit<MetricRequest, 'query' | 'windowMs'>;

/** One kind of metric system. */
export interface MetricProvider {
  type: string;
  /** Throws for nothing that a server does: that is `error` or `noData`. */
  query(request: MetricRequest, http: MetricHttp): Promise<MetricReading>;
}
