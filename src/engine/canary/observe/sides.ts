/** How both sides of a Canary are read: as two workloads with a route between them, or as the pods of one (ADR 21). */

import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import type { CanaryStatus } from '../../../api/canary/status.ts';
import { type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import type { ScalerView, World } from '../../../rollout/world.ts';
import { nativeKind, readSides, workloadKind } from '../../../workload/kinds.ts';
import { revisionPods } from '../../../workload/native-pods.ts';
import { servicePending } from '../../../workload/native-service.ts';
import { viewNative } from '../../../workload/native-view.ts';
import { haveSameTargets, ownPorts } from '../../../workload/pods/endpoints.ts';
import { scalerKindOf, scalerNames, scalerSide, settleMsOf } from '../../../workload/scaler.ts';
import { serviceNames } from '../../../workload/shared/metadata.ts';
import type { RevisionPods } from '../../../workload/shared/workload-kind.ts';
import { type NamespaceView, serviceKind, viewSource } from '../context/namespace-view.ts';
import { type ReadParts, routerOf } from '../context/observation.ts';
import { liveRoutes, readRoute, successorOf } from './routes.ts';

/** The workloads of both sides as they are in the cluster; one and the same object where they share it. */
interface SideObjects {
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
  /** What the Canary names, which the target may be a copy of. */
  readonly wanted: KubernetesObject | undefined;
}

/** What observing the two sides needs. */
interface SideContext {
  readonly parts: ReadParts;
  readonly canary: Canary;
  readonly view: NamespaceView;
  readonly provider: string;
  readonly movesTo: string | undefined;
}

/** What the rollout core sees of the two sides. */
type SideViews = Pick<
  World,
  'primary' | 'target' | 'scaler' | 'route' | 'routeInGit' | 'sharesWorkload' | 'stuckPods'
>;

/** The workloads of both sides. Throws RefusedError. */
export function sideObjects({ canary, view, provider }: SideContext): SideObjects {
  if (!sharesWorkload(provider)) return readSides(canary, view.get);
  const target = view.get(workloadKind(canary), canary.spec.targetRef.name);
  return { target, primary: target, wanted: target };
}

/** What the rollout core sees of them. Throws RefusedError, and EngineError for an unknown provider. */
export function sideViews(context: SideContext, objects: SideObjects): SideViews {
  return sharesWorkload(context.provider) ? sharedViews(context, objects) : copiedViews(context, objects);
}

function copiedViews(
  { parts, canary, view, provider, movesTo }: SideContext,
  { target, primary }: SideObjects,
): SideViews {
  const names = serviceNames(canary);
  const router = routerOf(parts, provider);
  const workloadView = (side: 'primary' | 'canary', workload: KubernetesObject | undefined) => {
    if (!workload || workload.metadata.deletionTimestamp) return undefined;
    const routePort = canary.spec.service?.port;
    const source = viewSource(view, { workload, service: names[side], side, routePort });
    return { ...workloadKind(canary).view(source), drift: undefined, configCopies: [] };
  };
  const primaryView = workloadView('primary', primary);
  const portsOf = (name: string) => {
    const service = view.get(serviceKind, name);
    return service && ownPorts(service);
  };
  // One Service reaches either its older or its newer pods where a release changes its ports or where they go to; so does the way back from it.
  const good = (canary.status as CanaryStatus | undefined)?.lastKnownGood?.digest ?? '';
  const isReachable = [portsOf(names.canary), parts.ports.get(good)].every((ports) =>
    haveSameTargets(portsOf(names.primary), ports),
  );
  // Before there is a workload, or one is wanted, there is nothing to route to.
  const isRouted = Boolean(target ?? primary ?? parts.heads.of(namespacedName(canary)).release);
  const live = liveRoutes(router, view, canary);
  const context = { parts, canary, view, provider, movesTo };
  return {
    primary: primaryView && { ...primaryView, keepsReadyPod: primaryView.keepsReadyPod && isReachable },
    target: workloadView('canary', target),
    scaler: scalerView(canary, view),
    route: isRouted ? readRoute(context, { target, primary }, live) : undefined,
    routeInGit: successorOf(parts, canary, { router, movesTo }) !== undefined,
  };
}

function scalerView({ spec }: Canary, view: NamespaceView): ScalerView | undefined {
  const kind = scalerKindOf(spec);
  if (!kind) return undefined;
  const names = scalerNames({ spec });
  const [own, copy] = [view.get(kind, names.canary), view.get(kind, names.primary)];
  return {
    kind: kind.kind,
    name: names.canary,
    canary: scalerSide(kind, own),
    primary: scalerSide(kind, copy),
    settleMs: settleMsOf(own),
  };
}

/** No scaler has a copy, so that none is written; requests go to the ready pods of both sides. */
function sharedViews({ view, canary }: SideContext, { target: workload }: SideObjects): SideViews {
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
