import { sharesWorkload } from '../../api/effective.ts';
import { describe, type KubernetesObject, referenceOf } from '../../api/kubernetes.ts';
import { workloadKind } from '../../workload/kinds.ts';
import { serviceNames } from '../../workload/names.ts';
import { sideNames } from '../../workload/sides.ts';
import { versionOf } from '../canary/canary-parts.ts';
import { StaleView } from '../failure.ts';
import type { Cluster } from '../ports/ports.ts';
import type { ActionContext } from './action-context.ts';
import { routerOf } from './route-context.ts';

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
