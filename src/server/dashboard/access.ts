import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { apiVersionOf } from '../../api/kinds/kinds.ts';
import { groupOf } from '../../api/kubernetes.ts';
import { limits } from '../../api/limits.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { isApiError } from '../../cluster/errors.ts';
import { type Person, reviewAccess, reviewToken, type Wish } from '../http/reviews.ts';

/** The answer to a question about rights. */
type Verdict = 'yes' | 'no' | 'unknown';

/** Authenticates users, and authorizes them. */
export interface DashboardAccess {
  /** The user of a request, by its headers; undefined: unknown. Throws AccessUnknown. */
  identify(headers: IncomingHttpHeaders, purpose: Purpose): Promise<Person | undefined>;
  /** The same without asking anybody: whoever was identified a short time ago. Undefined: it has to be asked, or nobody sent it. */
  remembered(headers: IncomingHttpHeaders): Person | undefined;
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
  /** What the proxy sends in `x-holdfast-proxy-secret`, so that only the proxy can name users. */
  readonly secret: string;
  /** Names of its headers, in lower case. */
  readonly userHeader: string;
  readonly groupsHeader: string;
}

/** What access is decided by. */
interface AccessOptions {
  /** With a separate request budget: everyone who reaches the dashboard can cause reviews. */
  readonly client: Pick<ClusterClient, 'create'>;
  /** A monotonic clock. */
  readonly nowMs: () => number;
  readonly proxy?: LoginProxy | undefined;
}

/** A revoked right is valid for this long at most. */
const freshMs = 30_000;
/** Answers are used for this long while the API server cannot be reached. */
const oldestMs: Readonly<Record<Purpose, number>> = { read: 10 * 60_000, write: freshMs };

