/** How both sides of a Canary are read: as two workloads with a route between them, or as the pods of one (ADR 21). */
import type { Canary } from '../../../api/canary/canary.ts';
import { sharesWorkload } from '../../../api/defaults.ts';
import type { KubernetesObject } from '../../../api/kubernetes.ts';
import type { RouteView } from '../../../api/observed.ts';
import type { Router } from '../../../contracts/routing.ts';
import type { WorkloadView } from '../../../health/workload-view.ts';
import type { ScalerView, World } from '../../../rollout/world.ts';
import { nativeKind, workloadKind } from '../../../workload/kinds.ts';
import { revisionKind } from '../../../workload/knative/knative.ts';
import { revisionPods, servicePending } from '../../../workload/native-pods.ts';
import { viewNative } from '../../../workload/native-view.ts';
import { endpointSliceKind, haveSameTargets } from '../../../workload/pods/endpoints.ts';
import { scalerKindOf, scalerNames, scalerSide, settleMsOf } from '../../../workload/scaler.ts';
import { serviceNames } from '../../../workload/shared/names.ts';
import type { RevisionPods } from '../../../workload/shared/native-kind.ts';
import type { ViewSource } from '../../../workload/shared/workload-kind.ts';
import { readSides } from '../../../workload/sides.ts';
import type { ReadParts } from '../context/context.ts';
import {
  controllerRevisionKind,
  type NamespaceView,
  podKind,
  serviceKind,
} from '../context/namespace-view.ts';
import { isTargetKnown, labelOf, liveRoutes, routeContext, routerOf, successorOf } from './routes.ts';

/** The workloads of both sides as they are in the cluster; one and the same object where they share it. */
interface SideObjects {
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
  /** What the Canary names, which the target may be a copy of. */
  readonly wanted: KubernetesObject | undefined;
}

/** What a look is made with. */
export interface SideContext {
  readonly parts: ReadParts;
  readonly canary: Canary;
  readonly view: NamespaceView;
  readonly provider: string;
  readonly movesTo: string | undefined;
}

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
  objects: SideObjects,
): SideViews {
  const names = serviceNames(canary);
  const router = routerOf(parts, provider);
  const successor = successorOf(parts, canary, { router, movesTo });
  const primary = workloadView(canary, view, {
    workload: objects.primary,
    service: names.primary,
    side: 'primary',
  });
  // One Service reaches either its older or its newer pods where a release changes where its ports go to.
  const isReachable = haveSameTargets(
    view.get(serviceKind, names.primary),
    view.get(serviceKind, names.canary),
  );
  return {
    primary: primary && { ...primary, keepsReadyPod: primary.keepsReadyPod && isReachable },
    target: workloadView(canary, view, { workload: objects.target, service: names.canary, side: 'canary' }),
    scaler: scalerView(canary, view),
    route: routeView(parts, canary, { router, view, target: objects.target, successor }),
    routeInGit: successor !== undefined,
  };
}

/** Where both sides are pods of one workload, which are whose; undefined elsewhere. */
export function revisionOf(
  { view, canary, provider }: SideContext,
  { target }: SideObjects,
): RevisionPods | undefined {
  if (!sharesWorkload(provider) || !target) return undefined;
  return revisionPods(
    nativeKind(canary),
    viewSource(view, { workload: target, service: '', side: 'canary' }),
  );
}

/** No scaler has a copy, so that none is written; requests go to the ready pods of both sides. */
function sharedViews(context: SideContext, objects: SideObjects): SideViews {
  const { view, canary } = context;
  const { target: workload } = objects;
  const shared = { scaler: undefined, sharesWorkload: true };
  if (!workload || workload.metadata.deletionTimestamp) {
    const route = { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false, accepted: true };
    return { ...shared, primary: undefined, target: undefined, route };
  }
  const source = viewSource(view, { workload, service: '', side: 'canary' });
  const { primary, target, route, stuckPods } = viewNative(nativeKind(canary), source);
  const nothing = { drift: undefined, configCopies: [] };
  const live = view.get(serviceKind, serviceNames(canary).canary);
  const revision = revisionOf(context, objects);
  // A step is reached when a load test reaches its pods, too.
  const problem =
    route.accepted && route.canaryWeight > 0
      ? servicePending({ canary, target: workload, revision, live })
      : undefined;
  const reached = problem === undefined ? route : { ...route, accepted: false, problem };
  return {
    ...shared,
    stuckPods,
    primary: { ...primary, ...nothing },
    target: { ...target, ...nothing },
    route: reached,
  };
}

interface SideRead {
  readonly workload: KubernetesObject | undefined;
  /** Name of its Service; empty for none. */
  readonly service: string;
  readonly side: 'canary' | 'primary';
  /** The port of the Canary's own route. */
  readonly routePort?: number | undefined;
}

/** What the pods of a workload are seen from. */
export function viewSource(
  view: NamespaceView,
  { workload, service, side, routePort }: SideRead & { readonly workload: KubernetesObject },
): ViewSource {
  return {
    workload,
    pods: view.list(podKind),
    replicaSets: view.replicaSets(),
    controllerRevisions: view.list(controllerRevisionKind),
    service: service === '' ? undefined : view.get(serviceKind, service),
    endpointSlices: view.list(endpointSliceKind),
    routePort,
    side,
    revisions: view.list(revisionKind),
  };
}

interface RouteRead {
  readonly router: Router;
  readonly view: NamespaceView;
  readonly target: KubernetesObject | undefined;
  readonly successor: KubernetesObject | undefined;
}

function routeView(
  parts: ReadParts,
  canary: Canary,
  { router, view, target, successor }: RouteRead,
): RouteView | undefined {
  if (!isTargetKnown(parts, canary, target)) return undefined;
  const context = routeContext(canary, labelOf(parts, canary, target), { successor });
  return router.read(context, liveRoutes(router, view, canary));
}

function scalerView({ spec }: Canary, view: NamespaceView): ScalerView | undefined {
  const kind = scalerKindOf(spec);
  if (!kind) return undefined;
  const names = scalerNames({ spec });
  const side = (name: string) => scalerSide(kind, view.get(kind, name));
  return {
    kind: kind.kind,
    name: names.canary,
    canary: side(names.canary),
    primary: side(names.primary),
    settleMs: settleMsOf(view.get(kind, names.canary)),
  };
}

function workloadView(canary: Canary, view: NamespaceView, read: SideRead): WorkloadView | undefined {
  const { workload } = read;
  if (!workload || workload.metadata.deletionTimestamp) return undefined;
  const seen = workloadKind(canary).view(
    viewSource(view, { ...read, workload, routePort: canary.spec.service?.port }),
  );
  return { ...seen, drift: undefined, configCopies: [] };
}
