/** What the cluster holds of the config a release names. */
import type { Canary } from '../../api/canary.ts';
import { canaryLabel, ownLabels } from '../../api/generated-metadata.ts';
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Release } from '../../release/release.ts';
import { configKey } from '../../workload/configs.ts';
import { copyName } from '../../workload/names.ts';
import type { Cluster } from '../ports/ports.ts';

/** Config that is not in Git, as it is in the cluster now: a revert keeps its newest data (design section 3). */
export async function readLiveConfigs(
  cluster: Pick<Cluster, 'get'>,
  namespace: string,
  release: Release,
): Promise<KubernetesObject[]> {
  const found = await Promise.all(
    release.liveConfigs.map(({ kind, name }) => cluster.get({ apiVersion: 'v1', kind, namespace, name })),
  );
  return found.filter((object) => object !== undefined);
}

/** Keys of all configs that a release names. */
export function configKeys(release: Release): string[] {
  return configsOf(release).map(({ kind, name }) => configKey(kind, name));
}

/**
 * Configs whose copy of the usual name belongs to another Canary already. Git may not have been read yet, so that nobody knows who else
 * tracks them: the copy itself tells, and is not written over (design section 5, Scope).
 */
export async function copiesOfOthers(
  cluster: Pick<Cluster, 'get'>,
  canary: Canary,
  release: Release,
): Promise<Set<string>> {
  const namespace = canary.metadata.namespace ?? '';
  const own = ownLabels(canary)[canaryLabel];
  const taken = await Promise.all(
    configsOf(release).map(async ({ kind, name }) => {
      const reference = { apiVersion: 'v1', kind, namespace, name: copyName(canary, name, false) };
      const owner = (await cluster.get(reference))?.metadata.labels?.[canaryLabel];
      return owner !== undefined && owner !== own ? [configKey(kind, name)] : [];
    }),
  );
  return new Set(taken.flat());
}

function configsOf({ configs, liveConfigs }: Release): Array<{ kind: string; name: string }> {
  return [...configs.map(({ kind, metadata }) => ({ kind, name: metadata.name })), ...liveConfigs];
}
