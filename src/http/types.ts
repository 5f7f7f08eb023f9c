import type { Duplex } from 'node:stream';

/** How to trust a server, and who we are to it. `ca` is PEM and replaces the system's authorities. Holds a secret: never log it. */
export interface HttpTls {
  readonly ca?: string;
  /** Our own certificate with its chain, PEM; with `key`. Shown only to a server that asks for one. */
  readonly cert?: string;
  /** The private key of `cert`, PEM without a passphrase. */
  readonly key?: string;
  /** Accept any certificate. Only where a user asked for it by name. */
  readonly insecureSkipVerify?: boolean;
}

/** Limits of one exchange. */
export interface HttpLimits {
  /** Longest silence, from the request to its first byte and between two chunks. Default 10 s. */
  readonly idleTimeoutMs: number;
  /** Longest time for everything, waiting for a free slot included. Default 30 s. */
  readonly totalTimeoutMs: number;
  /** Most bytes of the answer after decompression. Default 1 MiB. */
  readonly maxBytes: number;
}

/** Credentials, sent with the first request. */
export type HttpAuth =
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'bearer'; readonly token: string };

/** One outbound request. */
export interface HttpRequest {
  /** http or https, without user info. */
  readonly url: string | URL;
  /** Default GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly auth?: HttpAuth;
  readonly tls?: HttpTls;
  /** HTTP proxy, with user info if it requires credentials. Default none; no environment variable is read. */
  readonly proxy?: string;
  readonly signal?: AbortSignal;
  /** Whose request it is and what for, for instance `git shop`: each tenant has separate slots. */
  readonly tenant?: string;
  /** Asked when the first byte is about to go; while it says no, nothing is sent (Aborted). */
  readonly maySend?: () => boolean;
  readonly limits?: Partial<HttpLimits>;
  /** `error` (default): a 3xx answer throws Redirected. `return`: the caller handles it; it is never followed here. */
  readonly redirect?: 'error' | 'return';
}

/** An answer whose body is still to come. Read `body` to its end or call `cancel`, else the host's slot stays taken. */
export interface HttpStream {
  readonly status: number;
  /** Lower-case names; repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncGenerator<Uint8Array>;
  cancel(): void;
}

/** A whole answer. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** A connection of another protocol than HTTP. */
export interface ConnectRequest {
  /** The protocol, for messages, as `ssh`. */
  readonly protocol: string;
  /** A name or an IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  /** HTTP proxy to tunnel through (CONNECT), with user info if it requires credentials. */
  readonly proxy?: string;
  readonly signal?: AbortSignal;
  readonly tenant?: string;
  /** Who writes to the connection asks it before what must not be sent after a loss of the Lease. */
  readonly maySend?: () => boolean;
  /** They hold for the whole connection; `maxBytes` counts what is received, as it comes. */
  readonly limits?: Partial<HttpLimits>;
}

/** An open connection, under the deadlines and caps of its request. Call `end`, else the host's slot stays taken until a deadline. */
export interface Connection {
  /** Paused: nothing is read before its reader resumes it. */
  readonly socket: Duplex;
  /** Aborted with an HttpError when a deadline or a cap ended the connection, or the caller gave up. */
  readonly signal: AbortSignal;
  readonly maySend: () => boolean;
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>;
  end(): void;
}

/** The one outbound client: deadlines, byte caps, address guard, no redirects, slots per tenant and host (threat rows 6 and 7). */
export interface HttpClient {
  /** Sends and returns at the first byte. Throws HttpError. Any status is an answer, except 3xx (see `redirect`). */
  open(request: HttpRequest): Promise<HttpStream>;
  /** Sends and reads the whole answer. Throws HttpError. */
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Opens a connection for another protocol, under the same rules. Throws HttpError. */
  connect(request: ConnectRequest): Promise<Connection>;
  /** Closes all connections; requests under way fail. */
  close(): Promise<void>;
}
