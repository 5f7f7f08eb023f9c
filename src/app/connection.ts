import type { Clock } from '../api/clock.ts';
import type { ClusterAccess } from '../cluster/access.ts';
import { type Caches, createCaches } from '../cluster/caches.ts';
import { type ClusterClient, createClusterClient } from '../cluster/client.ts';
import { createDiscovery } from '../cluster/discovery.ts';
import { loadClusterAccess } from '../cluster/kubeconfig.ts';
import type { Logger } from '../cluster/log.ts';
import { createTransport, type Transport } from '../cluster/transport.ts';

/** Everything that speaks to the API server. */
export interface Connection {
  readonly access: ClusterAccess;
  readonly transport: Transport;
  readonly client: ClusterClient;
  readonly caches: Caches;
}

/** Finds the cluster; no request is made yet. Throws a `configuration` ApiError for a kubeconfig that cannot be used. */
export async function connect(
  { kubeconfig, version }: { kubeconfig: string | undefined; version: string },
  clock: Clock,
  logger: Logger,
): Promise<Connection> {
  const allowExec = process.env.KUBERNETES_SERVICE_HOST === undefined;
  const access = await loadClusterAccess(kubeconfig ? { kubeconfig, allowExec } : { allowExec });
  const transport = createTransport({ access, userAgent: `holdfast/${version}` });
  const discovery = createDiscovery(transport);
  const caches = createCaches({ transport, discovery, clock, logger });
  const client = createClusterClient({ transport, discovery, onWritten: (object) => caches.observe(object) });
  return { access, transport, client, caches };
}
