import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a path answers: a status, one that depends on the call, silence, or a closed door. */
export type HookBehaviour = number | ((call: HookCallSeen) => number | Promise<number>) | 'silent' | 'broken';

/** A body that came. */
export interface HookCallSeen {
  readonly phase: string;
  readonly type: string;
  readonly digest: string;
  readonly commit: string;
  readonly checksum: string;
  /** Of the route at that moment, in percent. */
  readonly canaryWeight: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** A receiver of webhooks and alerts on 127.0.0.1: each path is a webhook of its own and answers what the test says, 200 at first. */
export interface HookServer {
  url(path: string): string;
  /** What it answers from now on; of several, one after the other, and the last for ever. */
  answer(path: string, ...behaviours: readonly HookBehaviour[]): void;
  /** The bodies that came to a path, oldest first; those of webhooks unless said otherwise. */
  seen<Body = HookCallSeen>(path: string): readonly Body[];
  close(): Promise<void>;
}

/** Starts it on a free port. */
export async function startHookServer(): Promise<HookServer> {
  const behaviours = new Map<string, readonly HookBehaviour[]>();
  const calls = new Map<string, unknown[]>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const path = (request.url ?? '/').slice(1);
      const call = JSON.parse(Buffer.concat(chunks).toString());
      calls.set(path, [...(calls.get(path) ?? []), call]);
      const [behaviour = 200, ...later] = behaviours.get(path) ?? [];
      if (later.length > 0) behaviours.set(path, later);
      if (behaviour === 'silent') return;
      if (behaviour === 'broken') return void request.socket.destroy();
      const status = await statusOf(behaviour, call);
      response.writeHead(status).end(status < 300 ? 'yes' : 'not now');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (path) => `http://127.0.0.1:${port}/${path}`,
    answer: (path, ...answers) => void behaviours.set(path, answers),
    seen: <Body>(path: string) => (calls.get(path) ?? []) as Body[],
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function statusOf(behaviour: Exclude<HookBehaviour, string>, call: HookCallSeen): number | Promise<number> {
  return typeof behaviour === 'function' ? behaviour(call) : behaviour;
}
