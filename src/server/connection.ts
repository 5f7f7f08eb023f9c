import type { Clock } from '../api/clock.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { loadClusterAccess } from '../cluster/access/cluster-access.ts';
import type { ClusterAccess } from '../cluster/access/credentials.ts';
import { type Caches, createCaches } from '../cluster/caches/caches.ts';
import { type ClusterClient, createClusterClient } from '../cluster/client/client.ts';
import { createDiscovery } from '../cluster/client/discovery.ts';
import type { Verb } from '../cluster/transport/request.ts';
import { createTransport, type RateBounds, type Transport } from '../cluster/transport/transport.ts';
import type { Log } from '../contracts/cluster.ts';

/** All clients of the API server. */
export interface Connection {
  readonly access: ClusterAccess;
  readonly transport: Transport;
  readonly client: ClusterClient;
  /** For what Sources apply, with separate connections and a separate request budget: a rollout must not wait for a thousand applications. */
  readonly sourceClient: ClusterClient;
  readonly caches: Caches;
  /** For leader election alone, with separate connections and a separate request budget: renewals must not queue behind a burst of applies. */
  readonly leaseClient: ClusterClient;
  /** The watches of leader election, over the same. */
  readonly leaseCaches: Caches;
  /**
   * For requests that HTTP clients cause, each with separate connections and a limited request budget: they must delay neither a rollout nor
   * each other.
   */
  readonly publicClients: {
    /** Secrets of push webhooks. */
    readonly webhooks: ClusterClient;
    /** Reads of open gates. */
    readonly gates: ClusterClient;
    /** Reviews of users who switch a gate, and the switching. */
    readonly gateSwitches: ClusterClient;
    /** Reviews of users of the dashboard, and their requests. */
    readonly dashboard: ClusterClient;
  };
  /** Requests sent so far by verb, those of the election included. */
  requests(): Record<Verb, number>;
  close(): Promise<void>;
}

const publicRate = { perSecond: 10, burst: 20, waiting: 50 };
/** The rights of a user who may read only some of a thousand namespaces are reviewed for each of them. */
const dashboardRate = { perSecond: 50, burst: 200, waiting: 1_000 };
const sourceRate = { perSecond: 200, burst: 400 };

/** Which cluster, and how much may be asked of it. */
interface ConnectionOptions {
  readonly kubeconfig: string | undefined;
  /** A context of the kubeconfig; default its current one. */
  readonly context?: string | undefined;
  readonly version: string;
  /** Default 100 requests a second with bursts of 250. */
  readonly apiRate?: RateBounds;
  /** Of what Sources apply; default 200 requests a second with bursts of 400. */
  readonly sourceRate?: RateBounds | undefined;
  /** Of a request of `client`; default 30 s. */
  readonly deadlineMs?: number;
}

/** Finds the cluster; no request is made yet. Throws a `configuration` ApiError for a kubeconfig that cannot be used. */
export async function connect(
  { kubeconfig, context, version, apiRate, deadlineMs = 30_000, ...limits }: ConnectionOptions,
  clock: Clock,
  logger: Log,
): Promise<Connection> {
  const allowExec = process.env.KUBERNETES_SERVICE_HOST === undefined;
  const access = await loadClusterAccess({
    allowExec,
    ...(kubeconfig ? { kubeconfig } : {}),
    ...(context ? { context } : {}),
  });
  const userAgent = `holdfast/${version}`;
  const rate = apiRate ? { rate: apiRate } : {};
  const transport = createTransport({ access, userAgent, clock, deadlineMs, ...rate });
  const sourceTransport = createTransport({
    access,
    userAgent,
    clock,
    rate: limits.sourceRate ?? sourceRate,
  });
  const leaseTransport = createTransport({ access, userAgent, clock, connections: 2 });
  const transports = [transport, sourceTransport, leaseTransport];
  const discovery = createDiscovery(transport);
  const leaseDiscovery = createDiscovery(leaseTransport);
  const caches = createCaches({ transport, discovery, clock, logger });
  const onWritten = (object: KubernetesObject) => caches.observe(object);

  function publicClient(rate: RateBounds = publicRate): ClusterClient {
    const own = createTransport({ access, userAgent, clock, connections: 2, rate });
    transports.push(own);
    return createClusterClient({ transport: own, discovery: createDiscovery(own), onWritten });
  }

  return {
    access,
    transport,
    client: createClusterClient({ transport, discovery, onWritten }),
    sourceClient: createClusterClient({ transport: sourceTransport, discovery, onWritten }),
    caches,
    leaseClient: createClusterClient({ transport: leaseTransport, discovery: leaseDiscovery }),
    leaseCaches: createCaches({ transport: leaseTransport, discovery: leaseDiscovery, clock, logger }),
    publicClients: {
      webhooks: publicClient(),
      gates: publicClient(),
      gateSwitches: publicClient(),
      dashboard: publicClient(dashboardRate),
    },
    requests() {
      const [first, ...others] = transports.map((one) => one.counts());
      const total = { ...first } as Record<Verb, number>;
      for (const counts of others)
        for (const verb of Object.keys(total) as Verb[]) total[verb] += counts[verb];
      return total;
    },
    async close() {
      for (const one of transports) await one.close();
    },
  };
}
