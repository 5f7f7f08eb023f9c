/** Both sides of one Deployment in the rollout core's words: its pods of older templates, and those of the current one (ADR 21). */
import type { RouteView } from '../../api/observed.ts';
import type { DriftView } from '../../rollout/drift-view.ts';
import type { WorkloadView } from '../../rollout/world.ts';
import { viewDeployment } from '../deployment-view.ts';
import type { ViewSource } from '../kind.ts';
import { grantedBy, type Hold, isWholeStep } from './hold.ts';
import { holdOf, promotedOf, shareOf } from './native-workload.ts';

type View = Omit<WorkloadView, keyof DriftView>;

/** The sides of one workload, and how far the step is reached. */
export interface NativeView {
  readonly primary: View;
  readonly target: View;
  readonly route: RouteView;
}

/** What the core sees of a Deployment that is rolled out in place. */
export function viewNative(source: ViewSource): NativeView {
  const { workload } = source;
  const whole = viewDeployment(source);
  const promoted = promotedOf(workload);
  const share = shareOf(workload);
  if (promoted === undefined)
    return { primary: whole, target: withoutPods(whole), route: onTheWayBack(whole, share) };
  const hold = holdOf(workload);
  const isBrought = share === undefined || share === 0;
  return {
    primary: oldSide(whole, promoted, isBrought ? undefined : hold),
    target: isBrought ? withoutPods(whole) : newSide(whole, hold),
    route: isBrought ? routeAt(0) : stepRoute(whole, share, hold),
  };
}

/** The share counts what is still to go; pods of a change that the controller has not seen are counted by its last word. */
function onTheWayBack(whole: View, share: number | undefined): RouteView {
  if (share === undefined) return routeAt(0);
  const leaving = whole.observed ? whole.replicas - whole.updatedReplicas : whole.updatedReplicas;
  if (leaving <= 0) return routeAt(0);
  const percent = Math.round((100 * leaving) / Math.max(1, whole.desiredReplicas));
  return routeAt(Math.max(1, Math.min(100, percent)));
}

function stepRoute(whole: View, weightPercent: number, hold: Hold | undefined): RouteView {
  const { observed, desiredReplicas, replicas, updatedReadyReplicas } = whole;
  const aim = { replicas: desiredReplicas, weightPercent, hold, ready: updatedReadyReplicas };
  const accepted = observed && isWholeStep(aim) && replicas <= desiredReplicas;
  const problem = `${updatedReadyReplicas} new pods are ready, of ${replicas} in all; ${desiredReplicas} are wanted`;
  return { ...routeAt(weightPercent), accepted, ...(accepted ? {} : { problem }) };
}

function routeAt(canaryWeight: number): RouteView {
  return {
    primaryWeight: 100 - canaryWeight,
    canaryWeight,
    mirrored: false,
    matched: false,
    accepted: true,
  };
}

/** At rest, or before the first step. */
function withoutPods(whole: View): View {
  return {
    ...whole,
    desiredReplicas: 0,
    replicas: 0,
    updatedReplicas: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    updatedReadyReplicas: 0,
    faults: [],
    restarts: 0,
    imagesMatch: true,
    images: [],
    podContainers: [],
    endpoints: undefined,
  };
}

/** Pods of the template that is tried. Held back from being available, they are as good as that once they are ready. */
function newSide(whole: View, hold: Hold | undefined): View {
  const { updatedReplicas, updatedReadyReplicas, desiredReplicas } = whole;
  return {
    ...whole,
    desiredReplicas: hold ? grantedBy(hold, desiredReplicas) : 0,
    replicas: updatedReplicas,
    readyReplicas: updatedReadyReplicas,
    availableReplicas: updatedReadyReplicas,
    progressDeadlineExceeded: false,
  };
}

/** Pods of older templates. What is available is of them alone. */
function oldSide(whole: View, digest: string, hold: Hold | undefined): View {
  const { desiredReplicas, replicas, updatedReplicas, readyReplicas, updatedReadyReplicas } = whole;
  // Until the controller has seen the template that is tried, all its counts are of the one before.
  const old = hold ? Math.max(0, replicas - updatedReplicas) : replicas;
  const ready = Math.max(0, readyReplicas - (hold ? updatedReadyReplicas : 0));
  const leaving = hold ? Math.floor((hold.unavailablePercent * desiredReplicas) / 100) : 0;
  return {
    ...withoutPods(whole),
    digest,
    desiredReplicas: desiredReplicas - leaving,
    replicas: old,
    updatedReplicas: old,
    readyReplicas: ready,
    availableReplicas: whole.availableReplicas,
    updatedReadyReplicas: ready,
  };
}
