import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Clock } from '../api/clock.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { isLoopback } from '../cluster/access/cluster-access.ts';
import type { OpenWatch } from '../contracts/cluster.ts';
import type { AddressPolicy } from '../http/address-guard.ts';
import { createHttpClient } from '../http/client.ts';
import type { HttpClient } from '../http/types.ts';
import type { AppOptions } from './options.ts';

/** The clients of everything outside the cluster. */
interface Outbound {
  readonly http: HttpClient;
  /** Reaches only what gives out the credentials of clouds; undefined: they are not used. */
  readonly identityHttp: HttpClient | undefined;
  close(): Promise<void>;
}

/** Creates them; `apiServer` gives the addresses of the API server, which they must not reach, once these are known. */
export function createOutbound(
  { version, metricsServer, allowOutbound = [], cloudIdentity }: AppOptions,
  server: string,
  apiServer: () => Pick<ApiServerAddresses, 'addresses'> | undefined,
): Outbound {
  const userAgent = `holdfast/${version}`;
  const metricsHosts = URL.canParse(metricsServer) ? [new URL(metricsServer).host] : [];
  const http = createHttpClient({
    ...addressPolicy(server, [...metricsHosts, ...allowOutbound]),
    deniedAddresses: () => apiServer()?.addresses() ?? [],
    userAgent,
  });
  const identityHttp = cloudIdentity
    ? createHttpClient({ ...addressPolicy(server, credentialHosts), userAgent })
    : undefined;
  return {
    http,
    identityHttp,
    async close() {
      await http.close();
      await identityHttp?.close();
    },
  };
}

/** What outbound requests may reach. On one machine everything is loopback: where the API server is, Git and Prometheus may be too. */
export function addressPolicy(server: string | undefined, allowHosts: readonly string[]): AddressPolicy {
  if (server === undefined) return { allowHosts };
  const { hostname } = new URL(server);
  if (isLoopback(hostname)) return { allowLoopback: true, allowHosts };
  return { denyHosts: [hostname.replace(/^\[|\]$|\.$/g, '')], allowHosts };
}

/** Where the clouds give out the credentials of a machine or a pod. */
const credentialHosts = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '[fd00:ec2::23]',
  'metadata.google.internal',
];

/** Where the API server is found. */
interface ApiServerOptions {
  readonly openWatch: OpenWatch;
  /** As configured. */
  readonly server: string;
  /** The namespaces that Holdfast may read; none: all. */
  readonly namespaces: readonly string[];
  readonly clock: Clock;
  /** Name resolution; default the system's. */
  readonly resolve?: (name: string) => Promise<string[]>;
}

/** The addresses of the API server, which outbound requests must not reach. */
interface ApiServerAddresses {
  /** As known now: of the Service `kubernetes` any port, of its endpoints and of the configured name that port. */
  addresses(): string[];
  close(): void;
}

const lookAgainMs = 5 * 60_000;
/** How long a start waits for the watches: a cluster that forbids them must not prevent it. */
const patienceMs = 10_000;

/** Follows the Service `kubernetes`, its endpoints and what the name of the server resolves to. */
export async function findApiServer(options: ApiServerOptions): Promise<ApiServerAddresses> {
  const { openWatch, server, namespaces, clock } = options;
  const resolve =
    options.resolve ??
    (async (name: string) => (await lookup(name, { all: true })).map(({ address }) => address));
  const { hostname, port } = new URL(server);
  const isReadable = !isLoopback(hostname) && (namespaces.length === 0 || namespaces.includes('default'));
  const inDefault = { namespace: 'default' };
  const sets = isReadable
    ? [
        openWatch({ ...inDefault, apiVersion: 'v1', kind: 'Service', name: 'kubernetes' }),
        openWatch({
          ...inDefault,
          apiVersion: 'discovery.k8s.io/v1',
          kind: 'EndpointSlice',
          labelSelector: 'kubernetes.io/service-name=kubernetes',
        }),
      ]
    : [];
  let resolved: string[] = [];
  let cancel = () => {};

  async function look(): Promise<void> {
    const found = await resolve(hostname).catch(() => []);
    if (found.length > 0) resolved = found.map((address) => withPort(address, port || '443'));
    cancel = clock.after(lookAgainMs, () => void look());
  }

  if (isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && !isLoopback(hostname)) await look();
  const synced = Promise.all(sets.map((set) => new Promise<void>((done) => set.onChange(() => done()))));
  await Promise.race([synced, new Promise<void>((done) => void clock.after(patienceMs, done))]);
  return {
    addresses: () => [...resolved, ...sets.flatMap((set) => set.list()).flatMap(addressesOf)],
    close() {
      cancel();
      for (const set of sets) set.close();
    },
  };
}

function addressesOf({ kind, spec, ports, endpoints }: KubernetesObject): string[] {
  if (kind === 'Service') {
    const { clusterIP, clusterIPs = [] } = spec as { clusterIP?: string; clusterIPs?: string[] };
    return [...new Set([...(clusterIP ? [clusterIP] : []), ...clusterIPs])];
  }
  const at = (ports ?? []) as Array<{ port?: number }>;
  return ((endpoints ?? []) as Array<{ addresses?: string[] }>)
    .flatMap(({ addresses = [] }) => addresses)
    .flatMap((address) => at.map(({ port }) => withPort(address, String(port))));
}

function withPort(address: string, port: string): string {
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}
