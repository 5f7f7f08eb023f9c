import { AsyncLocalStorage } from 'node:async_hooks';
import type { Resolver } from './address-guard.ts';
import { HttpError } from './errors.ts';
import { createSlots } from './slots.ts';

/** Name resolution of which each tenant has its share. */
interface Lookups {
  readonly resolve: Resolver;
  /** Names that this work has resolved count for the tenant. */
  as<T>(tenant: string | undefined, work: () => T): T;
}

/**
 * Names of one tenant that are resolved at a time. The system resolves few at a time for the whole process, and one whose name server does not
 * answer holds its place for seconds, whatever has become of the request.
 */
const namesPerTenant = 2;

/** Resolves names by `resolve`; one that waits longer than a connection may take to open is given up. */
export function createLookups(resolve: Resolver, connectTimeoutMs: number): Lookups {
  const tenants = new AsyncLocalStorage<string>();
  const slots = createSlots(namesPerTenant);
  const inTurn = (...[hostname, options, callback]: Parameters<Lookup>) => {
    slots.acquire(tenants.getStore() ?? '', AbortSignal.timeout(connectTimeoutMs)).then(
      (release) =>
        (resolve as Lookup)(hostname, options, (...answer) => {
          release();
          callback(...answer);
        }),
      () => {
        const problem = 'the name was not resolved in time: others before it are not answered';
        callback(new HttpError('Timeout', hostname, `${hostname}: ${problem}`));
      },
    );
  };
  return {
    resolve: inTurn as Resolver,
    as: (tenant, work) => tenants.run(tenant ?? '', work),
  };
}

type Lookup = (
  hostname: string,
  options: object,
  callback: (error: Error | null, ...found: unknown[]) => void,
) => void;
