import { systemClock } from '../../api/clock.ts';
import { parseSource } from '../../api/kinds/parse.ts';
import { describe, type KubernetesObject, type SecretValues } from '../../api/kubernetes.ts';
import { isSshAddress } from '../../api/source/git-address.ts';
import type { Source } from '../../api/source/source.ts';
import type { ClusterClient } from '../../cluster/client/client.ts';
import { sshSigner } from '../../git/sign/ssh-signature.ts';
import type { GitReference } from '../../git/types.ts';
import { createGitTransport } from '../../git/wire/open-transport.ts';
import { resolveReference } from '../../git/wire/references.ts';
import { DEFAULT_TRANSPORT_LIMITS, type GitTransport } from '../../git/wire/transport.ts';
import { checkPushRight } from '../../git/write/receive-pack.ts';
import type { HttpClient } from '../../http/types.ts';
import { credentialsOf, forgeValuesOf } from '../../providers/forges/secret.ts';
import type { ForgeClient } from '../../providers/forges/types.ts';
import { createGitAccess } from '../../server/git-access.ts';
import type { FileSources } from '../../server/source-files.ts';
import { bad, type CheckLine, guarded, ok } from '../../terminal/check-report.ts';

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
  const data = Object.entries((secret.data ?? {}) as Record<string, string>);
  return Object.fromEntries(data.map(([key, value]) => [key, Buffer.from(value, 'base64')] as const));
}

/** What asking for rights takes. */
interface WritingChecks {
  readonly openForge: () => Promise<ForgeClient | undefined>;
  readonly transport: GitTransport;
  /** Of the Source's Secret; undefined when it names none. */
  readonly values: SecretValues | undefined;
}

const rights = 'grant the rights that docs/guides/forges.md lists';
/** No branch of this name exists: asking for its pull request shows whether pull requests can be read. */
const unusedBranch = 'holdfast/check';

/** Whether the Source's credentials suffice for what its spec.write asks for. Writes nothing, so that a branch is protected does not show. */
export async function checkWriting(source: Source, checks: WritingChecks): Promise<CheckLine[]> {
  const { ledger = false, revert = 'none', status = false } = source.spec.write ?? {};
  const pushes = ledger || revert !== 'none';
  if (!pushes && !status) return [];
  const lines = await Promise.all([
    ...(pushes ? [checkPush(source, checks), checkSigningKey(source, checks)] : []),
    status || revert !== 'none' ? checkForge(source, checks) : checkUser(source, checks),
  ]);
  return lines.flat();
}

function checkPush(source: Source, { transport }: WritingChecks): Promise<readonly CheckLine[]> {
  const subject = `${describe(source)}, push`;
  const { ref, url, write } = source.spec;
  if ((write?.revert ?? 'none') !== 'none' && !ref.branch) {
    const detail = 'spec.write.revert needs spec.ref.branch: a tag or a fixed commit cannot be pushed to';
    return Promise.resolve([bad('failed', subject, detail, { actor: 'author', act: 'fix the Source' })]);
  }
  return guarded(subject, async () => {
    await checkPushRight(url, transport);
    return [ok(subject, `the credentials may push to ${url}; branch protection is only checked by a push`)];
  });
}

function checkSigningKey(source: Source, { values }: WritingChecks): Promise<readonly CheckLine[]> {
  const subject = `${describe(source)}, signingKey`;
  const key = values?.signingKey;
  if (!key) return Promise.resolve([]);
  return guarded(subject, async () => {
    sshSigner(new TextDecoder().decode(key));
    return [ok(subject, 'the key can sign')];
  });
}

function checkForge(
  source: Source,
  { openForge, values = {} }: WritingChecks,
): Promise<readonly CheckLine[]> {
  const subject = `${describe(source)}, forge`;
  return guarded(subject, async () => {
    const forge = await openForge();
    if (!forge) {
      const { url, write } = source.spec;
      const isSsh = isSshAddress(url);
      const detail = isSsh
        ? 'the Secret of an SSH address has no credentials for a forge'
        : `${new URL(url).host} is not a known forge`;
      const act = isSsh ? 'add forgeToken to the Secret' : 'set the key forge in the Secret if it is one';
      const todo = { actor: 'author', act } as const;
      return write?.status
        ? [bad('failed', subject, `${detail}, and spec.write.status needs one`, todo)]
        : [bad('warning', subject, `${detail}: for a revert, only the branch is pushed`, todo)];
    }
    if (credentialsOf(forgeValuesOf(source, values)).kind === 'none') {
      const detail = `the Secret of spec.secretRef has no credentials for ${forge.kind}`;
      return [bad('failed', subject, detail, { actor: 'administrator', act: rights })];
    }
    return [await checkToken(source, subject, forge)];
  });
}

/** For a push alone no forge is needed, but it may know better: Gitea lets readers begin a push, and refuses it later. */
async function checkUser(
  source: Source,
  { openForge, values = {} }: WritingChecks,
): Promise<readonly CheckLine[]> {
  const subject = `${describe(source)}, forge`;
  if (credentialsOf(forgeValuesOf(source, values)).kind === 'none') return [];
  try {
    const forge = await openForge();
    return forge && (await forge.mayWrite()) === false ? [readOnly(subject, forge)] : [];
  } catch {
    return [];
  }
}

function readOnly(subject: string, forge: ForgeClient): CheckLine {
  const detail = `${forge.kind} accepts the credentials, but they are read-only`;
  return bad('failed', subject, detail, { actor: 'administrator', act: rights });
}

async function checkToken({ spec }: Source, subject: string, forge: ForgeClient): Promise<CheckLine> {
  const may = await forge.mayWrite();
  if (may === false) return readOnly(subject, forge);
  if ((spec.write?.revert ?? 'none') !== 'none') await forge.findPullRequest(unusedBranch);
  const words = may
    ? 'the user may write to the repository'
    : 'it does not report whether the user may write';
  return ok(
    subject,
    `${forge.kind} accepts the credentials, and ${words}; token scopes are only checked by a write`,
  );
}
