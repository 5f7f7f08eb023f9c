import type { HttpTls } from '../../http/dispatchers.ts';
import type { HttpAuth, HttpClient, HttpRequest, HttpResponse } from '../../http/types.ts';
import { codeOfStatus, ForgeError, type ForgeErrorCode, forgeErrorOf, retryAfterMs } from './errors.ts';
import type { ForgeCall } from './types.ts';

/** How a forge is reached: as the Source's Git server is. Holds secrets: never log or serialise it. */
export interface ForgeNetworkSettings {
  readonly tls?: HttpTls;
  /** Address of a proxy, with its credentials as user info. */
  readonly proxy?: string;
}

/** Where calls go and how. */
export interface ForgeConnection {
  readonly http: Pick<HttpClient, 'send'>;
  /** Base address of the API. */
  readonly api: string;
  readonly headers: Readonly<Record<string, string>>;
  auth(): Promise<HttpAuth | undefined>;
  readonly way: ForgeNetworkSettings;
  /** Who is asked, for messages: `gitea git.example.com, acme/shop`. */
  readonly where: string;
  nowMs(): number;
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
 * Throws ForgeError, whose message holds the forge's own words without the secrets.
 */
export async function sendToForge(
  connection: ForgeConnection,
  what: string,
  call: ForgeCall,
): Promise<unknown> {
  const title = `${connection.where}: ${what}`;
  const auth = await connection.auth();
  const answer = await connection.http
    .send(requestOf(connection, call, auth))
    .catch((error: unknown) => Promise.reject(forgeErrorOf(title, error)));
  const code = codeOfStatus(answer.status, answer.headers);
  const value = parse(answer.body);
  if (code === undefined && value !== null) return value;
  if (code === undefined) throw new ForgeError('Unavailable', `${title}: the answer is not JSON`);
  const said = line(withoutSecrets(wordsOf(value), auth).replace(/\p{Cc}+/gu, ' '), MESSAGE_LIMIT);
  throw refusal(title, { code, answer, said }, connection.nowMs());
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

/** JSON; undefined for an empty body and null for one that is something else. */
function parse(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

function refusal(
  title: string,
  { code, answer, said }: { code: ForgeErrorCode; answer: HttpResponse; said: string },
  nowMs: number,
): ForgeError {
  const waitMs = code === 'Unavailable' ? retryAfterMs(answer.headers, nowMs) : undefined;
  const quoted = said ? `, ${said}` : '';
  return new ForgeError(code, `${title}: HTTP ${answer.status}${quoted}${HINTS[code]}`, {
    said,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  });
}

/** A forge, or a proxy before it, may repeat what it was sent. */
function withoutSecrets(text: string, auth: HttpAuth | undefined): string {
  if (!auth) return text;
  const secret = auth.kind === 'bearer' ? auth.token : auth.password;
  const sent = auth.kind === 'bearer' ? [] : [Buffer.from(`${auth.username}:${secret}`).toString('base64')];
  return [secret, ...sent].reduce((rest, one) => rest.replaceAll(one, '***'), text);
}

/** What the forges put into `message`, `error` and `errors`, whatever its shape. */
function wordsOf(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value;
  if (depth > 3 || typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value))
    return value
      .slice(0, 5)
      .map((one) => wordsOf(one, depth + 1))
      .filter(Boolean)
      .join('; ');
  const { message, error, errors } = value as Record<string, unknown>;
  return [message, error, errors]
    .map((one) => wordsOf(one, depth + 1))
    .filter(Boolean)
    .join(': ');
}

/** Text for forges: their limits, and the prefix that marks a draft. */

/** Longest description of a commit status (GitHub refuses more). */
export const DESCRIPTION_LIMIT = 140;
/** Longest title (GitLab, Gitea and Bitbucket: 255). */
export const TITLE_LIMIT = 255;
/** Longest body or comment; Bitbucket takes 32 KiB, the others more. */
const BODY_LIMIT = 30_000;

const CUT = '\n\n(The rest was cut.)\n';
const DRAFT = /^\s*(?:(?:draft|wip):\s*|\[(?:draft|wip)\]\s*|\(draft\)\s*)/i;

/** One line of at most `limit` characters, with an ellipsis where it was cut. */
export function line(text: string, limit: number): string {
  const single = text.replace(/\s+/g, ' ').trim();
  return single.length <= limit ? single : `${head(single, limit - 1).trimEnd()}…`;
}

/** Markdown of at most BODY_LIMIT characters that says when it was cut. */
export function body(text: string): string {
  return text.length <= BODY_LIMIT ? text : head(text, BODY_LIMIT - CUT.length) + CUT;
}

/** Whether a title marks a draft. */
export function isDraftTitle(title: string): boolean {
  return DRAFT.test(title);
}

/** The title without the prefix of a draft. */
export function plainTitle(title: string): string {
  return title.replace(DRAFT, '');
}

/** Cuts without leaving half of a surrogate pair. */
function head(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');
}
