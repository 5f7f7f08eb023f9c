import { localError } from '../cluster/errors.ts';
import { HttpError } from '../http/errors.ts';
import type { HttpClient, HttpRequest } from '../http/types.ts';

/** Lets writes of this process through while it may write, and tracks those under way. */
export interface WriteGate {
  /** Sends. Throws an `aborted` ApiError when this process may not write any more. */
  send<T>(write: () => Promise<T>): Promise<T>;
  /** Tracks work that was allowed. */
  track<T>(work: Promise<T>): Promise<T>;
  mayWrite(): boolean;
  /** Resolves when no write is under way. */
  settled(): Promise<void>;
}

/**
 * `mayWrite` is called before every write, and by the transport again before the first byte: a process that lost the Lease must not write any
 * more, and it may have been suspended at any point before (S20).
 */
export function createWriteGate(mayWrite: () => boolean): WriteGate {
  const underWay = new Set<Promise<void>>();

  function track<T>(work: Promise<T>): Promise<T> {
    const ended: Promise<void> = work.then(noted, noted);
    function noted(): void {
      underWay.delete(ended);
    }
    underWay.add(ended);
    return work;
  }

  return {
    mayWrite,
    track,
    async send(write) {
      if (!mayWrite())
        throw localError('aborted', 'this replica of Holdfast is not the leader and writes nothing');
      return track(write());
    },
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/**
 * The client of webhooks, alerts, metrics and Git. A process that lost the Lease sends nothing any more; this is checked when a request is
 * made, and again before its first byte.
 */
export function whileLeading(http: HttpClient, gate: WriteGate): HttpClient {
  async function pass<Answer>(
    request: HttpRequest,
    send: (request: HttpRequest) => Promise<Answer>,
  ): Promise<Answer> {
    if (gate.mayWrite()) return gate.track(send({ ...request, maySend: gate.mayWrite }));
    const host = URL.canParse(String(request.url)) ? new URL(request.url).host : '';
    throw lost(host);
  }

  return {
    open: (request) => pass(request, http.open),
    send: (request) => pass(request, http.send),
    async connect(request) {
      if (!gate.mayWrite()) throw lost(request.host);
      const connection = await gate.track(http.connect({ ...request, maySend: gate.mayWrite }));
      // What was pushed has its answer before the connection ends.
      gate.track(connection.closed);
      return connection;
    },
    close: http.close,
  };
}

function lost(host: string): HttpError {
  return new HttpError('Aborted', host, 'this replica of Holdfast is not the leader and sends nothing');
}
