/** What went wrong at the API server, in words the engine can decide by. */

import { singleLine } from '../api/limits.ts';

/** Closed set of outcomes. `transient` and `timeout` may be tried again; the others need a person or newer input. */
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

/** Who has to act: the author of the object, the administrator of the cluster or its credentials, or nobody (it is retried). */
type Actor = 'author' | 'administrator' | 'nobody';

/** Another field manager that owns what we tried to write (server-side apply without force). */
interface FieldConflict {
  readonly manager: string;
  readonly field: string;
  /** Through which it wrote, as `scale`; absent: none. */
  readonly subresource?: string;
}

/** The fields of an ApiError besides its message. */
interface ApiErrorDetails {
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
  /** The server refused it for nothing but fields that cannot be changed in place; default false. */
  readonly isImmutable?: boolean;
  /** The user has no right to do it: no quota, webhook or terminating namespace refused it; default false. */
  readonly lacksRight?: boolean;
  /** It was refused for a namespace that is being terminated, which ends without anyone acting; default false. */
  readonly endsByItself?: boolean;
}

/** A refused or failed request. The message names verb and object, and never holds the content of a Secret (S31). */
export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  readonly status: number;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  readonly effectUnknown: boolean;
  readonly fieldConflicts: readonly FieldConflict[];
  readonly isImmutable: boolean;
  readonly lacksRight: boolean;
  readonly endsByItself: boolean;

  constructor(message: string, details: ApiErrorDetails) {
    super(message);
    this.name = 'ApiError';
    this.kind = details.kind;
    this.status = details.status;
    this.reason = details.reason;
    this.retryAfterMs = details.retryAfterMs;
    this.effectUnknown = details.effectUnknown;
    this.fieldConflicts = details.fieldConflicts;
    this.isImmutable = details.isImmutable ?? false;
    this.lacksRight = details.lacksRight ?? false;
    this.endsByItself = details.endsByItself ?? false;
  }

  /** True when the same request may succeed later by itself. */
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

/** For `catch`: what counts in the place of an ApiError of one of these kinds; without kinds, of any. Other errors stay what they are. */
export function onApiError<T>(
  kinds: readonly ApiErrorKind[],
  answer: (error: ApiError) => T,
): (error: unknown) => T {
  return (error) => {
    if (isApiError(error, ...kinds)) return answer(error);
    throw error;
  };
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

/** What a request was about, for messages: `apply Deployment shop/web`. */
interface Subject {
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
  const status: StatusBody = typeof body === 'object' && body !== null ? body : {};
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
    isImmutable: (kind === 'invalid' || isOfWebhook(status)) && saysImmutable(status, causes),
    lacksRight: kind === 'forbidden' && saysRight.test(text(status.message)),
    endsByItself: causes.some((cause) => cause.reason === 'NamespaceTerminating'),
  });
}

/** An authorizer names the user, also one who would grant more than he has. Who may patch and not create is told no reason, or RBAC's. */
const saysRight = /is forbidden:\s*(user "|RBAC: |$)/i;

/** How API servers say that a field cannot be changed; each kind has its own words, and a rule of a CRD without a message is quoted. */
const immutableWords =
  /immutable|may not be (changed|updated)|may not change|cannot be changed|cannot change|updates to \S+ (spec )?(for|are|is)|forbidden: updates|failed rule: (self(\.\w+)* == oldSelf|oldSelf(\.\w+)* == self)(\.\w+)*$/i;

/** An admission webhook decides by what is written, which it answers with 403 as well; another 403 is about who writes. */
function isOfWebhook({ code, message }: StatusBody): boolean {
  return code === 403 && text(message).startsWith('admission webhook "');
}

/** Policies speak of more than fields, as of images without an immutable tag, or of a time at which nothing may be changed. */
const isPolicy = /^admission webhook "|ValidatingAdmissionPolicy '/;
const namesField = /\bfields?\b|\bspec\.\w|\b(is|are) immutable\b/i;

/** A run of spaces is looked at once: servers quote what they refuse, which may be half a million of them. */
const betweenErrors = /, (?=[\w.[\]-]+: )|(?<!\s)\s*\n\s*/;

/** Every cause counts, also of several in one message: an object with other errors as well could not be recreated. */
function saysImmutable(status: StatusBody, causes: readonly Cause[]): boolean {
  const whole = text(status.message);
  const said = causes.length > 0 ? causes.map(({ message }) => text(message)) : whole.split(betweenErrors);
  const needsField = isPolicy.test(whole);
  return said.every((message) => immutableWords.test(message) && (!needsField || namesField.test(message)));
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
  if (httpStatus >= 500)
    // Server-side apply answers 500 to unknown fields, wrong types and bad base64. That never heals by itself (seen on a real server).
    return permanentFailure.test(text(status.message)) ? 'invalid' : 'transient';
  return kindByStatus[httpStatus] ?? 'badAnswer';
}

function conflictKind(status: StatusBody, causes: readonly Cause[]): ApiErrorKind {
  if (status.reason === 'AlreadyExists') return 'alreadyExists';
  return causes.some((cause) => cause.reason === 'FieldManagerConflict') ? 'fieldConflict' : 'conflict';
}

const permanentFailure =
  /failed to create typed patch object|failed to convert new object|unable to convert unstructured object|field not declared in schema/;

/** Who refused a write, or was asked in vain, by name: what is said of a Secret comes after it. */
const refusers =
  /^(?:secrets "[a-z0-9.-]+" is forbidden: |Internal error occurred: failed calling )?((?:admission )?webhook "[a-z0-9.-]+"|ValidatingAdmissionPolicy '[a-z0-9.-]+')/;

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
    const [, refuser] = refusers.exec(text(status.message)) ?? [];
    const by = refuser === undefined ? '' : `, by ${refuser}`;
    return `${head}${reason ? ` ${reason}` : ''}${where}${by} (the server's message is omitted: it may contain the Secret)`;
  }
  const isElsewhere = httpStatus < 400;
  const none = isElsewhere
    ? 'the answer leads elsewhere; a proxy or login page may have answered in place of the API server'
    : 'no message from the server';
  const said = text(status.message) || reason || none;
  // Policy engines say several lines, with names and values of whoever wrote the object.
  return singleLine(`${head} ${said}`, maximumMessageLength);
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

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
