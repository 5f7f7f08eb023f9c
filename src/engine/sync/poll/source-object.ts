/** A Source as the cluster has it: read, checked, and with its repository and Secrets. */
import { parseSource } from '../../../api/kinds/parse.ts';
import { type KubernetesObject, secretBytes } from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import { checkSource } from '../../../api/source/validate.ts';
import type { ReadSecret, Repositories, Repository, SourceSecrets } from '../../../contracts/git.ts';
import { EngineError, failureOf } from '../../failure.ts';
import { windowProblems } from '../../windows.ts';
import type { SourceParts, SyncProblem } from '../context/context.ts';

const parsed = new WeakMap<KubernetesObject, Source | undefined>();

/** The Source as the cluster has it now; undefined while it is gone or cannot be read. */
export function currentSource(
  parts: { readonly source: (key: string) => KubernetesObject | undefined },
  key: string,
): Source | undefined {
  const live = parts.source(key);
  if (!live) return undefined;
  // Each poll asks, and a Source that changed is another object.
  if (!parsed.has(live)) {
    const result = parseSource(live);
    parsed.set(live, result.ok ? result.value : undefined);
  }
  return parsed.get(live);
}

/** The Secrets of a Source, read when they are needed and kept nowhere. Reading throws EngineError SecretNotFound. */
export function secretsOf(
  { cluster }: Pick<SourceParts, 'cluster'>,
  { spec, metadata }: Source,
): SourceSecrets {
  const namespace = metadata.namespace ?? '';
  const reader = (field: string, name: string | undefined): ReadSecret => {
    return async () => {
      if (name === undefined) return undefined;
      const secret = await cluster.get({ apiVersion: 'v1', kind: 'Secret', namespace, name });
      if (!secret)
        throw new EngineError('SecretNotFound', `${field}: there is no Secret ${namespace}/${name}`, true);
      return secretBytes(secret);
    };
  };
  return {
    credentials: reader('spec.secretRef', spec.secretRef?.name),
    signers: reader('spec.verify.secretRef', spec.verify?.secretRef.name),
    proxy: reader('spec.proxySecretRef', spec.proxySecretRef?.name),
  };
}

/** A Source that can be followed, or why it cannot. */
interface OpenedSource {
  readonly source: Source | undefined;
  readonly repository: Repository;
  readonly problem: SyncProblem | undefined;
}

/** Reads a Source from its object and opens its repository. */
export function openSource(
  parts: Pick<SourceParts, 'clock' | 'cluster' | 'rights'> & { readonly repositories: Repositories },
  object: KubernetesObject,
): OpenedSource {
  const textOf = (problems: ReadonlyArray<{ path: string; message: string }>) =>
    problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
  const parsed = parseSource(object);
  if (!parsed.ok)
    return { source: undefined, repository: noRepository, problem: invalidSpec(textOf(parsed.problems)) };
  const source = parsed.value;
  const problems = [
    ...checkSource(source, { forbidsOtherNamespaces: !parts.rights.crossNamespaceRefs }).problems,
    ...windowProblems(source.spec.windows, parts.clock.nowMs()),
  ];
  try {
    // Also where it cannot be followed as it is: what it uses of a store stays there meanwhile.
    const repository = parts.repositories.open(source, secretsOf(parts, source));
    if (problems.length > 0)
      return { source, repository: noRepository, problem: invalidSpec(textOf(problems)) };
    return { source, repository, problem: undefined };
  } catch (error) {
    return {
      source,
      repository: noRepository,
      problem: invalidSpec(`spec.url: ${failureOf(error).message}`),
    };
  }
}

/** The problem of a Source that only its author can end. */
export function invalidSpec(message: string): SyncProblem {
  return { condition: 'Ready', reason: 'InvalidSpec', message };
}

/** In the place of a repository that could not be opened; nothing polls it. */
const noRepository: Repository = {
  poll: refuse,
  treeOidAt: refuse,
  readFiles: refuse,
  readCommit: refuse,
  isDescendant: refuse,
  entriesAt: refuse,
  rendering: refuse,
  keep: () => undefined,
  expectNews: () => undefined,
  onNews: () => () => undefined,
  listRefs: refuse,
  moveRef: refuse,
  commitFiles: refuse,
  isExactly: refuse,
  readPaths: refuse,
  changesOf: refuse,
};

async function refuse(): Promise<never> {
  throw new EngineError('InvalidSpec', 'the Source cannot be followed as it is');
}
