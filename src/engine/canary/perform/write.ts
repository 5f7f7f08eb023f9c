import type { CanaryStatus } from '../../../api/canary/status.ts';
import { sharesWorkload } from '../../../api/defaults.ts';
import { describe, type KubernetesObject, referenceOf } from '../../../api/kubernetes.ts';
import { partOfLabel } from '../../../api/metadata.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { serviceNames } from '../../../workload/shared/names.ts';
import { sideNames } from '../../../workload/sides.ts';
import { applySetIdOf, asMember } from '../../apply-set.ts';
import { namespacedName } from '../../checks/checks.ts';
import { StaleView } from '../../failure.ts';
import { type ActionContext, versionOf } from '../context/context.ts';
import { routerOf } from '../observe/routes.ts';

/**
 * Applies what a rollout decided unless it is there; true when a request was made. The write carries the live version (S17). `mark`: see
 * `withMark`.
 */
export async function applyRollout(
  { parts }: ActionContext,
  wanted: KubernetesObject,
  live: KubernetesObject | undefined,
  mark: (object: KubernetesObject) => KubernetesObject = (object) => object,
): Promise<boolean> {
  if (parts.applied.has(live, wanted)) return false;
  await parts.cluster.apply(mark(wanted), {
    manager: 'holdfast-rollout',
    force: true,
    ...(live ? { over: versionOf(live) } : {}),
  });
  parts.applied.note(wanted);
  return true;
}

/** Applies an object that no watch shows (config copies): it is read first, for its version. */
export async function applyUnwatched(context: ActionContext, wanted: KubernetesObject): Promise<boolean> {
  const live = await context.parts.cluster.get(referenceOf(wanted));
  return applyRollout(context, wanted, live);
}

/**
 * Reads both workloads and the route anew and compares them with what the decision was made on (S19). Throws StaleView when one differs;
 * the fresh objects are then in the caches.
 */
export async function ensureFresh(context: ActionContext): Promise<void> {
  const { parts, observation } = context;
  const { canary, view, provider } = observation;
  const { apiVersion, kind } = workloadKind(canary);
  const { apex } = serviceNames(canary);
  const names = sideNames(canary);
  const isShared = sharesWorkload(provider) || names.primary === names.canary;
  const routes = sharesWorkload(provider) ? [] : routerOf(parts, provider).kinds;
  const known = [
    { apiVersion, kind, name: names.canary, seen: observation.target },
    ...(isShared ? [] : [{ apiVersion, kind, name: names.primary, seen: observation.primary }]),
    ...routes.map((route) => ({ ...route, name: apex, seen: view.get(route, apex) })),
  ];
  const fresh = await Promise.all(known.map((entry) => readAnew(parts.cluster, view.namespace, entry)));
  for (const object of fresh) if (object) view.remember(object);
  known.forEach((entry, index) => {
    const now = fresh[index]?.metadata.resourceVersion;
    if (now !== entry.seen?.metadata.resourceVersion)
      throw new StaleView(describe({ ...entry, namespace: view.namespace }));
  });
}

function readAnew(
  cluster: Cluster,
  namespace: string,
  { apiVersion, kind, name }: { apiVersion: string; kind: string; name: string },
): Promise<KubernetesObject | undefined> {
  return cluster.get({ apiVersion, kind, namespace, name });
}

/**
 * The same, writing as the account of the Source that holds the Canary's target (design section 2.2): a rollout must not write for somebody
 * what that one may not write. The last-known-good was let in once: going back to it does not depend on what became of the account.
 */
export function onBehalfOfSource(context: ActionContext, digest?: string): ActionContext {
  const { parts, observation } = context;
  const account = accountFor(context, digest);
  return account === undefined
    ? context
    : { observation, parts: { ...parts, cluster: parts.cluster.as(account) } };
}

/** The user that `onBehalfOfSource` writes as; undefined: Holdfast itself. */
export function accountFor({ parts, observation }: ActionContext, digest?: string): string | undefined {
  const { canary } = observation;
  const good = (canary.status as CanaryStatus | undefined)?.lastKnownGood?.digest;
  if (digest !== undefined && digest === good) return undefined;
  return parts.heads.specOf(namespacedName(canary)).account;
}

/**
 * What a rollout writes of Git's own objects, with the label of the Source that holds them: a target or a config that leaves Git is found by it
 * and pruned. Without a Source the label of the live object stays.
 */
export function partOfSource(
  { parts, observation }: ActionContext,
  object: KubernetesObject,
  live?: KubernetesObject,
): KubernetesObject {
  const source = parts.heads.sourceOf(namespacedName(observation.canary));
  const id = source === undefined ? live?.metadata.labels?.[partOfLabel] : applySetIdOf(source);
  return id === undefined ? object : asMember(object, id);
}
