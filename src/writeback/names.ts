/** The parts of names in Git that belong to one Canary in one cluster. All are DNS names, so they are valid ref names too. */
export interface CanaryInCluster {
  readonly cluster: string;
  readonly namespace: string;
  readonly canary: string;
}

/** Where the ledger refs of a cluster are. */
export function ledgerPrefix(cluster: string): string {
  return `refs/holdfast/${cluster}/`;
}

/** The ref that keeps the last promoted commit reachable (design section 2.2). */
export function ledgerRef({ cluster, namespace, canary }: CanaryInCluster): string {
  return `${ledgerPrefix(cluster)}${namespace}/${canary}/lkg`;
}

/** The Canary of a ledger ref, as `namespace/name`; undefined for another ref. */
export function canaryOfLedger(cluster: string, ref: string): string | undefined {
  const prefix = ledgerPrefix(cluster);
  const found = ref.startsWith(prefix) ? /^([^/]+\/[^/]+)\/lkg$/.exec(ref.slice(prefix.length)) : null;
  return found?.[1];
}

/**
 * The branch that reverts a digest (twelve of its hexadecimal digits). There is one per digest, also after a restart or with another cluster of
 * the same name.
 */
export function revertBranch({ cluster, namespace, canary }: CanaryInCluster, digest: string): string {
  const shortDigest = digest.replace(/^v\d+:/, '').slice(0, 12);
  return `holdfast/${cluster}/${namespace}/${canary}/revert-${shortDigest}`;
}

/** The context of commit statuses of this Canary in this cluster. */
export function statusContext({ cluster, namespace, canary }: CanaryInCluster): string {
  return `holdfast/${cluster}/${namespace}/${canary}`;
}
