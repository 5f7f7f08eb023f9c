import { describe } from '../api/kubernetes.ts';
import type { Source } from '../api/source.ts';
import type { FileSources } from '../app/source-files.ts';
import type { ClusterClient } from '../cluster/client.ts';
import {
  credentialsFromEnvironment,
  credentialsFromSecret,
  type GitCredentials,
} from '../git/credentials.ts';
import { resolveReference } from '../git/references.ts';
import { createGitTransport, DEFAULT_TRANSPORT_LIMITS } from '../git/transport.ts';
import type { GitReference } from '../git/types.ts';
import type { HttpClient } from '../http/types.ts';
import { bad, type CheckLine, guarded, ok } from './check-report.ts';

/** What asking Git takes. */
export interface SourceChecks {
  readonly client: Pick<ClusterClient, 'get'>;
  readonly http: HttpClient;
  /** Only these may get credentials of the environment: anybody could label a Source of the cluster as one of ours. */
  readonly fileSources: FileSources;
  /** Credentials of Sources that were given as files and name no Secret. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Asks each repository for its refs, with the credentials of the Source; nothing is fetched. */
export async function checkSources(checks: SourceChecks, sources: readonly Source[]): Promise<CheckLine[]> {
  const lines = await Promise.all(
    sources.map((source) => guarded(describe(source), async () => [await checkOne(checks, source)])),
  );
  return lines.flat();
}

async function checkOne(checks: SourceChecks, source: Source): Promise<CheckLine> {
  const { url, suspend } = source.spec;
  const subject = describe(source);
  const credentials = await credentialsOf(checks, source);
  if (typeof credentials === 'string')
    return bad('failed', subject, credentials, { actor: 'administrator', act: 'create that Secret' });
  const { rewrite: _, ...given } = source.spec.ref;
  const reference = given as GitReference;
  const transport = async () =>
    createGitTransport({
      client: checks.http,
      url,
      credentials,
      limits: DEFAULT_TRANSPORT_LIMITS,
      stats: { requests: 0, receivedBytes: 0 },
      address: { movedTo: undefined },
    });
  // Of a fixed commit no server is asked; its default branch shows at least that the repository can be read.
  const resolved = await resolveReference(transport, url, reference.commit ? {} : reference);
  const where = reference.commit
    ? `${url} can be read; whether it has commit ${reference.commit.slice(0, 7)} shows when it is fetched`
    : `${resolved.refName} of ${url} is at ${resolved.commit.slice(0, 7)}`;
  return suspend
    ? bad('warning', subject, `${where}; it is suspended`, { actor: 'author' })
    : ok(subject, where);
}

async function credentialsOf(
  { client, env, fileSources }: SourceChecks,
  source: Source,
): Promise<GitCredentials | string> {
  const { metadata, spec } = source;
  if (!spec.secretRef) return fileSources.trusts(source) ? credentialsFromEnvironment(env) : {};
  const { namespace = 'default' } = metadata;
  const { name } = spec.secretRef;
  const secret = await client.get({ apiVersion: 'v1', kind: 'Secret', namespace, name });
  if (!secret) return `Secret ${namespace}/${name}, which spec.secretRef names, does not exist`;
  const data = Object.entries((secret.data ?? {}) as Record<string, string>);
  const values = data.map(([key, value]) => [key, Buffer.from(value, 'base64')] as const);
  return credentialsFromSecret(`${namespace}/${name}`, Object.fromEntries(values));
}
