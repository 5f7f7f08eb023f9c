/** Tracked ConfigMaps and Secrets that no Source holds: their content in the cluster is part of the release (design section 3). */
import type { Canary } from '../../../api/canary/canary.ts';
import { livePart } from '../../../api/commit.ts';
import {
  hasOwnLabels,
  isGenerated,
  type KubernetesObject,
  namespacedName,
  partOfLabel,
} from '../../../api/kubernetes.ts';
import { limits } from '../../../api/limits.ts';
import { inMebibytes } from '../../../api/slots.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { configKeyOf } from '../../../release/digest.ts';
import {
  type ConfigReference,
  isFollowed,
  isTracked,
  type Release,
  withLivePart,
} from '../../../release/release.ts';
import { untrackedIn } from '../../../workload/expected-copies.ts';
import { configKey, configKeysIn } from '../../../workload/shared/configs.ts';
import { copyName } from '../../../workload/shared/metadata.ts';
import { EngineError } from '../../failure.ts';
import type { Head, Heads } from './heads.ts';
import type { NamespaceView } from './namespace-view.ts';
import type { LiveHeads } from './observation.ts';

type LiveConfig = Pick<LiveHeads, 'withLiveConfig' | 'names' | 'forget'>;

interface Known {
  readonly git: Head;
  readonly versions: string;
  readonly head: Head;
}

/** Adds the content of config that is not in Git to heads; has read nothing yet. `secretKey`: the cluster's HMAC key. */
export function createLiveConfig(cluster: Pick<Cluster, 'get'>, secretKey: Uint8Array): LiveConfig {
  const memory = new Map<string, Known>();

  async function read(release: Release, namespace: string): Promise<Release> {
    const found = await readConfigs(cluster, namespace, release.liveConfigs);
    const tracked = found.filter((config) => isTracked(config) && !isFollowed(config));
    return withLivePart(release, configKeyOf(tracked, secretKey));
  }

  return {
    async withLiveConfig(canaryKey, git, view) {
      const releases = [git.release, git.ledger].filter((release) => release !== undefined);
      const named = releases.flatMap(({ liveConfigs }) => liveConfigs);
      if (named.length === 0) {
        memory.delete(canaryKey);
        return git;
      }
      const found = named.map(({ kind, name }) => view.configVersion(kind, name));
      if (found.includes(undefined)) return undefined;
      const versions = JSON.stringify(found);
      const before = memory.get(canaryKey);
      if (before?.git === git && before.versions === versions) return before.head;
      const head = await overlaid(git, (release) => read(release, view.namespace));
      memory.set(canaryKey, { git, versions, head });
      return head;
    },
    names(canaryKey, { kind, metadata }) {
      const { release, ledger } = memory.get(canaryKey)?.git ?? {};
      const named = [...(release?.liveConfigs ?? []), ...(ledger?.liveConfigs ?? [])];
      return named.some((config) => config.kind === kind && config.name === metadata.name);
    },
    forget: (canaryKey) => void memory.delete(canaryKey),
  };
}

async function overlaid(git: Head, read: (release: Release) => Promise<Release>): Promise<Head> {
  const { view } = git;
  if (view.kind !== 'release' || !git.release) return git;
  const release = await read(git.release);
  const ledger = git.ledger && (await read(git.ledger));
  const named = { ...view, release: { ...view.release, digest: release.digest } };
  if (!ledger || !view.ledger) return { ...git, view: named, release };
  return { ...git, view: { ...named, ledger: { ...view.ledger, digest: ledger.digest } }, release, ledger };
}

/** Objects that are read at a time: what comes beyond the limit is held, too. */
const readAtATime = 8;

/**
 * ConfigMaps and Secrets as they are in the cluster now, as far as they exist. Throws EngineError RecordTooLarge: a template may name thousands, each of a
 * mebibyte, and several Canaries are looked at together.
 */
