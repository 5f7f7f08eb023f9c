/** Labels and annotations of copies: what is taken over from the original, and what never is. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { WorkloadView } from '../../health/workload-view.ts';
import { digestAnnotation, settingsAnnotation } from './names.ts';

/** Keys that belong to another tool's bookkeeping, or to ours, and must not appear on a copy (design section 3). */
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
  return pick(entries, () => true);
}

/** The target's annotations without those of the workload controllers: one that was exported from a cluster would fight with them. */
export function withoutBookkeeping(entries: StringMap | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !controllerKeys.test(key)));
}

/** Entries whose key begins with one of the prefixes; `*` means all (Flagger's --include-label-prefix, default none). */
export function copiedByPrefix(
  entries: StringMap | undefined,
  prefixes: readonly string[],
): Record<string, string> {
  return pick(entries, (key) => prefixes.some((prefix) => prefix === '*' || key.startsWith(prefix)));
}

/** The entries with a key that reaches no pod template and no copy taken out, in their order. */
function pick(entries: StringMap | undefined, wanted: (key: string) => boolean): Record<string, string> {
  return Object.fromEntries(
    Object.entries(entries ?? {}).filter(
      ([key]) => wanted(key) && !neverCopied.some((pattern) => pattern.test(key)),
    ),
  );
}

/** Which object a view is of, and what it was written from. */
type Identity = Pick<WorkloadView, 'name' | 'uid' | 'resourceVersion' | 'digest' | 'settingsKey'>;

/** The identity of a workload, for its view. */
export function identityOf({ metadata }: KubernetesObject): Identity {
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    digest: metadata.annotations?.[digestAnnotation],
    settingsKey: metadata.annotations?.[settingsAnnotation],
  };
}
