import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { Agent, buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import {
  type AddressPolicy,
  guardedLookup,
  isAllowed,
  portOf,
  type Resolver,
  refuseHost,
} from './address-guard.ts';
import { HttpError } from './errors.ts';
import { readPrivateKey } from './private-key.ts';
import { ciphers } from './tls.ts';
import type { HttpTls } from './types.ts';

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
  resolver: Resolver,
): Dispatchers {
  const pools = new Map<string, Agent | ProxyAgent>();

  function open(tls: HttpTls, guarded: boolean): Agent {
    return new Agent({
      // Deadlines of the whole exchange are ours (client.ts); undici's own timers are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: guarded
        ? guardedConnector({ timeout: connectTimeoutMs, ...tlsOptions(tls) }, policy, resolver)
        : { timeout: connectTimeoutMs, ...tlsOptions(tls) },
    });
  }

  /** Names are resolved by the proxy then, so the address rules hold for the proxy's own address and for literal ones. */
  function openThrough(proxy: URL, url: URL, tls: HttpTls, guarded: boolean): ProxyAgent {
    return new ProxyAgent({
      uri: proxy.href,
      headersTimeout: 0,
      bodyTimeout: 0,
      proxyTunnel: false,
      clientFactory: (address, options) => tunnelPool(address, options, connectTimeoutMs),
      // Both are options of the sockets; the types know only those of TLS.
      proxyTls: {
        timeout: connectTimeoutMs,
        ciphers,
        ...(guarded ? { lookup: guardedLookup(policy, portOf(proxy), resolver) } : {}),
      },
      requestTls: {
        servername: serverNameOf(url.hostname),
        ...tlsOptions(tls),
      },
    });
  }

  return {
    forUrl(url, method, tls, proxy) {
      refuseHost(url, policy, method);
      if (proxy) refuseHost(proxy, policy, method);
      const guarded = !isAllowed(proxy ?? url, policy);
      const through = proxy ? ` ${proxy.href} ${url.hostname}` : '';
      const key = `${poolKey(tls, guarded)}${through}`;
      const known = pools.get(key);
      if (!known) refuseLargeKey(tls, method, url.host);
      const pool = known ?? (proxy ? openThrough(proxy, url, tls, guarded) : open(tls, guarded));
      pools.delete(key);
      pools.set(key, pool);
      const [oldest] = pools;
      if (pools.size > MAX_POOLS && oldest) {
        pools.delete(oldest[0]);
        // Requests under way finish; only new ones need another pool.
        oldest[1].close().catch(() => undefined);
      }
      return pool;
    },
    async close() {
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}

/** The connections to a proxy on which tunnels are opened: for a ProxyAgent, which has none of its own bounds for them. */
export function tunnelPool(proxy: URL, options: object, answerTimeoutMs: number): Pool {
  const { connect: connector } = options as { connect: buildConnector.connector };
  const pool = new Pool(proxy, {
    ...options,
    // Undici takes the proxy's host for its name.
    connect: (target, callback) =>
      connector({ ...target, servername: serverNameOf(target.servername ?? '') }, callback),
    headersTimeout: answerTimeoutMs,
  });
  const open: (asked: Dispatcher.ConnectOptions<null>) => Promise<Dispatcher.ConnectData<null>> =
    pool.connect.bind(pool);
  const connect = async (asked: Dispatcher.ConnectOptions<null>) => {
    try {
      return await open(asked);
    } catch (error) {
      // For a socket that is closed undici opens another one, again and again, whatever has become of the request.
      const { code = '' } = error as { code?: string };
      if (!/^UND_ERR_(SOCKET|INFO)$/.test(code)) throw error;
      throw Object.assign(new Error('the proxy opened no tunnel', { cause: error }), {
        code: 'ERR_PROXY_CLOSED',
      });
    }
  };
  return Object.assign(pool, { connect });
}

/** The host as TLS is told it: empty for an IP address, which Node 26 refuses there. The certificate is compared with the address all the same. */
export function serverNameOf(host: string): string {
  return isIP(host.replace(/^\[|\]$/g, '')) ? '' : host;
}

/** One connector for each port: a lookup does not get the port, which the rule for the API server needs. */
function guardedConnector(
  settings: buildConnector.BuildOptions,
  policy: AddressPolicy,
  resolver: Resolver,
): buildConnector.connector {
  const connectors = new Map<string, buildConnector.connector>();
  return (target, callback) => {
    const port = portOf(target);
    const lookup = guardedLookup(policy, port, resolver);
    const connect =
      connectors.get(port) ?? buildConnector({ ...settings, lookup } as buildConnector.BuildOptions);
    connectors.set(port, connect);
    connect(target, callback);
  };
}

function tlsOptions({ ca, cert, key, insecureSkipVerify }: HttpTls) {
  return {
    ciphers,
    rejectUnauthorized: !insecureSkipVerify,
    ...(ca ? { ca } : {}),
    ...(cert && key ? { cert, key } : {}),
  };
}

/** What else is wrong with a key, the TLS library says when it connects. */
function refuseLargeKey({ key }: HttpTls, method: string, host: string): void {
  try {
    if (key) readPrivateKey(key);
  } catch (error) {
    if (!(error instanceof RangeError)) return;
    const problem = `the key of the client certificate ${error.message}`;
    throw new HttpError('ClientCertificate', host, `${method} ${host}: ${problem}`);
  }
}

/** Connections of one certificate are never used for another. The private key itself is not part of the map key. */
function poolKey({ ca = '', cert = '', key = '', insecureSkipVerify }: HttpTls, guarded: boolean): string {
  const material = createHash('sha256').update([ca, cert, key].join('\0')).digest('hex');
  return `${material} ${Boolean(insecureSkipVerify)} ${guarded}`;
}
