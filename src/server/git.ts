import { join } from 'node:path';
import type { Clock } from '../api/clock.ts';
import { present } from '../api/kubernetes.ts';
import { type Source, sourceTimeoutMs } from '../api/source/source.ts';
import type { OpenRepository, ReadSecret, Repositories } from '../contracts/git.ts';
import { createGitSource } from '../git/poll/git-source.ts';
import { createReadingJournal, type ReadingJournal } from '../git/poll/reading-journal.ts';
import { sshSigner } from '../git/sign/ssh-signature.ts';
import { createStores, type Stores } from '../git/store/stores.ts';
import { forTenant } from '../http/client.ts';
import type { HttpClient } from '../http/types.ts';
import type { GitAccess } from './git-access.ts';
import { agesOf } from './schedules.ts';

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

function verificationOf({ metadata, spec }: Source, signers: ReadSecret) {
  const { verify } = spec;
  if (!verify) return undefined;
  return {
    mode: verify.mode ?? ('HEAD' as const),
    secretName: `${metadata.namespace ?? ''}/${verify.secretRef.name}`,
    values: async () => (await signers()) ?? {},
  };
}
