import { systemWords } from '../api/system-words.ts';

/** Why an outbound request failed. `InvalidUrl`: it cannot be sent as it is configured. `Status` is used by callers that treat an HTTP status as a failure. */
type HttpErrorCode =
  | 'InvalidUrl'
  | 'Refused'
  | 'Unreachable'
  | 'Closed'
  | 'Tls'
  | 'ClientCertificate'
  | 'ProxyCredentials'
  | 'Timeout'
  | 'TooLarge'
  | 'Redirected'
  | 'InvalidBody'
  | 'Aborted';

/**
 * A failed outbound request. The message names the method, the host and what went wrong;
 * never credentials, query strings or bodies (docs/security.md, "credentials").
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

/** TLS alerts of a server that requires a client certificate, or another one. */
const CERTIFICATE_ALERTS =
  /^ERR_SSL_.*ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNSUPPORTED_CERT|UNKNOWN_CA|HANDSHAKE)/;
const TLS_CODES = /^(ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_SSL_|HOSTNAME_MISMATCH)/;

/** Turns errors of undici or Node into an HttpError; an HttpError is returned unchanged. */
export function toHttpError(method: string, host: string, error: unknown): HttpError {
  const known = findHttpError(error);
  if (known) return known;
  const code = errorCode(error);
  const what = `${method} ${host}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new HttpError('Timeout', host, `${what}: timed out while connecting`);
  }
  if (CERTIFICATE_ALERTS.test(code)) {
    return new HttpError(
      'ClientCertificate',
      host,
      `${what}: the server requires a client certificate that it accepts (${code})`,
    );
  }
  const proxyStatus = refusedTunnel(error);
  if (proxyStatus) return tunnelError(what, host, Number(proxyStatus));
  // Its message names the header, and no value; a proxy that refuses credentials has the same code.
  if (code === 'UND_ERR_INVALID_ARG' && error instanceof Error)
    return new HttpError(
      'InvalidUrl',
      host,
      `${what}: not sent: ${error.message}; its value must be one line of printable characters`,
    );
  if (TLS_CODES.test(code)) {
    const why = systemWords(code);
    return new HttpError(
      'Tls',
      host,
      `${what}: the server's certificate is not trusted${why ? `: ${why}` : ''}`,
    );
  }
  if (code === 'UND_ERR_SOCKET')
    return new HttpError('Closed', host, `${what}: the connection was closed before the answer was complete`);
  return new HttpError('Unreachable', host, `${what}: ${systemWords(code) ?? 'the connection failed'}`);
}

/** The proxy answered CONNECT with this status. */
export function tunnelError(what: string, host: string, status: number): HttpError {
  if (status === 407)
    return new HttpError('ProxyCredentials', host, `${what}: the proxy requires valid credentials (407)`);
  return new HttpError('Unreachable', host, `${what}: the proxy refused the connection (${status})`);
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

/** The status by which a proxy refused a tunnel; undici has it in its message only. */
function refusedTunnel(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return (
    /^Proxy (?:response|Authentication Required) \((\d{3})\)/.exec(error.message)?.[1] ??
    refusedTunnel(error.cause)
  );
}

function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError) return errorCode(error.errors[0]);
  return errorCode(error.cause);
}
