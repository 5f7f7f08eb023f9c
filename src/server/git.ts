import { join } from 'node:path';
import type { Clock } from '../api/clock.ts';
import { present } from '../api/kubernetes.ts';
import {
  type Source,
  sourceIntervalMs,
  sourceRetryIntervalMs,
  sourceTimeoutMs,
} from '../api/source/source.ts';
import type { OpenPoller, OpenRepository, ReadSecret, Repositories } from '../contracts/git.ts';
import type { PollAges } from '../git/poll/context.ts';
import { createGitSource } from '../git/poll/git-source.ts';
import { createReadingJournal, type ReadingJournal } from '../git/poll/reading-journal.ts';
import { type PollSchedule, scheduleProblem } from '../git/poll/schedule.ts';
import { createSourcePoller } from '../git/poll/source-poller.ts';
import { sshSigner } from '../git/sign/ssh-signature.ts';
import type { Verification } from '../git/sign/verifier.ts';
import { createStores, type Stores } from '../git/store/stores.ts';
import { forTenant } from '../http/client.ts';
import type { HttpClient } from '../http/types.ts';
import type { GitAccess } from './git-access.ts';

/** What repositories are opened with. */
interface RepositorySettings {
  readonly client: HttpClient;
  readonly dataDir: string;
  /** Default `limits.gitDiskBytes`. */
  readonly diskBytes?: number | undefined;
  readonly clock: Clock;
  /** Author and committer of what Holdfast commits. */
  readonly identity: { readonly name: string; readonly email: string };
  readonly access: Pick<GitAccess, 'credentials' | 'credentialsFrom'>;
}

/** Opens repositories below the data directory. */
export function createRepositories(settings: RepositorySettings): Repositories {
  const { dataDir, diskBytes, clock } = settings;
  const stores = createStores({ dataDir, diskBytes, clock });
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
    const { rewrite: _, ...reference } = source.spec.ref;
    return createGitSource({
      namespace,
      name,
      stores,
      journal,
      client: forTenant(client, `git ${namespace}`),
      generation: source.metadata.generation,
      url: source.spec.url,
      reference: present(reference),
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

function scheduleOf(source: Source): PollSchedule {
  const { schedule, timeZone } = source.spec;
  if (!schedule) return { kind: 'interval', intervalMs: sourceIntervalMs(source) };
  return timeZone ? { kind: 'cron', expression: schedule, timeZone } : { kind: 'cron', expression: schedule };
}
