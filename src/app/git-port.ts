import type { Clock } from '../api/clock.ts';
import { sourceIntervalMs, sourceRetryIntervalMs, sourceTimeoutMs } from '../api/effective.ts';
import type { Source } from '../api/source.ts';
import type { OpenPoller, OpenRepository, ReadSecret } from '../engine/ports/git-port.ts';
import { credentialsFromEnvironment, credentialsFromSecret } from '../git/credentials.ts';
import { createGitSource } from '../git/git-source.ts';
import { type PollSchedule, scheduleProblem } from '../git/schedule.ts';
import type { Verification } from '../git/signatures/verifier.ts';
import { createSourcePoller } from '../git/source-poller.ts';
import { sshSigner } from '../git/ssh-signature.ts';
import type { GitReference } from '../git/types.ts';
import type { HttpClient } from '../http/types.ts';
import type { FileSources } from './source-files.ts';

/** What repositories are opened with. */
export interface RepositorySettings {
  readonly client: HttpClient;
  readonly dataDir: string;
  /** Author and committer of what Holdfast commits. */
  readonly identity: { readonly name: string; readonly email: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The Sources of our own command line. */
  readonly fileSources: FileSources;
}

/**
 * Opens repositories below the data directory. Credentials of the environment go only to the repositories that our own command line
 * names: whoever may write a Source in the cluster must not be able to send them elsewhere.
 */
export function createOpenRepository({
  client,
  dataDir,
  env,
  identity,
  fileSources,
}: RepositorySettings): OpenRepository {
  return (source, { credentials: secret, signers }) => {
    const { name, namespace } = source.metadata;
    return createGitSource({
      id: `${namespace ?? ''}/${name}`,
      url: source.spec.url,
      reference: referenceOf(source),
      dataDir,
      client,
      identity,
      async signer() {
        const key = (await secret())?.signingKey;
        return key && sshSigner(new TextDecoder().decode(key));
      },
      async credentials() {
        const values = await secret();
        if (values)
          return credentialsFromSecret(`${namespace ?? ''}/${source.spec.secretRef?.name ?? ''}`, values);
        return fileSources.trusts(source) ? credentialsFromEnvironment(env) : {};
      },
      verification: verificationOf(source, signers),
      limits: { totalTimeoutMs: sourceTimeoutMs(source) },
    });
  };
}

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
  return Object.fromEntries(Object.entries(reference).filter(([, value]) => value !== undefined));
}

function scheduleOf(source: Source): PollSchedule {
  const { schedule, timeZone } = source.spec;
  if (!schedule) return { kind: 'interval', intervalMs: sourceIntervalMs(source) };
  return timeZone ? { kind: 'cron', expression: schedule, timeZone } : { kind: 'cron', expression: schedule };
}
