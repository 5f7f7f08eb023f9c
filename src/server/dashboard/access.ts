import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { limits } from '../../api/limits.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import { type Person, reviewAccess, reviewToken, type Wish } from '../http/reviews.ts';
import { createMemory } from './memory.ts';

/** The answer to a question about rights. */
export type Verdict = 'yes' | 'no' | 'unknown';

/** Who somebody is, and what that one may. */
export interface DashboardAccess {
  /** By the headers of a request. Undefined: nobody that is known. Throws AccessUnknown. */
  identify(headers: IncomingHttpHeaders, purpose: Purpose): Promise<Person | undefined>;
  may(person: Person, wish: Wish, purpose: Purpose): Promise<Verdict>;
}

/** To read, an answer that is older than usual counts while the API server cannot be asked; to write, never. */
export type Purpose = 'read' | 'write';

/** The API server could not be asked who sent a token; the message says why. */
export class AccessUnknown extends Error {
  override readonly name = 'AccessUnknown';
}

/** A login proxy in front of the dashboard. */
export interface LoginProxy {
  /** What the proxy sends in `x-holdfast-proxy-secret`, so that nobody else can say who they are. */
  readonly secret: string;
  /** Names of its headers, in lower case. */
  readonly userHeader: string;
  readonly groupsHeader: string;
}

/** What access is decided by. */
interface AccessOptions {
  /** With a request budget of its own: anybody who reaches the dashboard can cause reviews. */
  readonly client: Pick<ClusterClient, 'create'>;
  /** A clock that nobody sets. */
  readonly nowMs: () => number;
  readonly proxy?: LoginProxy | undefined;
}

/** A right that was taken away counts for this long at most. */
const freshMs = 30_000;
/** What the API server said counts for this long while it cannot be asked. */
const oldestMs: Readonly<Record<Purpose, number>> = { read: 10 * 60_000, write: freshMs };

/** Asks the API server who sent a token and what that one may, and remembers the answers for a short time. */
export function createAccess({ client, nowMs, proxy }: AccessOptions): DashboardAccess {
  const reviewer = { client, manager: 'holdfast-dashboard' };
  const people = createMemory<Person | undefined>(nowMs, limits.dashboardSessions);
  const rights = createMemory<boolean>(nowMs, limits.dashboardRights);

  return {
    async identify(headers, purpose) {
      const token = tokenIn(headers);
      if (token === undefined) return proxy && byProxy(headers, proxy);
      // Tokens are not kept, only what they hash to.
      const key = createHash('sha256').update(token).digest('base64');
      const age = { freshMs, oldestMs: oldestMs[purpose] };
      return people.of(key, age, () => reviewToken(reviewer, token)).catch(explain);
    },
    async may(person, wish, purpose) {
      const age = { freshMs, oldestMs: oldestMs[purpose] };
      const key = JSON.stringify([person, wish]);
      const asked = rights.of(key, age, () => reviewAccess(reviewer, person, wish));
      const isAllowed = await asked.catch(() => undefined);
      return isAllowed === undefined ? 'unknown' : isAllowed ? 'yes' : 'no';
    },
  };
}

function explain(error: unknown): never {
  const isRefused = isApiError(error, 'forbidden', 'unknownKind', 'notFound');
  throw new AccessUnknown(
    isRefused
      ? 'Holdfast has no right to review tokens: install it with the option --dashboard'
      : 'the API server cannot be asked who you are at the moment',
  );
}

/** The longest token that is looked at; API servers make some of 2,000 characters. */
const tokenCharacters = 8_192;

/** The way through `kubectl proxy` keeps no Authorization header, so that there is one of our own. */
function tokenIn(headers: IncomingHttpHeaders): string | undefined {
  const own = headers['x-holdfast-token'];
  const text = typeof own === 'string' ? own : /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  return text !== undefined && text.length <= tokenCharacters && /^[\w.~+/-]+=*$/.test(text)
    ? text
    : undefined;
}

/** Users and groups that Kubernetes itself gives out are not for a proxy to claim. */
function byProxy(headers: IncomingHttpHeaders, proxy: LoginProxy): Person | undefined {
  const given = headers['x-holdfast-proxy-secret'];
  const user = headers[proxy.userHeader];
  if (typeof given !== 'string' || !isSame(given, proxy.secret)) return undefined;
  if (typeof user !== 'string' || !user || user.length > 256 || user.startsWith('system:')) return undefined;
  const groups = String(headers[proxy.groupsHeader] ?? '')
    .split(',')
    .map((group) => group.trim())
    .filter((group) => group && !group.startsWith('system:'))
    .slice(0, 200);
  return { user, groups: [...groups, 'system:authenticated'] };
}

function isSame(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/** For one person on the same machine, who was given a key for it (`holdfast demo`). It may do what this process may. */
export function createKeyAccess(key: string, user: string): DashboardAccess {
  const person: Person = { user, groups: [] };
  return {
    async identify(headers) {
      const token = tokenIn(headers);
      return token !== undefined && isSame(token, key) ? person : undefined;
    },
    may: async () => 'yes',
  };
}
