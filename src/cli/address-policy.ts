import { isLoopback } from '../cluster/kubeconfig.ts';
import type { AddressPolicy } from '../http/address-guard.ts';

/**
 * Which hosts a command may ask, as `run` has it: on one machine everything is loopback, in a cluster the API server is no target. `server`:
 * the API server's address; undefined: none is asked.
 */
export function addressPolicy(server: string | undefined, metricsServer?: string): AddressPolicy {
  const allowHosts = metricsServer && URL.canParse(metricsServer) ? [new URL(metricsServer).host] : [];
  if (server === undefined) return { allowHosts };
  const { hostname: host } = new URL(server);
  return isLoopback(host) ? { allowLoopback: true, allowHosts } : { denyHosts: [host], allowHosts };
}
