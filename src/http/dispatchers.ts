import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import {
  type AddressPolicy,
  guardedLookup,
  hostProblem,
  isAllowed,
  type Resolver,
  refusal,
} from './address-guard.ts';
import { HttpError } from './errors.ts';

/** How to trust a server, and who we are to it. `ca` is PEM and replaces the system's authorities. Holds a secret: never log it. */
export interface HttpTls {
  readonly ca?: string;
  /** Our own certificate with its chain, PEM; with `key`. Shown only to a server that asks for one. */
  readonly cert?: string;
  /** The private key of `cert`, PEM without a passphrase. */
  readonly key?: string;
  /** Accept any certificate. Only where a user asked for it by name. */
  readonly insecureSkipVerify?: boolean;
}

/** Connection pools, one per trust setting, proxy and guard; at most 64, the oldest is closed first. */
export interface Dispatchers {
  /** The pool for this URL. Throws HttpError Refused when the policy forbids the host, or that of the proxy. */
  forUrl(url: URL, method: string, tls: HttpTls, proxy?: URL): Dispatcher;
  close(): Promise<void>;
}

const MAX_POOLS = 64;

/** Pools whose sockets obey the address policy at connect time. No proxy variables are read. */
export function createDispatchers(
  policy: AddressPolicy,
  connectTimeoutMs: number,
  resolver?: Resolver,
): Dispatchers {
  const pools = new Map<string, Agent | ProxyAgent>();

  function open(tls: HttpTls, guarded: boolean): Agent {
    return new Agent({
      // Deadlines of the whole exchange are ours (deadline.ts); undici's own timers are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: connectTimeoutMs,
        ...tlsOptions(tls),
        ...(guarded ? { lookup: guardedLookup(policy, resolver) } : {}),
      },
    });
  }

  /** Names are resolved by the proxy then, so the address rules hold for the proxy's own address and for literal ones. */
  function openThrough(proxy: URL, url: URL, tls: HttpTls, guarded: boolean): ProxyAgent {
    return new ProxyAgent({
      uri: proxy.href,
      headersTimeout: 0,
      bodyTimeout: 0,
      proxyTunnel: false,
      // Both are options of the sockets; the types know only those of TLS.
      proxyTls: {
        timeout: connectTimeoutMs,
        ...(guarded ? { lookup: guardedLookup(policy, resolver) } : {}),
      },
      requestTls: {
        ...(isIP(url.hostname.replace(/^\[|\]$/g, '')) ? {} : { servername: url.hostname }),
        ...tlsOptions(tls),
      },
    });
  }

  function refuse(url: URL, method: string): void {
    const problem = hostProblem(url, policy);
    if (problem) throw new HttpError('Refused', url.host, `${method} ${refusal(url.host, problem)}`);
  }

  return {
    forUrl(url, method, tls, proxy) {
      refuse(url, method);
      if (proxy) refuse(proxy, method);
      const guarded = !isAllowed(proxy ?? url, policy);
      const through = proxy ? ` ${proxy.href} ${url.hostname}` : '';
      const key = `${poolKey(tls, guarded)}${through}`;
      const pool = pools.get(key) ?? (proxy ? openThrough(proxy, url, tls, guarded) : open(tls, guarded));
      pools.delete(key);
      pools.set(key, pool);
      dropOldest(pools);
      return pool;
    },
    async close() {
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

function tlsOptions({ ca, cert, key, insecureSkipVerify }: HttpTls) {
  return {
    rejectUnauthorized: !insecureSkipVerify,
    ...(ca ? { ca } : {}),
    ...(cert && key ? { cert, key } : {}),
  };
}

/** Connections of one certificate are never used for another. The key itself is not kept as a key of the map. */
function poolKey({ ca = '', cert = '', key = '', insecureSkipVerify }: HttpTls, guarded: boolean): string {
  const material = createHash('sha256').update([ca, cert, key].join('\0')).digest('hex');
  return `${material} ${Boolean(insecureSkipVerify)} ${guarded}`;
}

function dropOldest(pools: Map<string, Agent | ProxyAgent>): void {
  const oldest = pools.keys().next().value;
  if (pools.size <= MAX_POOLS || oldest === undefined) return;
  const pool = pools.get(oldest);
  pools.delete(oldest);
  // Requests under way finish; only new ones need another pool.
  pool?.close().catch(() => undefined);
}
