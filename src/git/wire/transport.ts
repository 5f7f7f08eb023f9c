import type { GitHttpRequest, GitHttpResponse } from 'isomorphic-git';
import { limits as bounds } from '../../api/limits.ts';
import { sshProblem } from '../../api/source/git-address.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpClient, HttpLimits, HttpStream } from '../../http/types.ts';
import { GitError, type GitErrorCode } from '../errors.ts';
import { type GitCredentials, httpOptionsOf } from './credentials.ts';
import { checkListing, oneChunk } from './pkt-line.ts';

/** What a transport moved so far; shared between the operations of one repository. */
export interface TransportStats {
  requests: number;
  receivedBytes: number;
}

/** Deadlines and caps of Git's HTTP requests. */
export interface TransportLimits {
  /** Default 15 s of silence. */
  readonly idleTimeoutMs: number;
  /** Default 60 s for one request, the pack's download included; cuts a trickle. */
  readonly totalTimeoutMs: number;
  /** Most bytes of a ref listing. */
  readonly maxListingBytes: number;
  /** Most bytes of a pack; memory while indexing is many times that. */
  readonly maxPackBytes: number;
}

/** Deadlines and caps that hold unless the operator sets others. */
export const DEFAULT_TRANSPORT_LIMITS: TransportLimits = {
  idleTimeoutMs: 15_000,
  totalTimeoutMs: 60_000,
  maxListingBytes: bounds.refListingBytes,
  maxPackBytes: bounds.packBytes,
};

/** Where a redirect inside the origin moved the repository; shared between the operations of one repository. */
export interface Address {
  movedTo: string | undefined;
}

/** What one operation needs to speak to the server. */
export interface TransportOptions {
  readonly client: HttpClient;
  readonly url: string;
  readonly credentials: GitCredentials;
  readonly limits: TransportLimits;
  readonly stats: TransportStats;
  readonly address: Address;
  readonly signal?: AbortSignal | undefined;
}

/** Speaks smart HTTP to one repository. Every failure is a GitError; only status 200 is returned. */
export interface GitTransport {
  /** isomorphic-git's HTTP plug-in: the library has neither deadlines, caps nor abort of its own. */
  request(request: GitHttpRequest): Promise<GitHttpResponse>;
  /** POSTs to git-upload-pack in protocol v0 and returns the answer's bytes. */
  uploadPack(body: Uint8Array): Promise<AsyncIterableIterator<Uint8Array>>;
}

const DISCOVERY = '/info/refs?service=git-upload-pack';
const MAX_REDIRECTS = 3;
const MAX_REQUEST_BYTES = 1_048_576;

/**
 * A transport for one operation. Credentials are sent at once, and only to the URL's own origin: a redirect of the
 * discovery request inside the origin moves the base URL, any other redirect is an error.
 */
export function createGitTransport(options: TransportOptions): GitTransport {
  const configured = checkGitUrl(options.url);
  const { address } = options;

  async function ask(suffix: string, request: Sent): Promise<HttpStream> {
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const base = address.movedTo ?? configured;
      const answer = await exchange(options, `${base}${suffix}`, request);
      if (answer.status < 300 || answer.status > 399) {
        refuseStatus(options, configured, answer);
        return answer;
      }
      answer.cancel();
      // A POST is never sent on by a redirect; asking for the refs tells where the repository lives now.
      if (request.method === 'POST' && address.movedTo === undefined) await discover();
      else address.movedTo = rebased(base, suffix, request.method, answer);
    }
    throw new GitError('Redirected', `${configured}: too many redirects; set spec.url to the final address`);
  }

  async function discover(): Promise<void> {
    const answer = await ask(DISCOVERY, { method: 'GET', headers: {} });
    answer.cancel();
    // Only refs moved nowhere: then the POST's redirect has no good reason, and is told as it is.
    address.movedTo ??= configured;
  }

  return {
    async request({ url, method = 'GET', headers = {}, body }) {
      const sent = body
        ? { method, headers, body: await collect(body, MAX_REQUEST_BYTES) }
        : { method, headers };
      const answer = await ask(url.slice(configured.length), sent);
      // Read here to the end: the library takes a body that fails for one that ends.
      const listing = await collect(counted(options, answer), options.limits.maxListingBytes);
      // A page instead of Git is the library's to recognise.
      if (answer.headers['content-type']?.startsWith('application/x-git-'))
        await checkListing(configured, listing);
      return {
        url,
        method,
        statusCode: answer.status,
        statusMessage: '',
        headers: { ...answer.headers },
        body: oneChunk(listing),
      };
    },
    async uploadPack(body) {
      const headers = {
        'content-type': 'application/x-git-upload-pack-request',
        accept: 'application/x-git-upload-pack-result',
      };
      const answer = await ask('/git-upload-pack', { method: 'POST', headers, body });
      return counted(options, answer);
    },
  };
}

interface Sent {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: Uint8Array;
}

