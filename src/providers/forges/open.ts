import type { Clock } from '../../api/clock.ts';
import type { SecretValues } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../http/types.ts';
import { ForgeError, forgeErrorOf } from './errors.ts';
import { createForge } from './forge.ts';
import type { GithubAppTokens } from './github.ts';
import { credentialsOf, secretText } from './secret.ts';
import type { ForgeNetworkSettings } from './send.ts';
import { dialects, forgeNames, forgeOfHost, forgeOfName } from './table.ts';
import type { ForgeClient, ForgeKind } from './types.ts';

/** What forges are opened with. One per process: what was found out about hosts and Apps is kept in it. */
interface ForgeSettings {
  readonly http: Pick<HttpClient, 'send'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Shared with who reads Git as an App. */
  readonly tokens: GithubAppTokens;
}

/** What the Secrets of a Source say: the values of its own, and the way to the server. */
interface ForgeAccess {
  readonly values: SecretValues;
  readonly way: ForgeNetworkSettings;
}

/** Opens the forge of a Source's repository; undefined when its host is none we know. Throws ForgeError. Reads no Secret itself. */
type OpenForgeClient = (
  source: Source,
  access: () => Promise<ForgeAccess>,
) => Promise<ForgeClient | undefined>;

/** At least owner and name; nothing that would need encoding. */
const REPOSITORY = /^[\w.~-]+(?:\/[\w.~-]+)+$/;

/**
 * Which forge it is: a public host, else the key `forge` of the Secret, else what the host's version pages say. The Secret's
 * values are read at every opening, so that a renewed token counts from the next use.
 */
export function createOpenForge({ http, clock, tokens }: ForgeSettings): OpenForgeClient {
  const nowMs = () => clock.nowMs();
  const probe = createForgeProbe(http, nowMs);
  return async (source, access) => {
    const { values, way } = await access();
    const url = new URL(source.spec.url);
    const path = repositoryPath(url);
    const kind = await kindOf(values, url, path, way, probe);
    if (!kind || !path) return undefined;
    const dialect = dialects[kind];
    const { api, repository } = dialect.place(url, path);
    const tenant = `forge ${source.metadata.namespace}`;
    const base = {
      ...{ http: { send: (request: HttpRequest) => http.send({ ...request, tenant }) }, api, way, nowMs },
      headers: dialect.headers,
      where: `${kind} ${url.host}, ${repository}`,
    };
    const credentials = credentialsOf(values);
    if (credentials.kind !== 'githubApp') {
      return createForge(dialect, repository, { ...base, auth: async () => dialect.auth(credentials) });
    }
    const ofApp = credentials.api === undefined ? base : { ...base, api: credentials.api };
    const auth = async () => dialect.auth({ kind: 'token', token: await tokens.of(credentials, ofApp) });
    return forApp(createForge(dialect, repository, { ...ofApp, auth }));
  };
}

/** Of an App, GitHub tells its user's rights, and it is no user. */
function forApp(forge: ForgeClient): ForgeClient {
  if (forge.kind !== 'github') {
    throw new ForgeError('Unauthorized', `a GitHub App cannot be used with ${forge.kind}; use a token`);
  }
  return { ...forge, mayWrite: async () => (await forge.mayWrite()) || undefined };
}

async function kindOf(
  values: SecretValues,
  url: URL,
  path: string | undefined,
  way: ForgeNetworkSettings,
  probe: ForgeProbe,
): Promise<ForgeKind | undefined> {
  const named = secretText(values, 'forge');
  const kind = named === undefined ? undefined : forgeOfName(named);
  if (named !== undefined && !kind) {
    throw new ForgeError(
      'Invalid',
      `the Secret's key forge is ${named.slice(0, 40)}; must be one of ${forgeNames()}`,
    );
  }
  return kind ?? forgeOfHost(url.hostname) ?? (path ? await probe(url, path, way) : undefined);
}

/** `owner/name` and what is before it, as in the URL; undefined when the URL is that of no forge's repository. */
function repositoryPath({ pathname }: URL): string | undefined {
  const path = pathname.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  const isPlain = REPOSITORY.test(path) && !path.split('/').some((part) => part === '.' || part === '..');
  return isPlain ? path : undefined;
}

/** Finds out which forge serves a repository's address; undefined: none that we know. Throws ForgeError when nobody answers. */
type ForgeProbe = (url: URL, path: string, way: ForgeNetworkSettings) => Promise<ForgeKind | undefined>;

interface Fingerprint {
  readonly kind: ForgeKind;
  /** A page that everybody may ask for. */
  readonly path: string;
  readonly fits: (answer: HttpResponse, value: Readonly<Record<string, unknown>>) => boolean;
}

const KEEP_MS = 3_600_000;
const MAX_KEPT = 500;

const FINGERPRINTS: readonly Fingerprint[] = [
  {
    kind: 'gitea',
    path: '/version',
    fits: ({ status }, { version }) => status === 200 && typeof version === 'string',
  },
  {
    kind: 'gitlab',
    path: '/version',
    // Without a token it says 401, and its own header says who it is.
    fits: ({ status, headers }, { version }) =>
      'x-gitlab-meta' in headers && (status === 401 || (status === 200 && typeof version === 'string')),
  },
  {
    kind: 'github',
    path: '/meta',
    fits: ({ status, headers }) => 'x-github-request-id' in headers && (status === 200 || status === 401),
  },
];

/** Asks for the version pages of the forges, without credentials; an answer counts for an hour. */
function createForgeProbe(http: Pick<HttpClient, 'send'>, nowMs: () => number): ForgeProbe {
  const kept = new Map<string, { readonly kind: ForgeKind | undefined; readonly untilMs: number }>();
  return async (url, path, way) => {
    const key = `${url.origin}/${path}`;
    const known = kept.get(key);
    if (known && known.untilMs > nowMs()) return known.kind;
    const kind = await ask(http, url, path, way);
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(key, { kind, untilMs: nowMs() + KEEP_MS });
    return kind;
  };
}

async function ask(
  http: Pick<HttpClient, 'send'>,
  url: URL,
  path: string,
  way: ForgeNetworkSettings,
): Promise<ForgeKind | undefined> {
  for (const sign of FINGERPRINTS) {
    const { api } = dialects[sign.kind].place(url, path);
    const request = { url: `${api}${sign.path}`, headers: { accept: 'application/json' } };
    const answer = await http
      .send({ ...request, redirect: 'return', ...way })
      .catch((error: unknown) => Promise.reject(forgeErrorOf(`find out which forge ${url.host} is`, error)));
    if (sign.fits(answer, objectOf(answer.body))) return sign.kind;
  }
  return undefined;
}

function objectOf(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
