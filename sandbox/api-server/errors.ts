import type { JsonRecord } from './json.ts';

/** An error the API answers with: an HTTP code and a Kubernetes Status object. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: JsonRecord;

  constructor(code: number, reason: string, message: string, details: JsonRecord = {}) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.details = details;
  }
}

/** What errors need to know about a kind to name it. */
interface NamedKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

/** The Status object of an error, as it goes over the wire. */
export function statusOf(error: ApiError): JsonRecord {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: error.message,
    reason: error.reason,
    details: error.details,
    code: error.code,
  };
}

function qualified(kind: NamedKind): string {
  return kind.group ? `${kind.plural}.${kind.group}` : kind.plural;
}

function detailsOf(kind: NamedKind, name: string): JsonRecord {
  return { name, ...(kind.group ? { group: kind.group } : {}), kind: kind.plural };
}

/** 404 for one object. */
export function notFound(kind: NamedKind, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(kind)} "${name}" not found`, detailsOf(kind, name));
}

/** 404 for a path the API does not serve. */
export function unknownPath(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource');
}

/** 409 on create. */
export function alreadyExists(kind: NamedKind, name: string): ApiError {
  return new ApiError(
    409,
    'AlreadyExists',
    `${qualified(kind)} "${name}" already exists`,
    detailsOf(kind, name),
  );
}

/** 409 on a write whose precondition does not hold. */
export function conflict(kind: NamedKind, name: string, cause?: string): ApiError {
  const why =
    cause ?? 'the object has been modified; please apply your changes to the latest version and try again';
  const message = `Operation cannot be fulfilled on ${qualified(kind)} "${name}": ${why}`;
  return new ApiError(409, 'Conflict', message, detailsOf(kind, name));
}

/** One field that validation refuses. */
export interface FieldProblem {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

/** 422 with one cause a field. */
export function invalid(kind: NamedKind, name: string, problems: readonly FieldProblem[]): ApiError {
  const texts = problems.map((problem) => `${problem.field}: ${problem.message}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const type = kind.group ? `${kind.kind}.${kind.group}` : kind.kind;
  return new ApiError(422, 'Invalid', `${type} "${name}" is invalid: ${list}`, {
    ...detailsOf(kind, name),
    kind: kind.kind,
    causes: [...problems],
  });
}

/** 400. */
export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

/** 410: the requested version is no longer stored. */
export function expired(message: string): ApiError {
  return new ApiError(410, 'Expired', message);
}
