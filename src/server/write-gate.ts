import { localError } from '../cluster/errors.ts';
import { HttpError } from '../http/errors.ts';
import type { HttpClient, HttpRequest } from '../http/types.ts';

/** What this process sends that changes something, as long as it may; and until when some of it is under way. */
export interface WriteGate {
  /** Sends. Throws an `aborted` ApiError when this process may not write any more. */
  send<T>(write: () => Promise<T>): Promise<T>;
  /** Counts what may be sent. */
  track<T>(work: Promise<T>): Promise<T>;
  mayWrite(): boolean;
  /** Resolves when nothing is under way: at once, or when the last answer came. */
  settled(): Promise<void>;
}

/**
 * `mayWrite` is asked before every write, and by the transport again before its first byte: a process that lost the Lease must not act any
 * more, whatever it had decided before, and may wake from a pause anywhere on the way (S20).
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
        throw localError('aborted', 'this copy of Holdfast does not hold the Lease and writes nothing');
      return track(write());
    },
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

/**
 * The client of webhooks, alerts, metrics and Git, which a process that lost the Lease has no use for: it sends nothing any more. Asked when a
 * request is made, and again before its first byte.
 */
export function whileLeading(http: HttpClient, gate: WriteGate): HttpClient {
  async function pass<Request extends HttpRequest, Answer>(
    request: Request,
    send: (request: Request) => Promise<Answer>,
  ): Promise<Answer> {
    if (gate.mayWrite()) return gate.track(send({ ...request, maySend: gate.mayWrite }));
    const host = URL.canParse(String(request.url)) ? new URL(request.url).host : '';
    throw lost(host);
  }

  return {
    open: (request) => pass(request, http.open),
    send: (request) => pass(request, http.send),
    sendJson: (request) => pass(request, http.sendJson),
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
  return new HttpError('Aborted', host, 'this copy of Holdfast does not hold the Lease and sends nothing');
}
