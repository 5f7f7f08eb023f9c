import type { Clock } from '../api/clock.ts';
import type { Source } from '../api/source.ts';
import type { HttpClient } from '../http/types.ts';
import { ForgeError } from './errors.ts';
import { createForge } from './forge.ts';
import { createGithubAppTokens } from './github-app.ts';
import { createForgeProbe, type ForgeProbe } from './probe.ts';
import { credentialsOf, type SecretValues, secretText } from './secret.ts';
import { dialects, forgeNames, forgeOfHost, forgeOfName } from './table.ts';
import type { Forge, ForgeKind } from './types.ts';

/** What forges are opened with. One per process: what was found out about hosts and Apps is kept in it. */
export interface ForgeSettings {
  readonly http: Pick<HttpClient, 'send'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** Opens the forge of a Source's repository; undefined when its host is none we know. Throws ForgeError. */
export type OpenForge = (
  source: Source,
  secret: () => Promise<SecretValues | undefined>,
) => Promise<Forge | undefined>;

/** At least owner and name; nothing that would need encoding. */
const REPOSITORY = /^[\w.~-]+(?:\/[\w.~-]+)+$/;

/**
 * Which forge it is: a public host, else the key `forge` of the Secret, else what the host's version pages say. The Secret's
 * values are read at every opening, so that a renewed token counts from the next use.
 */
export function createOpenForge({ http, clock }: ForgeSettings): OpenForge {
  const nowMs = () => clock.nowMs();
  const probe = createForgeProbe(http, nowMs);
  const tokens = createGithubAppTokens();
  return async (source, secret) => {
    const values = (await secret()) ?? {};
    const url = new URL(source.spec.url);
    const path = repositoryPath(url);
    const ca = certificates(values);
    const kind = await kindOf(values, url, path, ca, probe);
    if (!kind || !path) return undefined;
    const dialect = dialects[kind];
    const { api, repository } = dialect.place(url, path);
    const base = {
      http,
      api,
      headers: dialect.headers,
      where: `${kind} ${url.host}, ${repository}`,
      nowMs,
      ...(ca ? { ca } : {}),
    };
    const credentials = credentialsOf(values);
    if (credentials.kind !== 'githubApp') {
      return createForge(dialect, repository, { ...base, auth: async () => dialect.auth(credentials) });
    }
    const auth = async () => dialect.auth({ kind: 'token', token: await tokens(credentials, base) });
    return forApp(createForge(dialect, repository, { ...base, auth }));
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
  ca: string | undefined,
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
  return kind ?? forgeOfHost(url.hostname) ?? (path ? await probe(url, path, ca) : undefined);
}

/** `owner/name` and what is before it, as in the URL; undefined when the URL is that of no forge's repository. */
function repositoryPath({ pathname }: URL): string | undefined {
  const path = pathname.replace(/^\/+|\/+$/g, '').replace(/\.git$/, '');
  const isPlain = REPOSITORY.test(path) && !path.split('/').some((part) => part === '.' || part === '..');
  return isPlain ? path : undefined;
}

function certificates(values: SecretValues): string | undefined {
  const pem = values['ca.crt'];
  return pem && pem.length > 0 ? new TextDecoder().decode(pem) : undefined;
}
