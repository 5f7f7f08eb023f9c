import { systemClock } from '../../api/clock.ts';
import { parseSource } from '../../api/kinds/parse.ts';
import { describe, type KubernetesObject, type SecretValues, secretBytes } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import type { GitReference } from '../../git/types.ts';
import { createGitTransport } from '../../git/wire/open-transport.ts';
import { resolveReference } from '../../git/wire/references.ts';
import { DEFAULT_TRANSPORT_LIMITS, type GitTransport } from '../../git/wire/transport.ts';
import type { HttpClient } from '../../http/types.ts';
import { createGitAccess } from '../../server/git-access.ts';
import { type FileSources, rememberFileSources } from '../../server/source-files.ts';
import { bad, type CheckLine, type CheckSection, guarded, ok } from '../../terminal/check-report.ts';
import { checkWriting } from './sources-writing.ts';

/** What asking Git takes. */
interface SourceChecks {
  readonly client: Pick<ClusterClient, 'get'>;
  readonly http: HttpClient;
  /** Only these may get credentials of the environment: anybody could label a Source of the cluster as one of ours. */
  readonly fileSources: FileSources;
  /** Credentials of Sources that were given as files and name no Secret. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The Sources among these objects that can be read, and a line for each other one. */
export function readableSources(objects: readonly KubernetesObject[]): {
  readonly valid: readonly Source[];
  readonly lines: readonly CheckLine[];
} {
  const valid: Source[] = [];
  const lines: CheckLine[] = [];
  for (const object of objects) {
    const parsed = parseSource(object);
    if (parsed.ok) valid.push(parsed.value);
    else {
      const [problem] = parsed.problems;
      const detail = `${problem?.path ?? ''}: ${problem?.message ?? 'cannot be parsed'}`;
      lines.push(bad('failed', describe(object), detail, { actor: 'author', act: 'fix the Source' }));
    }
  }
  return { valid, lines };
}

/** What is said of Git. `given`: the Sources of files. */
export async function gitSection(
  { given, ...checks }: Omit<SourceChecks, 'fileSources'> & { readonly given: readonly Source[] },
  sources: readonly Source[],
): Promise<CheckSection> {
  const lines = await checkSources({ ...checks, fileSources: rememberFileSources(given) }, sources);
  return { title: 'Git', lines };
}

/** Asks each repository for its refs, with the credentials of the Source, and whether what it wants to write may be written. Nothing is fetched or written. */
export async function checkSources(checks: SourceChecks, sources: readonly Source[]): Promise<CheckLine[]> {
  const lines = await Promise.all(
    sources.map((source) => guarded(describe(source), () => checkSource(checks, source))),
  );
  return lines.flat();
}

async function checkSource(checks: SourceChecks, source: Source): Promise<CheckLine[]> {
  const subject = describe(source);
  const values = await secretOf(checks, source, 'secretRef');
  const proxy = await secretOf(checks, source, 'proxySecretRef');
  const missing = [values, proxy].find((found) => typeof found === 'string');
  if (typeof values === 'string' || typeof proxy === 'string')
    return [bad('failed', subject, String(missing), { actor: 'administrator', act: 'create that Secret' })];
  const secrets = { credentials: async () => values, proxy: async () => proxy };
  const { http: client, env, fileSources } = checks;
  const access = createGitAccess({ client, clock: systemClock, env, fileSources });
  const transport = createGitTransport({
    client,
    url: source.spec.url,
    credentials: await access.credentials(source, secrets),
    limits: DEFAULT_TRANSPORT_LIMITS,
    stats: { requests: 0, receivedBytes: 0 },
    address: { movedTo: undefined },
  });
  const reading = await checkReading(source, transport);
  return [
    reading,
    ...(await checkWriting(source, {
      openForge: () => access.openForge(source, secrets),
      transport,
      values,
    })),
  ];
}

async function checkReading(source: Source, transport: GitTransport): Promise<CheckLine> {
  const { url, suspend } = source.spec;
  const subject = describe(source);
  const { rewrite: _, ...given } = source.spec.ref;
  const reference = given as GitReference;
  // Of a fixed commit no server is asked; its default branch shows at least that the repository can be read.
  const resolved = await resolveReference(async () => transport, url, reference.commit ? {} : reference);
  const where = reference.commit
    ? `${url} can be read; commit ${reference.commit.slice(0, 7)} is only looked up by a fetch`
    : `${resolved.refName} of ${url} is at ${resolved.commit.slice(0, 7)}`;
  return suspend
    ? bad('warning', subject, `${where}; it is suspended`, { actor: 'author' })
    : ok(subject, where);
}

/** The Secret's values by key; undefined when the Source names none; a text when it is not there. */
async function secretOf(
  { client }: SourceChecks,
  { metadata, spec }: Source,
  field: 'secretRef' | 'proxySecretRef',
): Promise<SecretValues | string | undefined> {
  const { namespace = 'default' } = metadata;
  const name = spec[field]?.name;
  if (name === undefined) return undefined;
  const secret = await client.get({ apiVersion: 'v1', kind: 'Secret', namespace, name });
  if (!secret) return `Secret ${namespace}/${name}, which spec.${field} names, does not exist`;
  return secretBytes(secret);
}
