import type { Clock } from '../api/clock.ts';
import type { Source } from '../api/source.ts';
import type { HttpClient } from '../http/types.ts';
import { ForgeError } from './errors.ts';
import { createForge } from './forge.ts';
import type { GithubAppTokens } from './github-app.ts';
import { createForgeProbe, type ForgeProbe } from './probe.ts';
import { credentialsOf, type SecretValues, secretText } from './secret.ts';
import type { ForgeWay } from './send.ts';
import { dialects, forgeNames, forgeOfHost, forgeOfName } from './table.ts';
import type { Forge, ForgeKind } from './types.ts';

/** What forges are opened with. One per process: what was found out about hosts and Apps is kept in it. */
export interface ForgeSettings {
  readonly http: Pick<HttpClient, 'send'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Shared with who reads Git as an App. */
  readonly tokens: GithubAppTokens;
}

/** What the Secrets of a Source say: the values of its own, and the way to the server. */
export interface ForgeAccess {
  readonly values: SecretValues;
  readonly way: ForgeWay;
}

/** Opens the forge of a Source's repository; undefined when its host is none we know. Throws ForgeError. */
export type OpenForge = (source: Source, access: () => Promise<ForgeAccess>) => Promise<Forge | undefined>;

/** At least owner and name; nothing that would need encoding. */
const REPOSITORY = /^[\w.~-]+(?:\/[\w.~-]+)+$/;

/**
 * Which forge it is: a public host, else the key `forge` of the Secret, else what the host's version pages say. The Secret's
 * values are read at every opening, so that a renewed token counts from the next use.
 */
export function createOpenForge({ http, clock, tokens }: ForgeSettings): OpenForge {
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
    const base = {
      ...{ http, api, way, nowMs },
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
function forApp(forge: Forge): Forge {
  if (forge.kind !== 'github') {
    throw new ForgeError('Unauthorized', `a GitHub App cannot sign in at ${forge.kind}; use a token`);
  }
  return { ...forge, mayWrite: async () => (await forge.mayWrite()) || undefined };
}

async function kindOf(
  values: SecretValues,
  url: URL,
  path: string | undefined,
  way: ForgeWay,
  probe: ForgeProbe,
): Promise<ForgeKind | undefined> {
  const named = secretText(values, 'forge');
  const kind = named === undefined ? undefined : forgeOfName(named);
  if (named !== undefined && !kind) {
    throw new ForgeError(
      'Invalid',
      `the Secret's key forge is ${named.slice(0, 40)}; known are ${forgeNames()}`,
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