export async function readConfigs(
  cluster: Pick<Cluster, 'get'>,
  namespace: string,
  named: ReadonlyArray<Pick<ConfigReference, 'kind' | 'name'>>,
): Promise<KubernetesObject[]> {
  const found: KubernetesObject[] = [];
  let bytes = 0;
  for (let next = 0; next < named.length; next += readAtATime) {
    const some = named.slice(next, next + readAtATime);
    const read = await Promise.all(
      some.map(({ kind, name }) => cluster.get({ apiVersion: 'v1', kind, namespace, name })),
    );
    found.push(...read.filter((object) => object !== undefined));
    for (const object of read) bytes += JSON.stringify(object ?? '').length;
    if (bytes > limits.liveConfigBytes)
      throw new EngineError(
        'RecordTooLarge',
        `the ConfigMaps and Secrets that the pods name have more than ${inMebibytes(limits.liveConfigBytes)}; remove large ones from the pod template`,
      );
  }
  return found;
}

/**
 * The config outside Git that a primary of this release gets: a revert keeps its newest data (design section 3). What is optional counts only where the release was tested with config outside Git, or where
 * it belongs to no release: else it came later, maybe with the very commit that is reverted.
 */
export async function liveConfigsForPrimary(
  cluster: Pick<Cluster, 'get'>,
  namespace: string,
  release: Release,
): Promise<KubernetesObject[]> {
  const found = await readConfigs(cluster, namespace, release.liveConfigs);
  if (livePart(release.digest) !== undefined) return found;
  const optional = new Set(
    release.liveConfigs.flatMap((config) => (config.optional ? [configKey(config.kind, config.name)] : [])),
  );
  return found.filter((config) => {
    const isOfReleases = isTracked(config) && !isFollowed(config);
    return !isOfReleases || !optional.has(configKey(config.kind, config.metadata.name));
  });
}

/** Configs that another Canary of the namespace tracks too: their copies carry the target's name (design section 5). */
export async function sharedConfigs(
  { cluster, heads }: { readonly cluster: Pick<Cluster, 'get'>; readonly heads: Pick<Heads, 'releasesIn'> },
  canary: Canary,
  release: Release,
): Promise<Set<string>> {
  const keysOf = (one: Release) => configsOf(one).map(({ kind, name }) => configKey(kind, name));
  const others = [...heads.releasesIn(canary.metadata.namespace ?? '')].filter(
    ([key]) => key !== namespacedName(canary),
  );
  const elsewhere = new Set(others.flatMap(([, other]) => keysOf(other)));
  const taken = await copiesOfOthers(cluster, canary, release);
  return new Set(keysOf(release).filter((key) => elsewhere.has(key) || taken.has(key)));
}

/**
 * Configs whose copy of the usual name would be written over an object of others: the copy of another Canary, which Git may not have shown yet, or
 * one that has this name by chance, as Secret `db-primary` beside `db`. Neither is overwritten (design section 5, Scope).
 */
export async function copiesOfOthers(
  cluster: Pick<Cluster, 'get'>,
  canary: Canary,
  release: Release,
): Promise<Set<string>> {
  const namespace = canary.metadata.namespace ?? '';
  const isOwn = (copy: KubernetesObject) =>
    isGenerated(copy, canary) ||
    (hasOwnLabels(copy, canary) && copy.metadata.labels?.[partOfLabel] === undefined);
  const taken = await Promise.all(
    configsOf(release).map(async ({ kind, name }) => {
      const reference = { apiVersion: 'v1', kind, namespace, name: copyName(canary, name, false) };
      const live = await cluster.get(reference);
      return live && !isOwn(live) ? [configKey(kind, name)] : [];
    }),
  );
  return new Set(taken.flat());
}

/**
 * Keys of config outside Git that is not tracked, as far as the primary and its copies tell. Only the object itself says so for sure, and it
 * may have been deleted: then the primary would name a copy for good, and would not start when the object is back.
 */
export function untrackedConfigs(
  { canary, view }: { readonly canary: Canary; readonly view: NamespaceView },
  primary: KubernetesObject,
  release: Release,
): Set<string> {
  const named = configKeysIn(primary);
  const neverCopied = release.liveConfigs.filter(({ kind, name, optional }) => {
    const copies = [true, false].map((shared) => copyName(canary, name, shared));
    return (
      !optional && copies.every((copy) => !named.has(configKey(kind, copy)) && !view.configCopy(kind, copy))
    );
  });
  const keys = neverCopied.map(({ kind, name }) => configKey(kind, name));
  return new Set([...untrackedIn(primary, { canary, release }), ...keys]);
}

function configsOf({ configs, liveConfigs }: Release): Array<{ kind: string; name: string }> {
  return [...configs.map(({ kind, metadata }) => ({ kind, name: metadata.name })), ...liveConfigs];
}
