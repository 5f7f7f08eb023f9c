import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import { Agent, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { ClusterAccess, TlsMaterial } from '../access/credentials.ts';
import type { ClusterProxy } from '../access/proxy-url.ts';

/** Connections by TLS material, so that a rotated client certificate or authority gets fresh ones. */
export interface ConnectionPool {
  dispatcher(tls: TlsMaterial): Dispatcher;
  /** Breaks every connection, watches included. */
  close(): Promise<void>;
}

/** At most this many sets of TLS material are connected at once; the oldest is let go, its running requests finish. */
const maximumAgents = 2;

/** A pool of at most `connections` sockets to this server; null: no bound (watches hold one each). */
export function createConnectionPool(
  connections: number | null,
  { server, proxy }: Pick<ClusterAccess, 'server' | 'proxy'>,
): ConnectionPool {
  const agents = new Map<string, Dispatcher>();
  // Closing waits for running requests, so an old agent is kept here until close() must break it.
  const leaving = new Set<Dispatcher>();

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
      const agent = proxy ? createTunnels(tls, connections, server, proxy) : createAgent(tls, connections);
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
  const { serverName } = tls;
  return new Agent({
    ...settings(connections),
    connect: { ...socketSettings, ...trust(tls), ...(serverName ? { servername: serverName } : {}) },
  });
}

/**
 * Tunnels (CONNECT) through a proxy, for plain HTTP as well. TLS to the API server ends at the API server. As for kubectl, an HTTPS proxy may
 * have its certificate from the cluster's authority, but it is never shown the client's certificate, and it is always verified.
 */
function createTunnels(
  tls: TlsMaterial,
  connections: number | null,
  server: string,
  { origin, authorization }: ClusterProxy,
): ProxyAgent {
  const { hostname } = new URL(server);
  const servername = tls.serverName ?? (isIP(hostname.replace(/^\[|\]$/g, '')) ? undefined : hostname);
  return new ProxyAgent({
    ...settings(connections),
    uri: origin,
    ...(authorization ? { token: authorization } : {}),
    // A proxy that does not answer CONNECT would hold one of the connections for undici's 300 s.
    clientFactory: (proxy, options) => new Pool(proxy, { ...options, headersTimeout: connectTimeoutMs }),
    proxyTls: { ...socketSettings, ...(tls.ca ? { ca: [...rootCertificates, tls.ca] } : {}) },
    requestTls: {
      timeout: connectTimeoutMs,
      ...trust(tls),
      ...(servername ? { servername } : {}),
    },
  });
}

const connectTimeoutMs = 10_000;
const socketSettings = { timeout: connectTimeoutMs, keepAlive: true, keepAliveInitialDelay: 30_000 };

function settings(connections: number | null) {
  return {
    connections,
    pipelining: 1,
    keepAliveTimeout: 20_000,
    keepAliveMaxTimeout: 60_000,
    // Deadlines are the transport's own: undici's would also cut honest watches.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}

function trust({ insecure, serverName: _, ...material }: TlsMaterial) {
  return { ...material, rejectUnauthorized: !insecure };
}
