import { isLoopback } from '../cluster/kubeconfig.ts';
import type { AddressPolicy } from '../http/address-guard.ts';

/** Which hosts a command may ask, as `run` has it: on one machine everything is loopback, in a cluster the API server is no target. */
export function addressPolicy(server: string, metricsServer?: string): AddressPolicy {
  const { hostname: host } = new URL(server);
  const allowHosts = metricsServer && URL.canParse(metricsServer) ? [new URL(metricsServer).host] : [];
  return isLoopback(host) ? { allowLoopback: true, allowHosts } : { denyHosts: [host], allowHosts };
}
