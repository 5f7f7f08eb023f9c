/** How commands read the Git repositories of the Sources of a cluster. */
import { systemClock } from '../../api/clock.ts';
import { secretsOf } from '../../engine/sync/poll/source-object.ts';
import type { ProgramPaths } from '../../render/build/programs.ts';
import type { SourceReading } from '../../review/diff/effective-set.ts';
import { createClusterPort } from '../../server/cluster.ts';
import type { Connection } from '../../server/connection.ts';
import { createRepositories } from '../../server/git.ts';
import { createGitAccess } from '../../server/git-access.ts';
import { rememberFileSources } from '../../server/source-files.ts';
import { outboundClient } from '../outbound.ts';

/** Reads Sources with the Secrets that they name, and closes the connections to Git again. Throws what the work throws. */
export async function withGit<T>(
  { access, client }: Connection,
  { version, programs }: { readonly version: string; readonly programs: ProgramPaths },
  work: (reading: SourceReading) => Promise<T>,
): Promise<T> {
  const http = outboundClient(access.server, version);
  const cluster = createClusterPort(client);
  // Credentials of the environment are for Sources of files alone, and these are the cluster's.
  const noCredentials = { env: {}, fileSources: rememberFileSources([]) };
  const gitAccess = createGitAccess({ client: http, clock: systemClock, ...noCredentials });
  const openRepository: SourceReading['openRepository'] = (source, folder) => {
    const { open } = createRepositories({
      client: http,
      clock: systemClock,
      dataDir: folder,
      access: gitAccess,
      identity: { name: 'holdfast', email: 'holdfast@localhost' },
    });
    // The controller has verified the signature of the commit that is read; who compares need not be allowed to read the signers.
    const { verify: _, ...spec } = source.spec;
    return open({ ...source, spec }, secretsOf({ cluster }, source));
  };
  try {
    return await work({ openRepository, programs });
  } finally {
    await http.close();
  }
}
