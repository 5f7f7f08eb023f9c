import { join } from 'node:path';
import type { Clock } from '../api/clock.ts';
import { present, type SecretValues } from '../api/kubernetes.ts';
import {
  type Source,
  sourceIntervalMs,
  sourceRetryIntervalMs,
  sourceTimeoutMs,
} from '../api/source/source.ts';
import type {
  OpenPoller,
  OpenRepository,
  ReadSecret,
  Repositories,
  SourceSecrets,
} from '../contracts/git.ts';
import { GitError, type GitErrorCode } from '../git/errors.ts';
import type { PollAges } from '../git/poll/context.ts';
import { createGitSource } from '../git/poll/git-source.ts';
import { createReadingJournal, type ReadingJournal } from '../git/poll/reading-journal.ts';
import { type PollSchedule, scheduleProblem } from '../git/poll/schedule.ts';
import { createSourcePoller } from '../git/poll/source-poller.ts';
import { sshSigner } from '../git/sign/ssh-signature.ts';
import type { Verification } from '../git/sign/verifier.ts';
import { createStores, type Stores } from '../git/store/stores.ts';
import type { GitReference } from '../git/types.ts';
import {
  credentialsFromEnvironment,
  credentialsFromSecret,
  type GitCredentials,
  proxyFromSecret,
  tlsFromSecret,
} from '../git/wire/credentials.ts';
import { forTenant } from '../http/client.ts';
import type { HttpClient } from '../http/types.ts';
import { ForgeError, type ForgeErrorCode } from '../providers/forges/errors.ts';
import { github } from '../providers/forges/github.ts';
import { createGithubAppTokens } from '../providers/forges/github-app.ts';
import { createOpenForge } from '../providers/forges/open.ts';
import { githubAppOf } from '../providers/forges/secret.ts';
import type { ForgeNetworkSettings } from '../providers/forges/send.ts';
import type { ForgeClient, GithubApp } from '../providers/forges/types.ts';
import type { FileSources } from './source-files.ts';

/** What repositories are opened with. */
interface RepositorySettings {
  readonly client: HttpClient;
  readonly dataDir: string;
  readonly clock: Clock;
  /** Author and committer of what Holdfast commits. */
  readonly identity: { readonly name: string; readonly email: string };
  readonly access: Pick<GitAccess, 'credentials' | 'credentialsFrom'>;
}

/** Opens repositories below the data directory. */
export function createRepositories(settings: RepositorySettings): Repositories {
  const { dataDir, clock } = settings;
  const stores = createStores({ dataDir, clock });
  const journal = createReadingJournal(join(dataDir, 'reading'), clock);
  return {
    open: opener(settings, stores, journal),
    forget: stores.forget,
    usage: stores.usage,
    sweep: stores.sweep,
  };
}

function opener(
  { access, client, identity }: RepositorySettings,
  stores: Stores,
  journal: ReadingJournal,
): OpenRepository {
  return (source, secrets) => {
    const { name, namespace = '' } = source.metadata;
    return createGitSource({
      ...{ namespace, name, stores, journal, client: forTenant(client, `git ${namespace}`) },
      generation: source.metadata.generation,
      url: source.spec.url,
      reference: referenceOf(source),
      credentialsFrom: access.credentialsFrom(source),
      ages: agesOf(source),
      identity,
      async signer() {
        const key = (await secrets.credentials())?.signingKey;
        return key && sshSigner(new TextDecoder().decode(key));
      },
      credentials: () => access.credentials(source, secrets),
      verification: verificationOf(source, secrets.signers),
      limits: { totalTimeoutMs: sourceTimeoutMs(source) },
    });
  };
}

/** A Source that polls every 30 s reuses an answer that another one got up to 25 s ago: its own polls come up to a tenth early. */
function agesOf(source: Source): PollAges {
  const { spec } = source;
  const intervalMs = spec.schedule === undefined ? sourceIntervalMs(source) : scheduledAgeMs;
  return { ...retriesOf(source), maxAgeMs: 0.85 * intervalMs };
}

/** A schedule says when to look; only those who look at the same time share the answer. */
const scheduledAgeMs = 1_000;

function verificationOf({ metadata, spec }: Source, signers: ReadSecret): Verification | undefined {
  const { verify } = spec;
  if (!verify) return undefined;
  return {
    mode: verify.mode ?? 'HEAD',
    secretName: `${metadata.namespace ?? ''}/${verify.secretRef.name}`,
    values: async () => (await signers()) ?? {},
  };
}

