import { limits as bounds } from '../../api/limits.ts';
import { retryAfterMs } from '../../api/time.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpLimits, HttpStream } from '../../http/types.ts';
import { GitError } from '../errors.ts';
import { type GitCredentials, httpOptionsOf } from './credentials.ts';
import { createHttpReceivePack } from './http-receive-pack.ts';
import { checkListing, inPieces, onlyRefs, readableListing } from './pkt-line.ts';
import {
  checkGitUrl,
  collect,
  type GitTransport,
  type TransportOptions,
  toGitError,
  wordsOf,
} from './transport.ts';

const DISCOVERY = '/info/refs?service=git-upload-pack';
const MAX_REDIRECTS = 3;
const MAX_REQUEST_BYTES = 1_048_576;

/**
 * A transport for one operation. Credentials are sent without a challenge, and only to the URL's own origin: a redirect of the
 * discovery request inside the origin moves the base URL, any other redirect is an error.
 */
export function createHttpTransport(options: TransportOptions): GitTransport {
  const configured = checkGitUrl(options.url);
  const { address } = options;
  const said = wordsOf(options.credentials);

  async function ask(suffix: string, request: Sent): Promise<HttpStream> {
    for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
      const base = address.movedTo ?? configured;
      const answer = await exchange(options, `${base}${suffix}`, request);
      if (answer.status < 300 || answer.status > 399) {
        refuseStatus(options, configured, answer);
        return answer;
      }
      answer.cancel();
      // A POST never follows a redirect; the discovery request finds the new address of the repository.
      if (request.method === 'POST' && address.movedTo === undefined) await discover();
      else address.movedTo = rebased(base, suffix, request.method, answer);
    }
    throw new GitError('Redirected', `${configured}: too many redirects; set spec.url to the final address`);
  }

  async function discover(): Promise<void> {
    const answer = await ask(DISCOVERY, { method: 'GET', headers: {} });
    answer.cancel();
    // The discovery request was not redirected: then the redirect of the POST is reported as it is.
    address.movedTo ??= configured;
  }

  return {
    async request({ url, method = 'GET', headers = {}, body }, prefix) {
      const sent = body
        ? { method, headers, body: await collect(body, MAX_REQUEST_BYTES) }
        : { method, headers };
      const answer = await ask(url.slice(configured.length), sent);
      // Read to the end here: the library treats a failed body as the end of it.
      const refs = onlyRefs(counted(options, answer), prefix);
      const listing = await collect(refs, options.limits.maxListingBytes);
      // A page in the place of the first answer is the library's to recognise; in that of the refs it takes one for no refs.
      if (sent.method === 'POST' || answer.headers['content-type']?.startsWith('application/x-git-'))
        await checkListing(configured, listing, said);
      return {
        url,
        method,
        statusCode: answer.status,
        statusMessage: '',
        headers: { ...answer.headers },
        body: inPieces(readableListing(listing)),
      };
    },
    async uploadPack({ v0: body }) {
      const headers = {
        'content-type': 'application/x-git-upload-pack-request',
        accept: 'application/x-git-upload-pack-result',
      };
      const answer = await ask('/git-upload-pack', { method: 'POST', headers, body });
      return counted(options, answer);
    },
    receivePack: () => createHttpReceivePack(options),
    said,
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

/** Many servers that demand a client certificate close the connection without a message when there is none. */
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
  const follow = method === 'GET' && suffix === DISCOVERY && target?.href.endsWith(DISCOVERY);
  if (!target || !follow || target.origin !== new URL(base).origin || target.username || target.password)
    throw new GitError('Redirected', `${base} redirects (${answer.status}) to ${whereTo(target, suffix)}`);
  return target.href.slice(0, -DISCOVERY.length);
}

function whereTo(target: URL | undefined, suffix: string): string {
  const [path = ''] = suffix.split('?');
  const address = target ? `${target.origin}${target.pathname}` : 'an invalid address';
  return target?.pathname.endsWith(path)
    ? `${address.slice(0, -path.length)}; credentials are not sent there; if you trust that address, set spec.url to it`
    : `${address}, which is not the address of a repository and may be a page to sign in; check spec.url and the credentials in spec.secretRef`;
}

function refuseStatus({ address, credentials }: TransportOptions, url: string, answer: HttpStream): void {
  if (answer.status === 200) return;
  answer.cancel();
  const { status } = answer;
  // The next operation starts from the configured URL again, unless the server is merely busy or down: a push may be the next one, and follows no redirect.
  if (status < 500 && status !== 429) address.movedTo = undefined;
  if (status === 401 || status === 403) credentials.refused?.();
  if (status === 401 || status === 403 || status === 203) {
    const why = credentials.auth
      ? `the server refused the credentials (${status}); check spec.secretRef`
      : `the server asks for credentials (${status}), and none were sent; spec.secretRef needs a Secret with bearerToken, with username and password, or with the keys of a GitHub App (a private key as identity is for SSH addresses)`;
    throw new GitError('Unauthorized', `${url}: ${why}`);
  }
  if (status === 404 || status === 410) {
    throw new GitError(
      'NotFound',
      `${url}: no such repository (${status}), or the credentials may not see it`,
    );
  }
  const asked = status === 429 || status === 503 ? answer.headers['retry-after'] : undefined;
  const askedMs = retryAfterMs(asked, Date.now());
  const pause = askedMs ? ` and asked for a pause of ${Math.ceil(askedMs / 1_000)} s` : '';
  throw new GitError(
    'Unreachable',
    `${url}: the server answered ${status}${pause}`,
    undefined,
    askedMs && Math.min(askedMs, bounds.askedPauseMs),
  );
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
