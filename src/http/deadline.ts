import { HttpError } from './errors.ts';
import type { HttpLimits } from './types.ts';

/** Watches one exchange: a total deadline, and an idle deadline that every sign of life pushes back. */
export interface Deadline {
  /** Aborts when a deadline passes (reason: HttpError Timeout) or the caller gives up (HttpError Aborted). */
  readonly signal: AbortSignal;
  /** Bytes were transferred: the idle deadline starts over. */
  alive(): void;
  /** Ends the exchange: timers and listeners are gone. */
  end(): void;
}

/** Starts both deadlines (milliseconds). A slow trickle of bytes extends the idle deadline, but not the total one. */
export function startDeadline(
  what: { readonly method: string; readonly host: string },
  limits: Pick<HttpLimits, 'idleTimeoutMs' | 'totalTimeoutMs'>,
  caller?: AbortSignal,
): Deadline {
  const controller = new AbortController();
  const fail = (code: 'Timeout' | 'Aborted', text: string) => () =>
    controller.abort(new HttpError(code, what.host, `${what.method} ${what.host}: ${text}`));
  const onIdle = fail('Timeout', `no data for ${limits.idleTimeoutMs / 1000} s`);
  const onTotal = fail('Timeout', `not finished within ${limits.totalTimeoutMs / 1000} s`);
  const onCaller = fail('Aborted', 'cancelled by the caller');
  const total = setTimeout(onTotal, limits.totalTimeoutMs);
  let idle = setTimeout(onIdle, limits.idleTimeoutMs);
  if (caller?.aborted) onCaller();
  caller?.addEventListener('abort', onCaller, { once: true });
  return {
    signal: controller.signal,
    alive() {
      clearTimeout(idle);
      idle = setTimeout(onIdle, limits.idleTimeoutMs);
    },
    end() {
      clearTimeout(total);
      clearTimeout(idle);
      caller?.removeEventListener('abort', onCaller);
    },
  };
}
