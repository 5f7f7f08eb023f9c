import { singleLine } from '../../api/limits.ts';
import type { Source } from '../../api/source/source.ts';
import { stamp } from '../../api/time.ts';
import type { HttpAuth, HttpClient, HttpRequest, HttpResponse } from '../../http/types.ts';
import { secretsOf, withoutSecrets } from '../../http/without-secrets.ts';
import {
  codeOfStatus,
  ForgeError,
  type ForgeErrorCode,
  forgeErrorOf,
  LONGEST_WAIT_MS,
  retryAfterOf,
} from './errors.ts';
import type { ForgeCall, ForgeNetworkSettings } from './types.ts';

/** The tenant that requests to the forge of a Source count for. */
export function forgeTenant({ metadata }: Source): string {
  return `forge ${metadata.namespace}`;
}

/** Where calls go and how. */
export interface ForgeConnection {
  readonly http: Pick<HttpClient, 'send'>;
  /** Base address of the API. */
  readonly api: string;
  readonly headers: Readonly<Record<string, string>>;
  auth(): Promise<HttpAuth | undefined>;
  readonly way: ForgeNetworkSettings;
  /** The forge and repository, for messages: `gitea git.example.com, acme/shop`. */
  readonly where: string;
  nowMs(): number;
  /** Until when the forge asked to be left alone: of everything that shares its limit. */
  readonly pause?: { untilMs: number };
}

/** A page of pull requests with long bodies fits; more is not read. */
const MAX_BYTES = 16 * 1_048_576;
const MESSAGE_LIMIT = 200;

const HINTS: Readonly<Record<ForgeErrorCode, string>> = {
  Unauthorized: "; renew the token in the Source's Secret",
  Forbidden: '; grant the token the permissions listed in docs/guides/forges.md',
  NotFound: '; it does not exist, or the token may not see it',
  Unavailable: '',
  Invalid: '',
};

/**
 * Makes one call and returns the answer's JSON (undefined: an empty answer). `what` is what was to be done, for messages.
 * Throws ForgeError, whose message quotes the forge without the secrets.
 */
export async function sendToForge(
  connection: ForgeConnection,
  what: string,
  call: ForgeCall,
): Promise<unknown> {
  const title = `${connection.where}: ${what}`;
  const untilMs = connection.pause?.untilMs ?? 0;
  const leftMs = untilMs - connection.nowMs();
  // A longer pause was begun before the clock was set back.
  if (leftMs > 0 && leftMs <= LONGEST_WAIT_MS)
    throw new ForgeError(
      'Unavailable',
      `${title}: the forge's rate limit is used up; it is asked again at ${stamp(untilMs)}`,
      { retryAfterMs: leftMs },
    );
  const auth = await connection.auth();
  const answer = await connection.http
    .send(requestOf(connection, call, auth))
    .catch((error: unknown) => Promise.reject(forgeErrorOf(title, error)));
  const value = jsonOf(answer.body);
  const forgeMessage = safeMessageOf(value, auth);
  const code = codeOfStatus(answer.status, answer.headers, forgeMessage);
  if (code !== undefined) throw refusal(title, { code, answer, forgeMessage }, connection);
  if (value === null) throw new ForgeError('Unavailable', `${title}: the answer is not JSON`);
  return value;
}

/** JSON; undefined for an empty body and null for anything else. */
export function jsonOf(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

function requestOf(connection: ForgeConnection, call: ForgeCall, auth: HttpAuth | undefined): HttpRequest {
  const url = new URL(`${connection.api}${call.path}`);
  for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, String(value));
  return {
    url,
    method: call.method,
    headers: {
      accept: 'application/json',
      ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
      ...connection.headers,
    },
    limits: { maxBytes: MAX_BYTES },
    ...(call.json === undefined ? {} : { body: JSON.stringify(call.json) }),
    ...(auth ? { auth } : {}),
    ...connection.way,
  };
}

function refusal(
  title: string,
  { code, answer, forgeMessage }: { code: ForgeErrorCode; answer: HttpResponse; forgeMessage: string },
  { nowMs, pause }: ForgeConnection,
): ForgeError {
  const waitMs = code === 'Unavailable' ? retryAfterOf(answer.headers, nowMs(), forgeMessage) : undefined;
  if (pause && waitMs !== undefined) pause.untilMs = nowMs() + waitMs;
  const quoted = forgeMessage ? `, ${forgeMessage}` : '';
  return new ForgeError(code, `${title}: HTTP ${answer.status}${quoted}${HINTS[code]}`, {
    forgeMessage,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  });
}

/** The forge's message on one line. A forge, or a proxy before it, may repeat what it was sent: secrets are removed. */
function safeMessageOf(value: unknown, auth: HttpAuth | undefined): string {
  const text = withoutSecrets(messagesIn(value), secretsOf(auth));
  return singleLine(text, MESSAGE_LIMIT);
}

/** What forges put into `message`, `error` and `errors`, whatever its shape: texts, lists, and what is wrong with fields by their names. */
function messagesIn(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value;
  if (depth > 3 || typeof value !== 'object' || value === null) return '';
  const textOf = (one: unknown) => messagesIn(one, depth + 1);
  if (Array.isArray(value)) return value.slice(0, 5).map(textOf).filter(Boolean).join('; ');
  const { message, error, errors, detail, fields } = value as Record<string, unknown>;
  const texts = [message, error, errors, detail, fields].map(textOf).filter(Boolean);
  if (texts.length > 0 || depth === 0) return texts.join(': ');
  const named = Object.entries(value)
    .slice(0, 5)
    .map(([name, one]) => [name, textOf(one)]);
  return named
    .filter(([, text]) => text)
    .map((pair) => pair.join(' '))
    .join('; ');
}
