import { createHash } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';
import type { TlsMaterial } from './access.ts';

/** Connections by TLS material, so that a rotated client certificate or authority gets fresh ones. */
export interface ConnectionPool {
  dispatcher(tls: TlsMaterial): Dispatcher;
  /** Breaks every connection, watches included. */
  close(): Promise<void>;
}

/** At most this many sets of TLS material are connected at once; the oldest is let go, its running requests finish. */
const maximumAgents = 2;

/** A pool of at most `connections` sockets per server; null: no bound (watches hold one each). */
export function createConnectionPool(connections: number | null): ConnectionPool {
  const agents = new Map<string, Agent>();
  // Closing waits for running requests, so an old agent is kept here until close() must break it.
  const leaving = new Set<Agent>();

  function retireOldest(): void {
    const [oldest] = agents.entries();
    if (!oldest) return;
    const [key, agent] = oldest;
    agents.delete(key);
    leaving.add(agent);
    const forget = () => leaving.delete(agent);
    agent.close().then(forget, forget);
  }

  return {
    dispatcher(tls) {
      const key = createHash('sha256').update(JSON.stringify(tls)).digest('base64');
      const known = agents.get(key);
      if (known) return known;
      if (agents.size >= maximumAgents) retireOldest();
      const agent = createAgent(tls, connections);
      agents.set(key, agent);
      return agent;
    },
    async close() {
      await Promise.all([...agents.values(), ...leaving].map((agent) => agent.destroy()));
      agents.clear();
    },
  };
}

function createAgent(tls: TlsMaterial, connections: number | null): Agent {
  const { insecure, serverName, ...material } = tls;
  return new Agent({
    connections,
    pipelining: 1,
    keepAliveTimeout: 20_000,
    keepAliveMaxTimeout: 60_000,
    // Deadlines are the transport's own: undici's would also cut honest watches.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      ...material,
      ...(serverName ? { servername: serverName } : {}),
      rejectUnauthorized: !insecure,
      timeout: 10_000,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
    },
  });
}