/** Makes pollers on the clock. */
export function createOpenPoller(clock: Clock, random: () => number): OpenPoller {
  return (source, poll) => {
    const schedule = scheduleOf(source);
    const problem =
      schedule.kind === 'cron'
        ? scheduleProblem(schedule.expression, schedule.timeZone, clock.nowMs())
        : undefined;
    if (problem) throw new RangeError(problem);
    const { retryMs, maxRetryMs } = retriesOf(source);
    return createSourcePoller({
      clock,
      random,
      schedule,
      poll,
      retryMs,
      maxRetryMs,
    });
  };
}

/** A given retryInterval is kept as it is; without one, retries come sooner than polls at first, and then ever later. */
function retriesOf(source: Source): { retryMs: number; maxRetryMs: number } {
  const intervalMs = sourceRetryIntervalMs(source);
  if (source.spec.retryInterval !== undefined) return { retryMs: intervalMs, maxRetryMs: intervalMs };
  return { retryMs: Math.min(5_000, intervalMs), maxRetryMs: Math.max(60_000, intervalMs) };
}

function referenceOf({ spec }: Source): GitReference {
  const { rewrite: _, ...reference } = spec.ref;
  return present(reference);
}

function scheduleOf(source: Source): PollSchedule {
  const { schedule, timeZone } = source.spec;
  if (!schedule) return { kind: 'interval', intervalMs: sourceIntervalMs(source) };
  return timeZone ? { kind: 'cron', expression: schedule, timeZone } : { kind: 'cron', expression: schedule };
}

/** What access is made with. */
interface GitAccessSettings {
  readonly client: HttpClient;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The Sources of our own command line. */
  readonly fileSources: FileSources;
}

/** The Secrets that say how a Source's Git server is reached. */
type AccessSecrets = Pick<SourceSecrets, 'credentials' | 'proxy'>;

/** What the Secrets of a Source mean for Git and for its forge. One per process: the tokens of GitHub Apps are kept in it. */
export interface GitAccess {
  /** Reads the Secrets anew. Throws GitError, which names Secret and key and no value, and what reading a Secret throws. */
  credentials(source: Source, secrets: AccessSecrets): Promise<GitCredentials>;
  /**
   * Where they come from, by name. Whoever may make a Source in a namespace may use the Secrets there, so that two Sources of one namespace
   * with the same answer have the same rights, also after a Secret was rotated. Another name is another right, whatever is in it.
   */
  credentialsFrom(source: Source): string;
  /** The forge of the repository; undefined when its host is none we know. Throws ForgeError or GitError. */
  openForge(source: Source, secrets: AccessSecrets): Promise<ForgeClient | undefined>;
}

/**
 * Credentials of the environment go only to the repositories that our own command line names: whoever may write a Source in the cluster
 * must not be able to send them elsewhere.
 */
export function createGitAccess({ client, clock, env, fileSources }: GitAccessSettings): GitAccess {
  const tokens = createGithubAppTokens();
  const open = createOpenForge({ http: client, clock, tokens });

  /** The token of an App goes to Git as GitHub's documentation of Apps says: as the password of this user. */
  async function signIn(source: Source, app: GithubApp, way: ForgeNetworkSettings): Promise<GitCredentials> {
    const url = new URL(source.spec.url);
    const { api } = github.place(url, url.pathname);
    const connection = {
      ...{ http: client, way, nowMs: () => clock.nowMs() },
      api: app.api ?? api,
      headers: github.headers,
      where: `github ${new URL(app.api ?? api).host}`,
    };
    const token = await tokens.of(app, connection);
    return {
      auth: { kind: 'basic', username: 'x-access-token', password: token },
      refused: () => tokens.drop(token),
    };
  }

  return {
    async credentials(source, secrets) {
      const values = await secrets.credentials();
      const way = await wayTo(source, values, secrets);
      if (!values) return { ...way, ...(fileSources.trusts(source) ? credentialsFromEnvironment(env) : {}) };
      const name = secretName(source, 'secretRef');
      const given = { ...way, ...credentialsFromSecret(name, values) };
      if (given.auth) return given;
      return asGit(name, async () => {
        const app = githubAppOf(values);
        return app ? { ...given, ...(await signIn(source, app, way)) } : given;
      });
    },
    credentialsFrom(source) {
      const { secretRef, proxySecretRef } = source.spec;
      const environment = !secretRef && fileSources.trusts(source);
      return JSON.stringify([secretRef?.name ?? null, proxySecretRef?.name ?? null, environment]);
    },
    openForge: (source, secrets) =>
      open(source, async () => {
        const values = await secrets.credentials();
        return { values: values ?? {}, way: await wayTo(source, values, secrets) };
      }),
  };
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
