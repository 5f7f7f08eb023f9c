import { retryAfterMs } from '../../api/time.ts';
import { HttpError } from '../../http/errors.ts';

/** Why a forge did not do what it was asked. `Unavailable` alone is worth another try without anybody acting. */
export type ForgeErrorCode = 'Unauthorized' | 'Forbidden' | 'NotFound' | 'Unavailable' | 'Invalid';

/** A failed request to a forge. The message names forge, host and repository and who must act; never credentials. */
export class ForgeError extends Error {
  readonly code: ForgeErrorCode;
  /** How long the forge asks to wait, in milliseconds; at most an hour. */
  readonly retryAfterMs: number | undefined;
  /** The forge's own message, without secrets; empty when there is none. */
  readonly forgeMessage: string;

  constructor(
    code: ForgeErrorCode,
    message: string,
    options: { retryAfterMs?: number; forgeMessage?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ForgeError';
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.forgeMessage = options.forgeMessage ?? '';
  }
}

const LONGEST_WAIT_MS = 3_600_000;
const NOT_TRANSIENT: ReadonlySet<string> = new Set([
  'InvalidUrl',
  'Refused',
  'Redirected',
  'ClientCertificate',
  'ProxyCredentials',
]);

/** The error code of an answer; undefined for a status of success. */
export function codeOfStatus(
  status: number,
  headers: Readonly<Record<string, string>>,
): ForgeErrorCode | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 401) return 'Unauthorized';
  // GitHub answers 403 also when its rate limit is reached.
  const isLimited = headers['x-ratelimit-remaining'] === '0' || headers['retry-after'] !== undefined;
  if (status === 403) return isLimited ? 'Unavailable' : 'Forbidden';
  if (status === 404 || status === 410) return 'NotFound';
  if (status === 408 || status === 429 || status >= 500) return 'Unavailable';
  return 'Invalid';
}

/** The outbound client's error as a forge's; `what` is the beginning of the message. */
export function forgeErrorOf(what: string, error: unknown): ForgeError {
  if (error instanceof ForgeError) return error;
  if (!(error instanceof HttpError))
    return new ForgeError('Invalid', `${what}: the request could not be made`);
  const code = NOT_TRANSIENT.has(error.code) ? 'Invalid' : 'Unavailable';
  return new ForgeError(code, `${what}: ${error.message}`, { cause: error });
}

/** How long a forge asks to wait, in milliseconds: `Retry-After`, or the end of its rate limit. */
export function retryAfterOf(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']) * 1000;
  const untilReset = Number.isNaN(reset) ? undefined : Math.max(0, reset - nowMs);
  const waitMs =
    headers['retry-after'] === undefined ? untilReset : retryAfterMs(headers['retry-after'], nowMs);
  return waitMs === undefined ? undefined : Math.min(waitMs, LONGEST_WAIT_MS);
}
