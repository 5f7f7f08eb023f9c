import type { GitHttpRequest, GitHttpResponse } from 'isomorphic-git';
import { limits as bounds, oneLine, withoutLastSlashes } from '../../api/limits.ts';
import { isSshAddress, parseSshAddress } from '../../api/source/git-address.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpClient } from '../../http/types.ts';
import { secretsOf, withoutSecrets } from '../../http/without-secrets.ts';
import { GitError, type GitErrorCode } from '../errors.ts';
import type { GitCredentials } from './credentials.ts';

/** What a transport moved so far; shared between the operations of one repository. */
export interface TransportStats {
  requests: number;
  receivedBytes: number;
}

/** Deadlines and size limits of requests to a Git server. */
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

/** A report of a push names refs and short reasons; hooks may write pages. */
export const MAX_REPORT_BYTES = 1_048_576;

/** Where a redirect inside the origin moved the repository; shared between the operations of one repository. */
export interface Address {
  movedTo: string | undefined;
}

/** What one operation needs for requests to the server. */
export interface TransportOptions {
  readonly client: HttpClient;
  readonly url: string;
  readonly credentials: GitCredentials;
  readonly limits: TransportLimits;
  readonly stats: TransportStats;
  readonly address: Address;
  readonly signal?: AbortSignal | undefined;
}

/** One request for a pack, in the versions of the protocol; the server decides which of them is sent. */
export interface PackRequest {
  readonly v0: Uint8Array;
  readonly v2: Uint8Array;
}

/** git-receive-pack of a repository. Close it, also after a failure. */
export interface ReceivePack {
  /** Where the refs are now, and what the server can do, as it came. */
  advertisement(): Promise<Uint8Array>;
  /** Sends a command with its pack and returns the report. */
  send(body: Uint8Array): Promise<Uint8Array>;
  close(): void;
}

/** Requests to one repository, by smart HTTP or SSH. Every failure is a GitError. */
export interface GitTransport {
  /** For isomorphic-git's plug-in, for listing refs of this prefix alone: the library itself has no deadlines, limits or abort. */
  request(request: GitHttpRequest, prefix: string): Promise<GitHttpResponse>;
  /** Asks git-upload-pack for a pack and returns the answer's bytes. */
  uploadPack(request: PackRequest): Promise<AsyncIterableIterator<Uint8Array>>;
  /** Opens nothing yet. */
  receivePack(): ReceivePack;
  /** The server's own words for people. */
  readonly said: Said;
}

/** What a server says, cut, without control characters and what it was sent: it may send anything. */
export type Said = (text: string) => string;

const MAX_SAID_CHARACTERS = 300;

/** What a server says that is sent these credentials. */
export function wordsOf({ auth }: GitCredentials): Said {
  return (text) =>
    oneLine(withoutSecrets(text, secretsOf(auth)))
      .trim()
      .slice(0, MAX_SAID_CHARACTERS);
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

/** An HttpError as GitError; other errors are returned unchanged. */
export function toGitError(error: unknown): unknown {
  if (!(error instanceof HttpError)) return error;
  return new GitError(CODES[error.code] ?? 'Unreachable', error.message, error);
}

/** The bytes of a stream. Throws GitError TooLarge. */
export async function collect(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
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
 * http(s) and SSH, and for credentials in it: they belong in a Secret (a URL ends up in logs, status and events).
 */
export function checkGitUrl(url: string): string {
  if (isSshAddress(url)) {
    const address = parseSshAddress(url);
    if (typeof address === 'string') throw new GitError('Refused', `spec.url ${address}`);
    return url;
  }
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(url)) {
    throw new GitError(
      'Refused',
      'spec.url must be http(s)://host/path or ssh://user@host/path; local paths are not supported',
    );
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
  return withoutLastSlashes(parsed.href);
}
