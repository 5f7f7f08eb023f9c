/** Why an outbound request failed. `Status` is used by callers that treat an HTTP status as a failure. */
export type HttpErrorCode =
  | 'InvalidUrl'
  | 'Refused'
  | 'Unreachable'
  | 'Tls'
  | 'Timeout'
  | 'TooLarge'
  | 'Redirected'
  | 'InvalidBody'
  | 'Aborted';

/**
 * A failed outbound request. The message names the method, the host and what went wrong;
 * never credentials, query strings or bodies (threat model row 10).
 */
export class HttpError extends Error {
  readonly code: HttpErrorCode;
  /** `host[:port]` as configured, or empty when the URL could not be read. */
  readonly host: string;

  constructor(code: HttpErrorCode, host: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'HttpError';
    this.code = code;
    this.host = host;
  }
}

const TLS_CODES = /^(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_SSL_|HOSTNAME_MISMATCH)/;

/** Turns whatever undici or Node threw into an HttpError; one that is an HttpError already is kept. */
export function toHttpError(method: string, host: string, error: unknown): HttpError {
  const known = findHttpError(error);
  if (known) return known;
  const code = errorCode(error);
  const what = `${method} ${host}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new HttpError('Timeout', host, `${what}: no connection within the connect deadline`);
  }
  if (TLS_CODES.test(code)) {
    return new HttpError('Tls', host, `${what}: the server's certificate was not accepted (${code})`);
  }
  return new HttpError('Unreachable', host, `${what}: ${code || 'the connection failed'}`);
}

/** An HttpError anywhere in the chain of causes, at most 5 links deep. */
function findHttpError(error: unknown): HttpError | undefined {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth += 1) {
    if (current instanceof HttpError) return current;
    current = current.cause;
  }
  return undefined;
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError) return errorCode(error.errors[0]);
  return errorCode(error.cause);
}
