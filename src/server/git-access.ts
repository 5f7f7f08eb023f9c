import type { SecretValues } from '../api/kubernetes.ts';
import { isSshAddress } from '../api/source/git-address.ts';
import type { Source } from '../api/source/source.ts';
import type { SourceSecrets } from '../contracts/git.ts';
import { GitError, type GitErrorCode } from '../git/errors.ts';
import {
  credentialsFromEnvironment,
  credentialsFromSecret,
  type GitCredentials,
  proxyFromSecret,
  sshCredentialsFromSecret,
  tlsFromSecret,
} from '../git/wire/credentials.ts';
import { createKeyRing } from '../git/wire/ssh/private-key.ts';
import { ForgeError, type ForgeErrorCode } from '../providers/forges/errors.ts';
import {
  appUser,
  createGithubAppTokens,
  type ForgeSettings,
  gitTokenOf,
} from '../providers/forges/github-app.ts';
import { createOpenForge } from '../providers/forges/open.ts';
import type { ForgeClient, ForgeNetworkSettings } from '../providers/forges/types.ts';
import type { FileSources } from './source-files.ts';

/** What access is made with. */
interface GitAccessSettings {
  readonly client: ForgeSettings['http'];
  readonly clock: ForgeSettings['clock'];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The Sources of `--source` files. */
  readonly fileSources: FileSources;
}

/** The Secrets that say how a Source's Git server is reached. */
type AccessSecrets = Pick<SourceSecrets, 'credentials' | 'proxy'>;

/** Reads the Secrets of a Source for Git and for its forge. One per process, since it caches the tokens of GitHub Apps and opened keys. */
export interface GitAccess {
  /** Reads the Secrets again. Throws GitError, which names Secret and key and no value, and what reading a Secret throws. */
  credentials(source: Source, secrets: AccessSecrets): Promise<GitCredentials>;
  /**
   * The names of the Secrets with the credentials. A user who may create a Source in a namespace may use the Secrets there, so that two Sources of one namespace
   * with the same answer have the same rights, also after a Secret was rotated. Another name is another right, whatever is in it.
   */
  credentialsFrom(source: Source): string;
  /** The forge of the repository, whose requests end when the signal aborts; undefined when its host is unknown. Throws ForgeError or GitError. */
  openForge(source: Source, secrets: AccessSecrets, signal?: AbortSignal): Promise<ForgeClient | undefined>;
}

/**
 * Credentials of the environment are sent only to the repositories of `--source` files: a user who may write a Source in the cluster must
 * not be able to send them elsewhere.
 */
export function createGitAccess({ client: http, clock, env, fileSources }: GitAccessSettings): GitAccess {
  const tokens = createGithubAppTokens();
  const openKey = createKeyRing();
  const open = createOpenForge({ http, clock, tokens });

  return {
    async credentials(source, secrets) {
      const values = await secrets.credentials();
      const way = await wayTo(source, values, secrets);
      if (!values) return { ...way, ...(fileSources.trusts(source) ? credentialsFromEnvironment(env) : {}) };
      const name = secretName(source, 'secretRef');
      if (isSshAddress(source.spec.url))
        return { ...way, ssh: await sshCredentialsFromSecret(name, values, openKey) };
      const given = { ...way, ...credentialsFromSecret(name, values) };
      if (given.auth) return given;
      const token = await asGit(name, () => gitTokenOf(source, { values, way }, { http, clock, tokens }));
      if (token === undefined) return given;
      const auth = { kind: 'basic', username: appUser, password: token } as const;
      return { ...given, auth, refused: () => tokens.drop(token) };
    },
    credentialsFrom(source) {
      const { secretRef, proxySecretRef } = source.spec;
      const environment = !secretRef && fileSources.trusts(source);
      return JSON.stringify([secretRef?.name ?? null, proxySecretRef?.name ?? null, environment]);
    },
    openForge: (source, secrets, signal) =>
      open(
        source,
        async () => {
          const values = await secrets.credentials();
          const own = values ?? (fileSources.trusts(source) ? valuesFromEnvironment(env) : {});
          return { values: own, way: await wayTo(source, values, secrets) };
        },
        signal,
      ),
  };
}

/** As the Secret of a Source would have them. */
function valuesFromEnvironment(env: GitAccessSettings['env']): SecretValues {
  const given = {
    bearerToken: env.HOLDFAST_GIT_TOKEN,
    username: env.HOLDFAST_GIT_USERNAME,
    password: env.HOLDFAST_GIT_PASSWORD,
  };
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, text]) => (text ? [[key, Buffer.from(text)]] : [])),
  );
}

async function wayTo(
  source: Source,
  values: SecretValues | undefined,
  secrets: AccessSecrets,
): Promise<ForgeNetworkSettings> {
  const tls = values && tlsFromSecret(secretName(source, 'secretRef'), values);
  const settings = await secrets.proxy();
  const proxy = settings && proxyFromSecret(secretName(source, 'proxySecretRef'), settings);
  return { ...(tls ? { tls } : {}), ...(proxy === undefined ? {} : { proxy }) };
}

function secretName({ metadata, spec }: Source, field: 'secretRef' | 'proxySecretRef'): string {
  return `${metadata.namespace ?? 'default'}/${spec[field]?.name ?? ''}`;
}

const CODES: Readonly<Record<ForgeErrorCode, GitErrorCode>> = {
  Unauthorized: 'Unauthorized',
  Forbidden: 'Unauthorized',
  NotFound: 'Unauthorized',
  Unavailable: 'Unreachable',
  Invalid: 'Unauthorized',
};

/** Signing in at GitHub is a part of reading Git: its errors are reported as Git's. */
async function asGit<T>(secret: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ForgeError)) throw error;
    throw new GitError(CODES[error.code], `Secret ${secret}: ${error.message}`, error);
  }
}
