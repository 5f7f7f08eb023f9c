import { retryAfterMs } from '../../api/time.ts';
import { HttpError } from '../../http/errors.ts';

/** Why a request to a forge failed. Only `Unavailable` may succeed later by itself. */
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

/** A forge is not left alone for longer, whatever it asks for. */
export const LONGEST_WAIT_MS = 3_600_000;
const NOT_TRANSIENT: ReadonlySet<string> = new Set([
  'InvalidUrl',
  'Refused',
  'Redirected',
  'ClientCertificate',
  'ProxyCredentials',
]);

/** GitHub reports its secondary limits in the message only, and asks to wait for a minute then. */
const LIMIT_IN_WORDS = /rate limit|abuse detection/i;
const WAIT_WITHOUT_TIME_MS = 60_000;

/** The error code of an answer, from its headers and message; undefined for a status of success. */
export function codeOfStatus(
  status: number,
  headers: Readonly<Record<string, string>>,
  message = '',
): ForgeErrorCode | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 401) return 'Unauthorized';
  // GitHub answers 403 also when its rate limit is reached.
  const isLimited = retryAfterOf(headers, 0, message) !== undefined;
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
  const hint =
    error.code === 'Redirected'
      ? '; if the repository was renamed or moved, set spec.url to its new address'
      : '';
  return new ForgeError(code, `${what}: ${error.message}${hint}`, { cause: error });
}

/** How long a forge asks to wait, in milliseconds: `Retry-After`, or the end of a rate limit that is used up; each answer names its end. */
export function retryAfterOf(
  headers: Readonly<Record<string, string>>,
  nowMs: number,
  message = '',
): number | undefined {
  const asked =
    headers['retry-after'] === undefined ? undefined : retryAfterMs(headers['retry-after'], nowMs);
  if (asked !== undefined) return Math.min(asked, LONGEST_WAIT_MS);
  const isUsedUp = (headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining']) === '0';
  if (!isUsedUp) return LIMIT_IN_WORDS.test(message) ? WAIT_WITHOUT_TIME_MS : undefined;
  const resetMs = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']) * 1000;
  if (Number.isNaN(resetMs)) return WAIT_WITHOUT_TIME_MS;
  return Math.min(Math.max(0, resetMs - nowMs), LONGEST_WAIT_MS);
}
