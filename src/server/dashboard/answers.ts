import type { IncomingMessage } from 'node:http';
import type { Answer } from '../http/http-server.ts';
import type { Person } from '../http/reviews.ts';
import { AccessUnknown, type DashboardAccess, type Purpose } from './access.ts';

/** An answer with JSON. */
export function json(status: number, value: unknown, more: Partial<Answer> = {}): Answer {
  return { status, body: JSON.stringify(value), contentType: 'application/json', ...more };
}

/** A refusal, with its message as JSON. */
export function refuse(status: number, message: string): Answer {
  return json(status, { message }, status === 503 ? { retryAfterSeconds: 5 } : {});
}

/** The answer, or 503 when the user cannot be authenticated now. */
export async function orUnavailable(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AccessUnknown) return refuse(503, error.message);
    throw error;
  }
}

const howToLogIn =
  'Paste a token for the audience holdfast.dev. To make one: kubectl create token SERVICE-ACCOUNT -n NAMESPACE --audience holdfast.dev --duration 8h';

/** The user of a request, or the answer without one. Throws AccessUnknown. */
export async function userOf(
  access: DashboardAccess,
  request: IncomingMessage,
  purpose: Purpose,
): Promise<{ person: Person } | { answer: Answer }> {
  // Against CSRF: other sites can send requests from a user's browser, but not with this header.
  if (request.headers['x-holdfast-page'] !== '1')
    return { answer: refuse(403, 'requests need the header x-holdfast-page: 1') };
  const person = await access.identify(request.headers, purpose);
  return person ? { person } : { answer: refuse(401, howToLogIn) };
}