function exchange(options: TransportOptions, url: string, request: Sent): Promise<HttpStream> {
  const { client, credentials, limits, signal, stats } = options;
  // Listings are asked in protocol v2, packs in v0.
  const isPack = request.method === 'POST' && !request.headers['Git-Protocol'];
  const httpLimits: HttpLimits = {
    idleTimeoutMs: limits.idleTimeoutMs,
    totalTimeoutMs: limits.totalTimeoutMs,
    maxBytes: isPack ? limits.maxPackBytes : limits.maxListingBytes,
  };
  stats.requests += 1;
  const opened = client.open({
    url,
    ...request,
    headers: { ...request.headers, 'accept-encoding': 'identity' },
    redirect: 'return',
    limits: httpLimits,
    ...httpOptionsOf(credentials),
    ...(signal ? { signal } : {}),
  });
  return opened.catch((error: unknown) => {
    throw wantsCertificate(error, url, credentials) ?? toGitError(error);
  });
}

/** Many servers that demand a certificate say nothing to who has none: the connection ends. */
function wantsCertificate(error: unknown, url: string, { tls }: GitCredentials): GitError | undefined {
  if (!(error instanceof HttpError) || error.code !== 'Closed') return undefined;
  if (!url.startsWith('https:') || tls?.cert) return undefined;
  const hint =
    'if it demands a client certificate, put tls.crt and tls.key into the Secret of spec.secretRef';
  return new GitError('Unreachable', `${error.message}; ${hint}`, error);
}

/** The new base URL after a redirect of the discovery request. Throws GitError Redirected for every other redirect. */
function rebased(base: string, suffix: string, method: string, answer: HttpStream): string {
  const location = answer.headers.location ?? '';
  const target = URL.canParse(location, base) ? new URL(location, base) : undefined;
  const from = new URL(base);
  const moved = target
    ? `${target.origin}${target.pathname.replace(/\/info\/refs$/, '')}`
    : 'an invalid address';
  const follow = method === 'GET' && suffix === DISCOVERY && target?.href.endsWith(DISCOVERY);
  if (!target || !follow || target.origin !== from.origin || target.username || target.password) {
    throw new GitError(
      'Redirected',
      `${base} redirects (${answer.status}) to ${moved}; credentials are not sent there; if you trust that address, set spec.url to it`,
    );
  }
  return target.href.slice(0, -DISCOVERY.length);
}

function refuseStatus({ address, credentials }: TransportOptions, url: string, answer: HttpStream): void {
  if (answer.status === 200) return;
  answer.cancel();
  // The next operation starts from the configured URL again.
  address.movedTo = undefined;
  const { status } = answer;
  if (status === 401 || status === 403) credentials.refused?.();
  if (status === 401 || status === 403 || status === 203) {
    throw new GitError(
      'Unauthorized',
      `${url}: the server refused the credentials (${status}); check spec.secretRef`,
    );
  }
  if (status === 404 || status === 410) {
    throw new GitError(
      'NotFound',
      `${url}: no such repository (${status}), or the credentials may not see it`,
    );
  }
  throw new GitError('Unreachable', `${url}: the server answered ${status}`);
}

async function* counted({ stats }: TransportOptions, answer: HttpStream): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of answer.body) {
      stats.receivedBytes += chunk.length;
      yield chunk;
    }
  } catch (error) {
    throw toGitError(error);
  } finally {
    answer.cancel();
  }
}

const CODES: Partial<Record<HttpError['code'], GitErrorCode>> = {
  Timeout: 'Timeout',
  TooLarge: 'TooLarge',
  Refused: 'Refused',
  Redirected: 'Redirected',
  InvalidUrl: 'Refused',
  ClientCertificate: 'Unauthorized',
  ProxyCredentials: 'Unauthorized',
  Aborted: 'Aborted',
};

/** An HttpError in Git's words; other errors are kept. */
export function toGitError(error: unknown): unknown {
  if (!(error instanceof HttpError)) return error;
  return new GitError(CODES[error.code] ?? 'Unreachable', error.message, error);
}

async function collect(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes)
      throw new GitError('TooLarge', `a message of Git's protocol is larger than ${maxBytes} bytes`);
  }
  return Buffer.concat(chunks);
}

/**
 * Checks a Source's URL and returns it without trailing slashes. Throws GitError Refused for anything but
 * http(s), and for user info: credentials belong in a Secret (a URL ends up in logs, status and events).
 */
export function checkGitUrl(url: string): string {
  const ssh = sshProblem(url);
  if (ssh !== undefined) throw new GitError('Refused', `spec.url ${ssh}`);
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) {
    throw new GitError('Refused', 'spec.url must be http(s)://host/path; local paths are not supported');
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed) throw new GitError('Refused', 'spec.url cannot be read as a URL');
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    throw new GitError(
      'Refused',
      `spec.url uses ${parsed.protocol}// which is not supported; use https://${parsed.host}/...`,
    );
  }
  if (parsed.username || parsed.password) {
    throw new GitError(
      'Refused',
      `spec.url holds credentials for ${parsed.host}; move them to the Secret of spec.secretRef`,
    );
  }
  if (parsed.search || parsed.hash) {
    throw new GitError(
      'Refused',
      `spec.url must not hold a query or fragment (${parsed.host}${parsed.pathname})`,
    );
  }
  return parsed.href.replace(/\/+$/, '');
}
