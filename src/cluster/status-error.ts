import { ApiError, type ApiErrorKind, type FieldConflict } from './errors.ts';

/** What a request was about, for messages: `apply Deployment shop/web`. */
export interface Subject {
  readonly verb: string;
  readonly object: string;
  /** The object is a Secret: nothing of the server's text is repeated, since it may echo values (S31). */
  readonly secret: boolean;
}

interface Cause {
  readonly reason?: unknown;
  readonly field?: unknown;
  readonly message?: unknown;
}

interface StatusBody {
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly details?: {
    readonly name?: unknown;
    readonly causes?: unknown;
    readonly retryAfterSeconds?: unknown;
  };
}

const maximumMessageLength = 600;

/** The error for an HTTP answer with status >= 300. `body` is the parsed JSON, if it was any. */
export function errorFromStatus(
  subject: Subject,
  httpStatus: number,
  body: unknown,
  retryAfterMs?: number,
): ApiError {
  const status = statusBody(body);
  const causes = causesOf(status);
  const kind = kindOf(httpStatus, status, causes);
  const reason = text(status.reason);
  const pause = retryAfterMs ?? retryAfterFrom(status);
  return new ApiError(messageFor(subject, httpStatus, status, causes), {
    kind,
    status: httpStatus,
    reason,
    ...(pause === undefined ? {} : { retryAfterMs: pause }),
    // A gateway that gave up waiting says nothing about what the server did.
    effectUnknown: httpStatus === 504 || httpStatus === 502,
    fieldConflicts: kind === 'fieldConflict' ? causes.flatMap(fieldConflict) : [],
  });
}

const kindByStatus: Readonly<Record<number, ApiErrorKind>> = {
  400: 'invalid',
  401: 'unauthorized',
  403: 'forbidden',
  405: 'unknownKind',
  406: 'invalid',
  410: 'gone',
  413: 'invalid',
  415: 'invalid',
  422: 'invalid',
  429: 'tooManyRequests',
};

function kindOf(httpStatus: number, status: StatusBody, causes: readonly Cause[]): ApiErrorKind {
  if (httpStatus === 404) return text(status.details?.name) ? 'notFound' : 'unknownKind';
  if (httpStatus === 409) return conflictKind(status, causes);
  if (status.reason === 'Expired' || status.reason === 'Gone') return 'gone';
  // An applied object with the uid of another one: the object was replaced since it was read.
  if (httpStatus === 422 && causes.some((cause) => cause.field === 'metadata.uid')) return 'conflict';
  if (httpStatus >= 500) return isPermanentFailure(status) ? 'invalid' : 'transient';
  return kindByStatus[httpStatus] ?? 'badAnswer';
}

function conflictKind(status: StatusBody, causes: readonly Cause[]): ApiErrorKind {
  if (status.reason === 'AlreadyExists') return 'alreadyExists';
  return causes.some((cause) => cause.reason === 'FieldManagerConflict') ? 'fieldConflict' : 'conflict';
}

const permanentFailure =
  /failed to create typed patch object|failed to convert new object|unable to convert unstructured object|field not declared in schema/;

/** Server-side apply answers 500 to unknown fields, wrong types and bad base64. That never heals by itself (seen on a real server). */
function isPermanentFailure(status: StatusBody): boolean {
  return permanentFailure.test(text(status.message));
}

function messageFor(
  subject: Subject,
  httpStatus: number,
  status: StatusBody,
  causes: readonly Cause[],
): string {
  const head = `${subject.verb} ${subject.object}: ${httpStatus}`;
  const reason = text(status.reason);
  const fields = causes.map((cause) => text(cause.field)).filter(Boolean);
  if (subject.secret) {
    const where = fields.length > 0 ? ` at ${fields.slice(0, 5).join(', ')}` : '';
    return `${head}${reason ? ` ${reason}` : ''}${where} (the server's text is withheld: it may repeat the Secret)`;
  }
  const said = text(status.message) || reason || 'no explanation from the server';
  return `${head} ${said}`.slice(0, maximumMessageLength);
}

function fieldConflict(cause: Cause): FieldConflict[] {
  if (cause.reason !== 'FieldManagerConflict') return [];
  const writer = /conflict with "([^"]*)"(?: with subresource "([^"]*)")?/.exec(text(cause.message));
  const [, manager = 'unknown', subresource] = writer ?? [];
  return [{ manager, field: text(cause.field), ...(subresource ? { subresource } : {}) }];
}

function retryAfterFrom(status: StatusBody): number | undefined {
  const seconds = status.details?.retryAfterSeconds;
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined;
}

function causesOf(status: StatusBody): readonly Cause[] {
  const causes = status.details?.causes;
  return Array.isArray(causes) ? causes.filter((cause) => typeof cause === 'object' && cause !== null) : [];
}

function statusBody(body: unknown): StatusBody {
  return typeof body === 'object' && body !== null ? (body as StatusBody) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
