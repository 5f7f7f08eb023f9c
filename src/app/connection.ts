import type { Clock } from '../api/clock.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { ClusterAccess } from '../cluster/access.ts';
import { type Caches, createCaches } from '../cluster/caches.ts';
import { type ClusterClient, createClusterClient } from '../cluster/client.ts';
import { createDiscovery } from '../cluster/discovery.ts';
import { loadClusterAccess } from '../cluster/kubeconfig.ts';
import type { Logger } from '../cluster/log.ts';
import type { RateBounds } from '../cluster/rate-limit.ts';
import type { Verb } from '../cluster/request.ts';
import { createTransport, type Transport } from '../cluster/transport.ts';

/** Everything that speaks to the API server. */
export interface Connection {
  readonly access: ClusterAccess;
  readonly transport: Transport;
  readonly client: ClusterClient;
  readonly caches: Caches;
  /** For leader election alone, over connections and a request budget of its own: renewals must not queue behind a burst of applies. */
  readonly leaseClient: ClusterClient;
  /** For what others cause over HTTP, over connections and a request budget of its own: they must not hold up a rollout. */
  readonly publicClient: ClusterClient;
  /** Requests sent so far by verb, those of the election included. */
  requests(): Record<Verb, number>;
  close(): Promise<void>;
}

const publicRate = { perSecond: 10, burst: 20 };

/** Which cluster, and how much may be asked of it. */
export interface ConnectionOptions {
  readonly kubeconfig: string | undefined;
  readonly version: string;
  /** Default 50 requests a second, 100 at once. */
  readonly apiRate?: RateBounds;
}

/** Finds the cluster; no request is made yet. Throws a `configuration` ApiError for a kubeconfig that cannot be used. */
export async function connect(
  { kubeconfig, version, apiRate }: ConnectionOptions,
  clock: Clock,
  logger: Logger,
): Promise<Connection> {
  const allowExec = process.env.KUBERNETES_SERVICE_HOST === undefined;
  const access = await loadClusterAccess(kubeconfig ? { kubeconfig, allowExec } : { allowExec });
  const userAgent = `holdfast/${version}`;
  const transport = createTransport({ access, userAgent, ...(apiRate ? { rate: apiRate } : {}) });
  const leaseTransport = createTransport({ access, userAgent, connections: 2 });
  const publicTransport = createTransport({ access, userAgent, connections: 2, rate: publicRate });
  const discovery = createDiscovery(transport);
  const caches = createCaches({ transport, discovery, clock, logger });
  const onWritten = (object: KubernetesObject) => caches.observe(object);
  return {
    access,
    transport,
    client: createClusterClient({ transport, discovery, onWritten }),
    caches,
    leaseClient: createClusterClient({
      transport: leaseTransport,
      discovery: createDiscovery(leaseTransport),
    }),
    publicClient: createClusterClient({
      transport: publicTransport,
      discovery: createDiscovery(publicTransport),
      onWritten,
    }),
    requests: () => [transport, leaseTransport, publicTransport].map((one) => one.counts()).reduce(sum),
    async close() {
      await transport.close();
      await leaseTransport.close();
      await publicTransport.close();
    },
  };
}

function sum(
  some: Readonly<Record<Verb, number>>,
  others: Readonly<Record<Verb, number>>,
): Record<Verb, number> {
  const total = { ...some };
  for (const verb of Object.keys(total) as Verb[]) total[verb] += others[verb];
  return total;
}
