/** Names in Git of what belongs to one Canary in one cluster. All parts are DNS names, so they are valid ref names too. */
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

/** Branches of reverts of one Canary begin like this. */
function revertBranchPrefix({ cluster, namespace, canary }: CanaryInCluster): string {
  return `holdfast/${cluster}/${namespace}/${canary}/revert-`;
}

/** The one branch that undoes a digest: whoever finds it makes nothing anew, after a restart and from another cluster of that name too. */
export function revertBranch(where: CanaryInCluster, digest: string): string {
  return `${revertBranchPrefix(where)}${shortDigest(digest)}`;
}

/** Twelve hexadecimal digits of a `v1:` digest. */
function shortDigest(digest: string): string {
  return digest.replace(/^v\d+:/, '').slice(0, 12);
}

/** The line of commit statuses that is this Canary's in this cluster. */
export function statusContext({ cluster, namespace, canary }: CanaryInCluster): string {
  return `holdfast/${cluster}/${namespace}/${canary}`;
}
