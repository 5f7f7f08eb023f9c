import { createSlots } from '../api/slots.ts';
import type { Resolver } from './address-guard.ts';
import { HttpError } from './errors.ts';

/** Name resolution of which each tenant has its share. */
interface Lookups {
  /** Names that are resolved so count for the tenant. */
  of(tenant: string | undefined): Resolver;
  /** For connections that are shared: a name counts for the tenant whose work asks for it. */
  readonly shared: Resolver;
  /** Names that this work asks for before it returns count for the tenant: the connection that a request needs is opened at once. */
  as<T>(tenant: string | undefined, work: () => T): T;
}

/**
 * Names of one tenant that are resolved at a time. The system resolves few at a time for the whole process, and one whose name server does not
 * answer holds its place for seconds, whatever has become of the request.
 */
const namesPerTenant = 2;

/** Resolves names by `resolve`; one that waits longer than a connection may take to open is given up. */
export function createLookups(resolve: Resolver, connectTimeoutMs: number): Lookups {
  const slots = createSlots(namesPerTenant);
  const inTurn = (tenant: string, ...[hostname, options, callback]: Parameters<Lookup>) => {
    slots.acquire(tenant, AbortSignal.timeout(connectTimeoutMs)).then(
      (release) =>
        (resolve as Lookup)(hostname, options, (...answer) => {
          release();
          callback(...answer);
        }),
      () => {
        const problem =
          'the name was not resolved in time: the name servers have not answered earlier questions';
        callback(new HttpError('Timeout', hostname, `${hostname}: ${problem}`));
      },
    );
  };
  // Not an AsyncLocalStorage: on Node 20 one makes each promise of the whole process dearer for ever.
  let current = '';
  return {
    of: (tenant = '') => ((...asked: Parameters<Lookup>) => inTurn(tenant, ...asked)) as Resolver,
    shared: ((...asked: Parameters<Lookup>) => inTurn(current, ...asked)) as Resolver,
    as(tenant = '', work) {
      const before = current;
      current = tenant;
      try {
        return work();
      } finally {
        current = before;
      }
    },
  };
}

type Lookup = (
  hostname: string,
  options: object,
  callback: (error: Error | null, ...found: unknown[]) => void,
) => void;