/** Reviews tokens and rights at the API server, and caches the answers for a short time. */
export function createAccess({ client, nowMs, proxy }: AccessOptions): DashboardAccess {
  const reviewer = { client, manager: 'holdfast-dashboard' };
  const people = createMemory<Person | undefined>(nowMs, limits.dashboardSessions);
  const rights = createMemory<boolean>(nowMs, limits.dashboardRights);
  const ids = new WeakMap<Person, string>();

  /** Short, since the names of somebody's groups may take tens of kilobytes, and each right is remembered by it. */
  function idOf(person: Person): string {
    const id = ids.get(person) ?? hashOf(JSON.stringify(person));
    ids.set(person, id);
    return id;
  }

  /** Proxies may pass a token of their own on in the other header, which says nothing here. */
  function namedByProxy(headers: IncomingHttpHeaders): Person | undefined {
    return proxy && headers['x-holdfast-token'] === undefined ? byProxy(headers, proxy) : undefined;
  }

  return {
    remembered(headers) {
      const token = tokenIn(headers);
      const known = token === undefined ? undefined : people.known(hashOf(token), oldestMs.read);
      return namedByProxy(headers) ?? known;
    },
    async identify(headers, purpose) {
      const named = namedByProxy(headers);
      if (named) return named;
      const token = tokenIn(headers);
      if (token === undefined) return undefined;
      // Only hashes of tokens are stored.
      const key = hashOf(token);
      const age = { freshMs, oldestMs: oldestMs[purpose] };
      return people.of(key, age, () => reviewToken(reviewer, token)).catch(explain);
    },
    async may(person, wish, purpose) {
      const age = { freshMs, oldestMs: oldestMs[purpose] };
      const key = `${idOf(person)} ${JSON.stringify(wish)}`;
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

/** `kubectl proxy` removes the Authorization header, so there is a second one. */
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
  const user = textOf(headers[proxy.userHeader]);
  if (typeof given !== 'string' || !isSame(given, proxy.secret)) return undefined;
  if (!user || user.length > 256 || user.startsWith('system:')) return undefined;
  const groups = textOf(headers[proxy.groupsHeader])
    .split(',')
    .map((group) => group.trim())
    .filter((group) => group && !group.startsWith('system:'))
    .slice(0, limits.dashboardGroups);
  return { user, groups: [...groups, 'system:authenticated'] };
}

/** Node reads headers as Latin-1; proxies send names as UTF-8, as `Büro`. What is no UTF-8 stays as it is. */
function textOf(header: string | string[] | undefined): string {
  const text = String(header ?? '');
  const decoded = Buffer.from(text, 'latin1').toString('utf8');
  return decoded.includes('\ufffd') ? text : decoded;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function isSame(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}

/** For one person on the same machine, who was given a key for it (`holdfast demo`). It may do what this process may. */
export function createKeyAccess(key: string, user: string): DashboardAccess {
  const person: Person = { user, groups: [] };
  function remembered(headers: IncomingHttpHeaders): Person | undefined {
    const token = tokenIn(headers);
    return token !== undefined && isSame(token, key) ? person : undefined;
  }
  return {
    remembered,
    identify: async (headers) => remembered(headers),
    may: async () => 'yes',
  };
}

/** A cache of answers. */
interface Memory<T> {
  /**
   * The answer, requested again when it is older than `freshMs`. If that fails, an answer that is at most `oldestMs` old; without one, throws
   * the error. Concurrent callers share one request.
   */
  of(key: string, age: { freshMs: number; oldestMs: number }, ask: () => Promise<T>): Promise<T>;
  /** An answer that is at most so old. */
  known(key: string, oldestMs: number): T | undefined;
}

interface Entry<T> {
  readonly answer: T;
  readonly atMs: number;
}

/** Holds at most `maximum` answers; the oldest one is evicted first. */
function createMemory<T>(nowMs: () => number, maximum: number): Memory<T> {
  const known = new Map<string, Entry<T>>();
  const underWay = new Map<string, Promise<T>>();

  function keep(key: string, answer: T): void {
    known.delete(key);
    // Invalid tokens must not evict answers for users.
    if (answer === undefined) return;
    known.set(key, { answer, atMs: nowMs() });
    if (known.size > maximum) known.delete(known.keys().next().value ?? '');
  }

  function askOnce(key: string, ask: () => Promise<T>): Promise<T> {
    const running = underWay.get(key);
    if (running) return running;
    const asking = ask()
      .then((answer) => {
        keep(key, answer);
        return answer;
      })
      .finally(() => underWay.delete(key));
    underWay.set(key, asking);
    return asking;
  }

  return {
    known(key, oldestMs) {
      const before = known.get(key);
      return before && nowMs() - before.atMs < oldestMs ? before.answer : undefined;
    },
    async of(key, { freshMs, oldestMs }, ask) {
      const before = known.get(key);
      if (before && nowMs() - before.atMs < freshMs) return before.answer;
      try {
        return await askOnce(key, ask);
      } catch (error) {
        if (before && nowMs() - before.atMs < oldestMs) return before.answer;
        throw error;
      }
    },
  };
}

/** What one user may read. Throws AccessUnknown: what is not known must not look as if it were not there. */
export interface Rights {
  /** In one namespace, or of one object. */
  mayRead(wish: Omit<Wish, 'verb'> & { readonly verb?: string }): Promise<boolean>;
  /** The namespaces among these in which the user may list a resource. */
  readable(
    resource: Pick<Wish, 'group' | 'resource'>,
    namespaces: ReadonlySet<string>,
  ): Promise<ReadonlySet<string>>;
}

/** The rights of a user for one stream of a page, by reviews of the API server. */
export function rightsOf(access: DashboardAccess, person: Person): Rights {
  /** Most namespaces are those of others: to ask about them again and again would take the requests that all people have together. */
  const denied = new Set<string>();
  const mayRead: Rights['mayRead'] = async ({ verb = 'list', ...wish }) => {
    const verdict = await access.may(person, { verb, ...wish }, 'read');
    if (verdict !== 'unknown') return verdict === 'yes';
    throw new AccessUnknown('the API server cannot be asked what you may read at the moment');
  };
  return {
    mayRead,
    async readable(resource, namespaces) {
      if (await mayRead({ ...resource, namespace: '' })) return namespaces;
      const allowed = await Promise.all(
        [...namespaces].map(async (namespace) => {
          const place = `${resource.group}/${resource.resource} ${namespace}`;
          if (denied.has(place)) return [];
          if (await mayRead({ ...resource, namespace })) return [namespace];
          denied.add(place);
          return [];
        }),
      );
      return new Set(allowed.flat());
    },
  };
}

/**
 * The right that a user lacks to set the annotation of a verb, as the admission policy of `holdfast install` requires it; undefined: none. Throws
 * AccessUnknown.
 */
export async function missingRight(
  access: DashboardAccess,
  person: Person,
  object: { group: string; resource: string; namespace: string; name: string },
  verb: string,
  purpose: 'read' | 'write' = 'read',
): Promise<string | undefined> {
  for (const each of ['patch', verb]) {
    const verdict: Verdict = await access.may(person, { verb: each, ...object }, purpose);
    if (verdict === 'unknown')
      throw new AccessUnknown('the API server cannot be asked what you may do at the moment');
    if (verdict === 'no')
      return `needs the RBAC verb ${each} on ${object.resource}.${object.group} ${object.namespace}/${object.name}`;
  }
  return undefined;
}

/** The plural of our kinds, and their groups, for questions about rights. */
export const ourResources: Readonly<
  Record<'Canary' | 'Source', { readonly group: string; readonly resource: string }>
> = {
  Canary: { group: groupOf(apiVersionOf('Canary')), resource: 'canaries' },
  Source: { group: groupOf(apiVersionOf('Source')), resource: 'sources' },
};
