import type { Clock } from '../../api/clock.ts';
import { limits } from '../../api/limits.ts';
import { retryAfterMs } from '../../api/time.ts';
import type { HttpRequest } from '../../http/types.ts';
import type { MetricAccess, MetricHttp } from './provider.ts';

/** Servers that asked to be left alone, of one namespace: a quota is one of its credentials. */
export interface Pauses {
  /** The same access; while a server is left alone, a request to it throws. */
  respectedBy(access: MetricAccess): MetricAccess;
}

/** A provider without a pause so far. */
export function createPauses({ nowMs }: Pick<Clock, 'nowMs'>): Pauses {
  const untilMs = new Map<string, number>();

  async function send(http: MetricHttp, request: HttpRequest) {
    const { host, origin } = new URL(request.url);
    const leftMs = (untilMs.get(origin) ?? 0) - nowMs();
    if (leftMs > 0)
      throw new Error(
        `${host} asked its clients to wait (Retry-After); it is asked again in ${Math.ceil(leftMs / 1_000)} s`,
      );
    untilMs.delete(origin);
    const answer = await http.send(request);
    const asked = answer.headers['retry-after'];
    const pauseMs =
      asked && (answer.status === 429 || answer.status === 503) ? retryAfterMs(asked, nowMs()) : undefined;
    if (pauseMs) untilMs.set(origin, nowMs() + Math.min(pauseMs, limits.askedPauseMs));
    return answer;
  }

  return { respectedBy: (access) => ({ ...access, send: (request) => send(access, request) }) };
}
