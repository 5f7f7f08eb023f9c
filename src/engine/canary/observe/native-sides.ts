/** Both sides of a Canary as the pods of one workload (ADR 21). */

import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { World } from '../../../rollout/world.ts';
import { nativeKind } from '../../../workload/kinds.ts';
import { revisionPods } from '../../../workload/native-pods.ts';
import { servicePending } from '../../../workload/native-service.ts';
import { viewNative } from '../../../workload/native-view.ts';
import { serviceNames } from '../../../workload/shared/metadata.ts';
import type { RevisionPods } from '../../../workload/shared/workload-kind.ts';
import { type NamespaceView, serviceKind, viewSource } from '../context/namespace-view.ts';
import type { ReadParts } from '../context/observation.ts';

/** The workloads of both sides as they are in the cluster; one and the same object where they share it. */
export interface SideObjects {
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
  /** What the Canary names, which the target may be a copy of. */
  readonly wanted: KubernetesObject | undefined;
}

/** What observing the two sides needs. */
export interface SideContext {
  readonly parts: ReadParts;
  readonly canary: Canary;
  readonly view: NamespaceView;
  readonly provider: string;
  readonly movesTo: string | undefined;
}

/** What the rollout core sees of the two sides. */
export type SideViews = Pick<
  World,
  'primary' | 'target' | 'scaler' | 'route' | 'routeInGit' | 'sharesWorkload' | 'stuckPods'
>;

/** No scaler has a copy, so that none is written; requests go to the ready pods of both sides. */
export function sharedViews({ view, canary }: SideContext, { target: workload }: SideObjects): SideViews {
  const shared = { scaler: undefined, sharesWorkload: true };
  if (!workload || workload.metadata.deletionTimestamp) {
    const route = { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false, accepted: true };
    return { ...shared, primary: undefined, target: undefined, route };
  }
  const source = viewSource(view, { workload, service: '', side: 'canary' });
  const { primary, target, route, stuckPods } = viewNative(nativeKind(canary), source);
  const nothing = { drift: undefined, configCopies: [] };
  const live = view.get(serviceKind, serviceNames(canary).canary);
  // A step is reached once its pods can be reached by their Service, too.
  const problem =
    route.accepted && route.canaryWeight > 0
      ? servicePending({ canary, target: workload, revision: revisionPods(nativeKind(canary), source), live })
      : undefined;
  return {
    ...shared,
    stuckPods,
    primary: { ...primary, ...nothing },
    target: { ...target, ...nothing },
    route: problem === undefined ? route : { ...route, accepted: false, problem },
  };
}

/** Which pods are whose, where both sides are pods of one workload; else undefined. */
export function revisionOf(
  { view, canary, provider }: Pick<SideContext, 'view' | 'canary' | 'provider'>,
  target: KubernetesObject | undefined,
): RevisionPods | undefined {
  if (!sharesWorkload(provider) || !target) return undefined;
  return revisionPods(
    nativeKind(canary),
    viewSource(view, { workload: target, service: '', side: 'canary' }),
  );
}
