import { createHash } from 'node:crypto';
import { isRecord, type SecretValues } from '../../api/kubernetes.ts';
import { httpsFormOf, isSshAddress } from '../../api/source/git-address.ts';
import type { Source } from '../../api/source/source.ts';
import type { HttpClient, HttpRequest } from '../../http/types.ts';
import { codeOfStatus, ForgeError, forgeErrorOf } from './errors.ts';
import { createForge } from './forge.ts';
import type { ForgeSettings, GithubAppTokens } from './github-app.ts';
import { credentialsOf, forgeValuesOf, secretText } from './secret.ts';
import { forgeTenant, jsonOf } from './send.ts';
import { forges } from './table.ts';
import type { ForgeClient, ForgeDialect, ForgeNetworkSettings, ForgePlace } from './types.ts';

/** The values of a Source's Secret, and the settings of the network. */
interface ForgeAccess {
  readonly values: SecretValues;
  readonly way: ForgeNetworkSettings;
}

/** Opens the forge of a Source's repository; undefined when its host is unknown, or for an SSH address when the Secret has no credentials for a forge. Its requests end when the signal aborts. Throws ForgeError. Reads no Secret itself. */
type OpenForgeClient = (
  source: Source,
  access: () => Promise<ForgeAccess>,
  signal?: AbortSignal,
) => Promise<ForgeClient | undefined>;

/** At least owner and name; nothing that would need encoding. */
const REPOSITORY = /^[\w.~-]+(?:\/[\w.~-]+)+$/;

/**
 * Which forge it is: the key `forge` of the Secret, else a public host, else found by the host's version pages. The Secret's
 * values are read at every opening, so that a renewed token counts from the next use.
 */
export function createOpenForge({ http, clock, tokens }: ForgeSettings): OpenForgeClient {
  const nowMs = () => clock.nowMs();
  const pauses = new Map<string, { untilMs: number }>();
  /** Limits are those of credentials at an API. */
  const pauseOf = (...limited: readonly string[]) => {
    const key = createHash('sha256').update(limited.join('\0')).digest('hex');
    const known = pauses.get(key) ?? { untilMs: 0 };
    if (pauses.size >= MAX_CACHED) pauses.clear();
    pauses.set(key, known);
    return known;
  };
  const probeAs = createForgeProbe(nowMs);
  return async (source, access, signal) => {
    const { values: given, way } = await access();
    const values = forgeValuesOf(source, given);
    // An SSH server may not serve HTTPS at all: without credentials for a forge none is assumed.
    if (isSshAddress(source.spec.url) && credentialsOf(values).kind === 'none') return undefined;
    const url = new URL(httpsFormOf(source.spec.url) ?? source.spec.url);
    const path = repositoryPath(url);
    const tenant = forgeTenant(source);
    const common = { tenant, ...(signal ? { signal } : {}) };
    const asTenant = { send: (request: HttpRequest) => http.send({ ...request, ...common }) };
    const probe: ForgeProbe = (...asked) => probeAs(tenant, asTenant, ...asked);
    const found = await forgeOf(values, url, path, way, probe);
    if (!found) return undefined;
    const { dialect, api, repository } = found;
    const credentials = credentialsOf(values);
    const base = {
      http: asTenant,
      api,
      way,
      nowMs,
      headers: dialect.headers,
      where: `${dialect.kind} ${url.host}, ${repository}`,
      pause: pauseOf(tenant, api, JSON.stringify(credentials)),
    };
    if (credentials.kind !== 'githubApp') {
      return createForge(dialect, repository, { ...base, auth: async () => dialect.auth(credentials) });
    }
    if (dialect.kind !== 'github') {
      throw new ForgeError('Unauthorized', `a GitHub App cannot be used with ${dialect.kind}; use a token`);
    }
    const ofApp = credentials.api === undefined ? base : { ...base, api: credentials.api };
    const auth = async () => dialect.auth({ kind: 'token', token: await tokens.of(credentials, ofApp) });
    const forge = createForge(dialect, repository, { ...ofApp, http: forgetting(asTenant, tokens), auth });
    // GitHub reports the rights of users, and an App is not a user: only a yes counts.
    return { ...forge, mayWrite: async () => (await forge.mayWrite()) || undefined };
  };
}

/** Drops a refused token, as Git does: it may have expired early, for instance because the App was reinstalled, or be older than a right that the App was given. */
function forgetting(http: Pick<HttpClient, 'send'>, tokens: GithubAppTokens): Pick<HttpClient, 'send'> {
  return {
    async send(request) {
      const answer = await http.send(request);
      const isRefused = answer.status === 401 || answer.status === 403;
      if (isRefused && request.auth?.kind === 'bearer') tokens.drop(request.auth.token);
      return answer;
    },
  };
}

