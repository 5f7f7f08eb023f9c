/** One workload as a primary and a canary: its pods of older templates, and those of the one that is tried (ADR 21). */
import type { RouteView } from '../api/observed.ts';
import type { StuckPod } from '../rollout/world.ts';
import { noPodFacts } from './pods/pod-facts.ts';
import { promotedDigestOf, stepShareOf } from './shared/metadata.ts';
import type { NativeKind, PodsView, TriedPods, ViewSource } from './shared/workload-kind.ts';

/** The sides of one workload, and how far the step is reached. */
export interface NativeView {
  readonly primary: PodsView;
  readonly target: PodsView;
  readonly route: RouteView;
  readonly stuckPods: readonly StuckPod[];
}

/** What the core sees of a workload that is rolled out in place. */
export function viewNative(kind: NativeKind, source: ViewSource): NativeView {
  const { workload } = source;
  const { whole, tried } = kind.splitView(source);
  const promoted = promotedDigestOf(workload);
  const share = stepShareOf(workload);
  if (promoted === undefined)
    return {
      primary: whole,
      target: withoutPods(whole),
      route: onTheWayBack(whole, share),
      // Before the controller has seen a change, it is not known which pods it would wait for.
      stuckPods: whole.observed ? (kind.stuck?.(source) ?? []) : [],
    };
  const isWithheld = share === undefined || share === 0;
  return {
    primary: oldSide(whole, promoted, isWithheld ? undefined : tried),
    target: isWithheld || !tried ? withoutPods(whole) : tried.view,
    route: isWithheld ? routeAt(0) : stepRoute(whole, share, tried),
    stuckPods: [],
  };
}

/** The share counts the pods that still have to go; before the controller has seen the change, those that it reported last. */
function onTheWayBack(whole: PodsView, share: number | undefined): RouteView {
  if (share === undefined) return routeAt(0);
  const leaving = whole.observed ? whole.replicas - whole.updatedReplicas : whole.updatedReplicas;
  if (leaving <= 0) return routeAt(0);
  const percent = Math.round((100 * leaving) / Math.max(1, whole.desiredReplicas));
  return routeAt(Math.max(1, Math.min(100, percent)));
}

function stepRoute(whole: PodsView, weightPercent: number, tried: TriedPods | undefined): RouteView {
  const { observed, desiredReplicas, replicas } = whole;
  const accepted = observed && tried?.isReached(weightPercent) === true;
  const ready = tried?.view.updatedReadyReplicas ?? 0;
  const problem = `${ready} new pods are ready, of ${replicas} pods in total; ${desiredReplicas} are desired`;
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
function withoutPods(whole: PodsView): PodsView {
  return {
    ...whole,
    desiredReplicas: 0,
    replicas: 0,
    updatedReplicas: 0,
    readyReplicas: 0,
    availableReplicas: 0,
    updatedReadyReplicas: 0,
    faults: [],
    ...noPodFacts,
  };
}

/** Pods of older templates: all but those that are tried. */
function oldSide(whole: PodsView, digest: string, tried: TriedPods | undefined): PodsView {
  // Until the controller has seen the template that is tried, all its counts are of the one before.
  const old = Math.max(0, whole.replicas - (tried?.view.replicas ?? 0));
  const ready = Math.max(0, whole.readyReplicas - (tried?.view.readyReplicas ?? 0));
  return {
    ...withoutPods(whole),
    digest,
    desiredReplicas: whole.desiredReplicas - (tried?.leaving ?? 0),
    replicas: old,
    updatedReplicas: old,
    readyReplicas: ready,
    availableReplicas: tried?.olderAvailable ?? whole.availableReplicas,
    updatedReadyReplicas: ready,
  };
}
