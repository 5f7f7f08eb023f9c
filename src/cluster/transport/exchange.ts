import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { systemWords } from '../../api/system-words.ts';
import { retryAfterMs } from '../../api/time.ts';
import { onlyWhile } from '../../http/send-condition.ts';
import type { Authentication } from '../access/credentials.ts';
import { ApiError, errorFromStatus, localError } from '../errors.ts';
import { type ApiRequest, isRead, methodOf } from './request.ts';

/** The limits one HTTP exchange obeys. */
export interface ExchangeSettings {
  readonly server: string;
  /** The proxy that requests go through, for messages. */
  readonly proxy?: string;
  readonly userAgent: string;
  readonly dispatcher: Dispatcher;
  readonly authentication: Authentication;
  /** Cancels the exchange: the caller's abort or the deadline. */
  readonly signal: AbortSignal;
  /** Largest answer taken, in bytes. */
  readonly maximumBytes: number;
  /** Takes the `Date` of each answer. */
  readonly onDate?: (date: string | string[] | undefined) => void;
}

/** The raw head of an answer with status < 300; its body is still to be read. */
interface OpenAnswer {
  readonly status: number;
  readonly body: Readable;
}

/** Sends one request and returns when the head of a good answer has come. Throws ApiError for everything else. */
export async function openExchange(request: ApiRequest, settings: ExchangeSettings): Promise<OpenAnswer> {
  const answer = await send(request, settings);
  settings.onDate?.(answer.headers.date);
  if (answer.statusCode < 300) return { status: answer.statusCode, body: answer.body };
  const body = await readText(answer.body, errorBodyBytes)
    .then((text): unknown => JSON.parse(text))
    .catch(() => undefined);
  const { 'retry-after': retryAfter } = answer.headers;
  const waitMs = typeof retryAfter === 'string' ? retryAfterMs(retryAfter, Date.now()) : undefined;
  const { verb, object, secret = false } = request;
  throw errorFromStatus({ verb, object, secret }, answer.statusCode, body, waitMs);
}

/** The same; returns the answer's JSON. */
export async function exchange(request: ApiRequest, settings: ExchangeSettings): Promise<unknown> {
  const answer = await openExchange(request, settings);
  const text = await readText(answer.body, settings.maximumBytes).catch((error: unknown) => {
    throw networkError(request, error);
  });
  try {
    return JSON.parse(text);
  } catch {
    throw localError(
      'badAnswer',
      `${request.verb} ${request.object}: the answer is not JSON (${text.length} characters); a proxy or login page may have answered in place of the API server`,
      {
        status: answer.status,
        effectUnknown: !isRead(request.verb),
      },
    );
  }
}

/** The error of a request that was never sent: a write certainly did not happen. */
export function unsent(request: ApiRequest): ApiError {
  return localError('aborted', `${request.verb} ${request.object}: not sent`);
}

const errorBodyBytes = 256 * 1024;

async function send(request: ApiRequest, settings: ExchangeSettings): Promise<Dispatcher.ResponseData> {
  const query = new URLSearchParams(request.query).toString();
  const { dispatcher } = settings;
  const sender = request.maySend
    ? dispatcher.compose(onlyWhile(request.maySend, () => unsent(request)))
    : dispatcher;
  try {
    const url = new URL(`${settings.server}${request.path}${query ? `?${query}` : ''}`);
    return await sender.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: methodOf(request.verb),
      headers: headersOf(request, settings),
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal: settings.signal,
    });
  } catch (error) {
    throw networkError(request, error, settings);
  }
}

/** A failure below HTTP. A write may have happened, unless no connection was established; then the message names the server. */
export function networkError(
  request: ApiRequest,
  error: unknown,
  way?: Pick<ExchangeSettings, 'server' | 'proxy'>,
): ApiError {
  if (error instanceof ApiError) return error;
  // undici reports the status in the message only.
  const status = error instanceof Error && /^Proxy response \((\d+)\)/.exec(error.message)?.[1];
  const refused = status ? `the proxy refused the connection with status ${status}` : undefined;
  const given = (error as { code?: unknown } | null)?.code;
  const code = !refused && typeof given === 'string' ? given : '';
  const why = refused ?? ((error instanceof Error && error.message) || 'connection failed');
  // The headers that undici waits for are those of a proxy's answer to CONNECT: for others its timer is off.
  const neverSent =
    refused !== undefined ||
    /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|UND_ERR_HEADERS_TIMEOUT|ERR_PROXY_CLOSED|CERT|TLS|OSSL|UNABLE_TO_VERIFY/.test(
      code,
    );
  const through = way?.proxy ? ` through the kubeconfig's proxy-url ${way.proxy}` : '';
  const where = neverSent && way ? ` (API server ${way.server}${through})` : '';
  return localError('transient', `${request.verb} ${request.object}: ${systemWords(code) ?? why}${where}`, {
    reason: code,
    effectUnknown: !isRead(request.verb) && !neverSent,
  });
}

/** By events: most answers are one chunk, for which an iterator is dear. */
function readText(body: Readable, maximumBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    body.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size <= maximumBytes) chunks.push(chunk);
      else body.destroy(localError('badAnswer', `the answer is larger than ${maximumBytes} bytes`));
    });
    body.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    body.on('error', reject);
    body.on('close', () => reject(new Error('the connection closed before the end of the answer')));
  });
}

function headersOf(request: ApiRequest, settings: ExchangeSettings): Record<string, string> {
  return {
    'user-agent': settings.userAgent,
    accept: request.accept ?? 'application/json',
    ...(request.body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
    ...settings.authentication.headers,
    ...(request.impersonate ? { 'impersonate-user': request.impersonate } : {}),
  };
}
