/** What went wrong at the API server, in words the engine can decide by. */

/** Closed set of outcomes. `transient` and `timeout` may be tried again; the others need somebody or newer input. */
export type ApiErrorKind =
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'unknownKind'
  | 'conflict'
  | 'fieldConflict'
  | 'alreadyExists'
  | 'invalid'
  | 'gone'
  | 'tooManyRequests'
  | 'transient'
  | 'timeout'
  | 'badAnswer'
  | 'aborted'
  | 'configuration';

/** Who has to act: the author of the object, who administers the cluster or its credentials, or nobody (it is tried again). */
export type Actor = 'author' | 'administrator' | 'nobody';

/** Another field manager that owns what we tried to write (server-side apply without force). */
export interface FieldConflict {
  readonly manager: string;
  readonly field: string;
  /** Through which it wrote, as `scale`; absent: none. */
  readonly subresource?: string;
}

/** Everything an ApiError carries beside its message. */
export interface ApiErrorDetails {
  readonly kind: ApiErrorKind;
  /** HTTP status, or 0 when no answer came. */
  readonly status: number;
  /** Kubernetes' own reason, for instance `AlreadyExists`; empty when there is none. */
  readonly reason: string;
  /** The server asked for this pause before the next try. */
  readonly retryAfterMs?: number;
  /** A write was sent but not answered: it may or may not have happened. Read before deciding. */
  readonly effectUnknown: boolean;
  readonly fieldConflicts: readonly FieldConflict[];
}

/** A refused or failed request. The message names verb and object, and never holds the content of a Secret (S31). */
export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  readonly effectUnknown: boolean;
  readonly fieldConflicts: readonly FieldConflict[];

  constructor(message: string, details: ApiErrorDetails) {
    super(message);
    this.name = 'ApiError';
    this.kind = details.kind;
    this.status = details.status;
    this.reason = details.reason;
    this.retryAfterMs = details.retryAfterMs;
    this.effectUnknown = details.effectUnknown;
    this.fieldConflicts = details.fieldConflicts;
  }

  /** True when the same request may succeed later without anybody acting. */
  get retryable(): boolean {
    return retryableKinds.has(this.kind);
  }

  /** Who must act before the same request can succeed. */
  get actor(): Actor {
    return actors[this.kind];
  }
}

/** True when `error` is an ApiError of one of these kinds. */
export function isApiError(error: unknown, ...kinds: ApiErrorKind[]): error is ApiError {
  return error instanceof ApiError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** An error without an answer from the server: network, deadline, abort, or configuration. */
export function localError(
  kind: ApiErrorKind,
  message: string,
  more: { effectUnknown?: boolean; reason?: string; status?: number } = {},
): ApiError {
  const { effectUnknown = false, reason = '', status = 0 } = more;
  return new ApiError(message, { kind, status, reason, effectUnknown, fieldConflicts: [] });
}

const retryableKinds: ReadonlySet<ApiErrorKind> = new Set([
  'conflict',
  'gone',
  'tooManyRequests',
  'transient',
  'timeout',
  'badAnswer',
]);

const actors: Readonly<Record<ApiErrorKind, Actor>> = {
  unauthorized: 'administrator',
  forbidden: 'administrator',
  notFound: 'nobody',
  unknownKind: 'administrator',
  conflict: 'nobody',
  fieldConflict: 'author',
  alreadyExists: 'nobody',
  invalid: 'author',
  gone: 'nobody',
  tooManyRequests: 'nobody',
  transient: 'nobody',
  timeout: 'nobody',
  badAnswer: 'nobody',
  aborted: 'nobody',
  configuration: 'administrator',
};
