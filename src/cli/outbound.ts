import { createHttpClient } from '../http/client.ts';
import type { HttpClient } from '../http/types.ts';
import { addressPolicy } from '../server/outbound.ts';

/** The client of a command for what is outside the cluster. It reaches what the controller would, and the metrics server that the command was given. */
export function outboundClient(
  server: string | undefined,
  version: string,
  metricsServer?: string,
): HttpClient {
  const isUrl = metricsServer !== undefined && URL.canParse(metricsServer);
  const policy = addressPolicy(server, isUrl ? [new URL(metricsServer).host] : []);
  return createHttpClient({ ...policy, userAgent: `holdfast/${version}` });
}
