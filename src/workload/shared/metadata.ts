/** Labels and annotations of copies: what is taken over from the original, and what never is. */
import type { KubernetesObject } from '../../api/kubernetes.ts';

/** Keys of other tools' or Holdfast's own bookkeeping, which must not appear on a copy (design section 3). */
const neverCopied: readonly RegExp[] = [
  /toolkit\.fluxcd\.io/,
  /^applyset\.kubernetes\.io\//,
  /^(.+\.)?holdfast\.dev\//,
  /^argocd\.argoproj\.io\//,
  /^meta\.helm\.sh\//,
  /^kubectl\.kubernetes\.io\/last-applied-configuration$/,
  /^deployment\.kubernetes\.io\//,
  /^deprecated\.daemonset\.template\.generation$/,
  /^flagger-id$/,
];

const controllerKeys = /^(deployment\.kubernetes\.io\/|deprecated\.daemonset\.template\.generation$)/;

type StringMap = Readonly<Record<string, string>>;

/** All entries but the bookkeeping of tools. */
export function copyableEntries(entries: StringMap | undefined): Record<string, string> {
  return copiedByPrefix(entries, ['*']);
}

/** The target's annotations without those of the workload controllers, which a manifest exported from a cluster may hold. */
export function withoutBookkeeping(entries: StringMap | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !controllerKeys.test(key)));
}

/**
 * Entries that may be copied and whose key begins with one of the prefixes, in their order; `*` means all (Flagger's --include-label-prefix,
 * default none).
 */
export function copiedByPrefix(
  entries: StringMap | undefined,
  prefixes: readonly string[],
): Record<string, string> {
  const isWanted = (key: string) =>
    prefixes.some((prefix) => prefix === '*' || key.startsWith(prefix)) &&
    !neverCopied.some((pattern) => pattern.test(key));
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => isWanted(key)));
}

/** `true` on a canary's side that no release uses: it counts as one without pods, since there is nothing to scale. */
export const atRestAnnotation = 'holdfast.dev/at-rest';

/** Merge patch that marks a side as at rest or in use; undefined when it is marked so already. */
export function atRestPatch(
  { metadata }: KubernetesObject,
  replicas: number,
): Record<string, unknown> | undefined {
  const wanted = String(replicas === 0);
  if ((metadata.annotations?.[atRestAnnotation] ?? 'false') === wanted) return undefined;
  return { metadata: { annotations: { [atRestAnnotation]: wanted } } };
}
