/** How an installed Flagger is found in a cluster. */
import { type KubernetesObject, listOf } from './kubernetes.ts';

/** Labels of Flagger's own chart and of its kustomize base. */
export const flaggerSelectors = ['app.kubernetes.io/name=flagger', 'app=flagger'] as const;

/** The Lease that Flagger renews where its leader election is on. */
export const flaggerLease = 'flagger-leader-election';

/** Whether this Deployment of Flagger has available pods. */
export function isAvailable({ status }: KubernetesObject): boolean {
  return ((status as { availableReplicas?: number } | undefined)?.availableReplicas ?? 0) > 0;
}

/** The one namespace whose Canaries this Flagger reconciles (its flag `-namespace`); undefined: those of all. */
export function watchedNamespace({ spec }: KubernetesObject): string | undefined {
  const { containers = [] } =
    (spec as { template?: { spec?: { containers?: ReadonlyArray<{ command?: unknown; args?: unknown }> } } })
      ?.template?.spec ?? {};
  const words = containers
    .flatMap(({ command, args }) => [command, args])
    .flatMap(listOf)
    .filter((word) => typeof word === 'string');
  const at = words.findIndex((word) => /^--?namespace(=|$)/.test(word));
  const word = words[at];
  if (word === undefined) return undefined;
  return (word.includes('=') ? word.slice(word.indexOf('=') + 1) : words[at + 1]) || undefined;
}

/** The finalizer's name, Flagger's own: either program can finish what the other began. */
export const finalizer = 'finalizer.flagger.app';

/** Whether an object has the finalizer. */
export function hasFinalizer({ metadata }: KubernetesObject): boolean {
  return metadata.finalizers?.includes(finalizer) === true;
}

/** Whether a Canary is being deleted and waits for the finalizer. */
export function awaitsFinalizer(canary: KubernetesObject): boolean {
  return canary.metadata.deletionTimestamp !== undefined && hasFinalizer(canary);
}