async function forgeOf(
  values: SecretValues,
  url: URL,
  path: string | undefined,
  way: ForgeNetworkSettings,
  probe: ForgeProbe,
): Promise<FoundForge | undefined> {
  const named = secretText(values, 'forge');
  const namesOf = ({ kind, aliases = [] }: ForgeDialect) => [kind, ...aliases];
  const dialect = forges.find((one) =>
    named === undefined ? one.hosts.includes(url.hostname) : namesOf(one).includes(named.toLowerCase()),
  );
  if (named !== undefined && !dialect) {
    const names = forges.flatMap(namesOf).sort().join(', ');
    throw new ForgeError(
      'Invalid',
      `the Secret's key forge is ${named.slice(0, 40)}; must be one of ${names}`,
    );
  }
  if (!path) return undefined;
  if (!dialect) return probe(url, path, way, forges);
  const isBelow = dialect.placeBelow?.(url, path) && !dialect.hosts.includes(url.hostname);
  const below = isBelow ? await probe(url, path, way, [dialect]) : undefined;
  return below ?? { dialect, ...dialect.place(url, path) };
}

/** `owner/name` and what is before it, as in the URL; undefined when the URL is that of no forge's repository. */
function repositoryPath({ pathname }: URL): string | undefined {
  const path = pathname.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  const isPlain = REPOSITORY.test(path) && !path.split('/').some((part) => part === '.' || part === '..');
  return isPlain ? path : undefined;
}

/** A forge, and where a repository is there. */
interface FoundForge extends ForgePlace {
  readonly dialect: ForgeDialect;
}

/** Finds out which of these forges serves a repository's address; undefined: an unknown one. Throws ForgeError when the host does not answer. */
type ForgeProbe = (
  url: URL,
  path: string,
  way: ForgeNetworkSettings,
  among: readonly ForgeDialect[],
) => Promise<FoundForge | undefined>;

const CACHE_MS = 3_600_000;
/** No forge may also be one that is starting behind a proxy, and what is written meanwhile is written without it. */
const NONE_CACHE_MS = 300_000;
const MAX_CACHED = 500;

/**
 * Asks for the version pages of the forges, without credentials; an answer counts for an hour, that of no forge for five minutes, and for the namespace
 * that asked: what answers is behind a proxy and a CA of its choice. What was a forge once stays that one until another one answers.
 */
function createForgeProbe(
  nowMs: () => number,
): (
  tenant: string,
  http: Pick<HttpClient, 'send'>,
  ...asked: Parameters<ForgeProbe>
) => ReturnType<ForgeProbe> {
  const cached = new Map<string, { readonly forge: FoundForge | undefined; readonly untilMs: number }>();
  return async (tenant, http, ...asked) => {
    const [url, path, , among] = asked;
    const key = `${tenant} ${url.origin}/${path} ${among.map(({ kind }) => kind)}`;
    const known = cached.get(key);
    if (known && known.untilMs > nowMs()) return known.forge;
    const found = await ask(http, ...asked);
    const forge = found ?? known?.forge;
    if (cached.size >= MAX_CACHED) cached.clear();
    cached.set(key, { forge, untilMs: nowMs() + (found ? CACHE_MS : NONE_CACHE_MS) });
    return forge;
  };
}

async function ask(
  http: Pick<HttpClient, 'send'>,
  ...[url, path, way, among]: Parameters<ForgeProbe>
): Promise<FoundForge | undefined> {
  const places = among.flatMap((dialect) =>
    [dialect.place(url, path), dialect.placeBelow?.(url, path)].flatMap((place) =>
      place ? [{ dialect, ...place }] : [],
    ),
  );
  for (const place of places) {
    const { fingerprint } = place.dialect;
    if (!fingerprint) continue;
    const request = { url: `${place.api}${fingerprint.path}`, headers: { accept: 'application/json' } };
    const { status, headers, body } = await http
      .send({ ...request, redirect: 'return', ...way })
      .catch((error: unknown) => Promise.reject(forgeErrorOf(`find out which forge ${url.host} is`, error)));
    // The answer of a proxy, or of a forge that is starting: which forge it is stays unknown.
    if (codeOfStatus(status, headers) === 'Unavailable')
      throw new ForgeError('Unavailable', `find out which forge ${url.host} is: HTTP ${status}`);
    const json = jsonOf(body);
    if (fingerprint.fits({ status, headers, json: isRecord(json) ? json : {} })) return place;
  }
  return undefined;
}
