import { HttpError } from '../../http/errors.ts';
import { GitError } from '../errors.ts';
import { httpOptionsOf } from './credentials.ts';
import {
  checkGitUrl,
  MAX_REPORT_BYTES,
  type ReceivePack,
  type TransportOptions,
  toGitError,
} from './transport.ts';

/** git-receive-pack by smart HTTP. Redirects are never followed: what is written goes where the fetch found the repository, or nowhere. */
export function createHttpReceivePack(options: TransportOptions): ReceivePack {
  return {
    advertisement: () =>
      exchange(options, {
        suffix: '/info/refs?service=git-receive-pack',
        method: 'GET',
        maxBytes: options.limits.maxListingBytes,
      }),
    send: (body) =>
      exchange(options, {
        suffix: '/git-receive-pack',
        method: 'POST',
        maxBytes: MAX_REPORT_BYTES,
        body,
        headers: {
          'content-type': 'application/x-git-receive-pack-request',
          accept: 'application/x-git-receive-pack-result',
        },
      }),
    close: () => undefined,
  };
}

interface Exchange {
  readonly suffix: string;
  readonly method: string;
  readonly maxBytes: number;
  readonly body?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

async function exchange(options: TransportOptions, request: Exchange): Promise<Uint8Array> {
  const { client, credentials, limits, signal, stats, address } = options;
  const configured = checkGitUrl(options.url);
  const { suffix, method, maxBytes, body, headers = {} } = request;
  stats.requests += 1;
  const sent = client.send({
    url: `${address.movedTo ?? configured}${suffix}`,
    method,
    headers: { ...headers, 'accept-encoding': 'identity' },
    limits: { idleTimeoutMs: limits.idleTimeoutMs, totalTimeoutMs: limits.totalTimeoutMs, maxBytes },
    ...httpOptionsOf(credentials),
    ...(body ? { body } : {}),
    ...(signal ? { signal } : {}),
  });
  const answer = await sent.catch((error: unknown) => {
    throw error instanceof HttpError ? toGitError(error) : error;
  });
  if (answer.status === 401 || answer.status === 403) credentials.refused?.();
  refuseStatus(configured, answer.status);
  stats.receivedBytes += answer.body.length;
  return answer.body;
}

function refuseStatus(url: string, status: number): void {
  if (status === 200) return;
  if (status === 401 || status === 403)
    throw new GitError(
      'Unauthorized',
      `${url}: the credentials of spec.secretRef may not push (${status}); give them the right to write the repository's contents`,
    );
  if (status === 404 || status === 410)
    throw new GitError(
      'NotFound',
      `${url}: no such repository (${status}), or the credentials may not push to it`,
    );
  throw new GitError('Unreachable', `${url}: the server answered ${status} to a push`);
}
