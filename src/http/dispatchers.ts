import { createHash } from 'node:crypto';
import { Agent, type Dispatcher } from 'undici';
import {
  type AddressPolicy,
  guardedLookup,
  hostProblem,
  isAllowed,
  type Resolver,
  refusal,
} from './address-guard.ts';
import { HttpError } from './errors.ts';

/** How to trust a server. `ca` is PEM and replaces the system's authorities. */
export interface HttpTls {
  readonly ca?: string;
  /** Accept any certificate. Only where a user asked for it by name. */
  readonly insecureSkipVerify?: boolean;
}

/** Connection pools, one per trust setting and guard; at most 64, the oldest is closed first. */
export interface Dispatchers {
  /** The pool for this URL. Throws HttpError Refused when the policy forbids the host. */
  forUrl(url: URL, method: string, tls: HttpTls): Dispatcher;
  close(): Promise<void>;
}

const MAX_POOLS = 64;

/** Pools whose sockets obey the address policy at connect time. No proxy variables are read. */
export function createDispatchers(
  policy: AddressPolicy,
  connectTimeoutMs: number,
  resolver?: Resolver,
): Dispatchers {
  const pools = new Map<string, Agent>();

  function open(tls: HttpTls, guarded: boolean): Agent {
    return new Agent({
      // Deadlines of the whole exchange are ours (deadline.ts); undici's own timers are coarse.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: {
        timeout: connectTimeoutMs,
        rejectUnauthorized: !tls.insecureSkipVerify,
        ...(tls.ca ? { ca: tls.ca } : {}),
        ...(guarded ? { lookup: guardedLookup(policy, resolver) } : {}),
      },
    });
  }

  return {
    forUrl(url, method, tls) {
      const problem = hostProblem(url, policy);
      if (problem) throw new HttpError('Refused', url.host, `${method} ${refusal(url.host, problem)}`);
      const guarded = !isAllowed(url, policy);
      const key = poolKey(tls, guarded);
      const pool = pools.get(key) ?? open(tls, guarded);
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

function poolKey(tls: HttpTls, guarded: boolean): string {
  const ca = tls.ca ? createHash('sha256').update(tls.ca).digest('hex') : 'system';
  return `${ca} ${Boolean(tls.insecureSkipVerify)} ${guarded}`;
}

function dropOldest(pools: Map<string, Agent>): void {
  const oldest = pools.keys().next().value;
  if (pools.size <= MAX_POOLS || oldest === undefined) return;
  const pool = pools.get(oldest);
  pools.delete(oldest);
  // Requests under way finish; only new ones need another pool.
  pool?.close().catch(() => undefined);
}
