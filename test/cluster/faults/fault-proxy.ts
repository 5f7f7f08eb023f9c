import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** How a request is treated; undefined: it is passed on. */
export type ProxyFault =
  /** Neither it nor its connection gets an answer. */
  | { readonly kind: 'drop' }
  /** Passed on, and carried out; its answer is thrown away. */
  | { readonly kind: 'lose' }
  /** Of the lines of its answer, which are the events of a watch, one of so many is left out. */
  | { readonly kind: 'hide'; readonly every: number }
  /** Passed on after so long. */
  | { readonly kind: 'slow'; readonly byMs: number }
  /** Answered in the server's place, as a Status. */
  | { readonly kind: 'refuse'; readonly code: number; readonly reason: string };

/** A request as rules see it. */
export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
}

/** Between Holdfast and one server of the bed, for Holdfast alone: everybody else reaches the server undisturbed. */
export interface FaultProxy {
  readonly url: string;
  /** The requests that were passed on, with the time on this machine. */
  readonly passed: ReadonlyArray<ProxiedRequest & { readonly atMs: number }>;
  /** Counts from the next request on; undefined takes it away. */
  fault(rule: ((request: ProxiedRequest) => ProxyFault | undefined) | undefined): void;
  /** Ends every connection: watches, too. */
  cut(): void;
  close(): Promise<void>;
}

/** Starts it before `target`; `ca`: the server's certificate, PEM. */
export async function startFaultProxy(target: string, ca?: string): Promise<FaultProxy> {
  const { protocol } = new URL(target);
  const agent = new Agent({ keepAlive: true, ...(ca === undefined ? {} : { ca }) });
  const sockets = new Set<Socket>();
  const passed: Array<ProxiedRequest & { atMs: number }> = [];
  let rule: ((request: ProxiedRequest) => ProxyFault | undefined) | undefined;

  function pass(incoming: IncomingMessage, response: ServerResponse, found?: ProxyFault): void {
    const { method = 'GET', url = '/', headers } = incoming;
    passed.push({ method, path: url, atMs: Date.now() });
    const options = { method, headers, ...(protocol === 'https:' ? { agent } : {}) };
    const send = protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing = send(new URL(url, target), options, (answer) => {
      if (found?.kind === 'lose') return void answer.resume().on('end', () => response.destroy());
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      // A watch that says nothing yet is open all the same.
      response.flushHeaders();
      answer.on('error', () => response.destroy());
      (found?.kind === 'hide' ? answer.pipe(withoutSome(found.every)) : answer).pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const found = rule?.({ method: incoming.method ?? 'GET', path: incoming.url ?? '/' });
    if (found?.kind === 'drop') return void incoming.socket.destroy();
    if (found?.kind === 'refuse') return refuse(response, found);
    if (found?.kind === 'slow') await sleep(found.byMs);
    pass(incoming, response, found);
  }

  const server = createServer((incoming, response) => void handle(incoming, response));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    fault(next) {
      rule = next;
    },
    cut,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
      agent.destroy();
    },
  };
}

/** Passes lines on and leaves out each `every`-th. */
function withoutSome(every: number): Transform {
  let rest = '';
  let count = 0;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        count += 1;
        if (count % every !== 0) this.push(`${line}\n`, 'latin1');
      }
      done();
    },
  });
}

function refuse(response: ServerResponse, { code, reason }: { code: number; reason: string }): void {
  const retry = code === 429 ? { 'retry-after': '1' } : {};
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason };
  response.writeHead(code, { 'content-type': 'application/json', ...retry });
  response.end(JSON.stringify({ ...status, message: `refused by the test: ${reason}` }));
}
