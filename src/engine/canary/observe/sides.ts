/** How both sides of a Canary are read: as two workloads with a route between them, or as the pods of one (ADR 21). */

import { type Canary, sharesWorkload } from '../../../api/canary/canary.ts';
import { type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import type { ScalerView } from '../../../rollout/world.ts';
import { readSides, workloadKind } from '../../../workload/kinds.ts';
import { haveSameTargets } from '../../../workload/pods/endpoints.ts';
import { scalerKindOf, scalerNames, scalerSide, settleMsOf } from '../../../workload/scaler.ts';
import { serviceNames } from '../../../workload/shared/metadata.ts';
import { type NamespaceView, serviceKind, viewSource } from '../context/namespace-view.ts';
import { routerOf } from '../context/routers.ts';
import { type SideContext, type SideObjects, type SideViews, sharedViews } from './native-sides.ts';
import { labelOf, liveRoutes, routeContext, successorOf } from './routes.ts';

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
  const successor = successorOf(parts, canary, { router, movesTo });
  const workloadView = (side: 'primary' | 'canary', workload: KubernetesObject | undefined) => {
    if (!workload || workload.metadata.deletionTimestamp) return undefined;
    const routePort = canary.spec.service?.port;
    const source = viewSource(view, { workload, service: names[side], side, routePort });
    return { ...workloadKind(canary).view(source), drift: undefined, configCopies: [] };
  };
  const primaryView = workloadView('primary', primary);
  // One Service reaches either its older or its newer pods where a release changes where its ports go to.
  const isReachable = haveSameTargets(
    view.get(serviceKind, names.primary),
    view.get(serviceKind, names.canary),
  );
  // Before the target is there, or wanted, there is nothing to route to.
  const isTargetKnown = target !== undefined || parts.heads.of(namespacedName(canary)).release !== undefined;
  const routing = routeContext(canary, labelOf(parts, canary, target), {
    successor,
    settings: parts.options.routes,
  });
  return {
    primary: primaryView && { ...primaryView, keepsReadyPod: primaryView.keepsReadyPod && isReachable },
    target: workloadView('canary', target),
    scaler: scalerView(canary, view),
    route: isTargetKnown ? router.read(routing, liveRoutes(router, view, canary)) : undefined,
    routeInGit: successor !== undefined,
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
