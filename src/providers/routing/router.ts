import type { KubernetesObject, ObjectMeta } from '../../api/kubernetes.ts';
import {
  isGenerated,
  keepAwayAnnotations,
  keepFluxAway,
  ownerReference,
  ownLabels,
  takenOverAnnotation,
} from '../../api/metadata.ts';
import type { RouteTarget, RouteView } from '../../api/observed.ts';
import type { RouteContext, RouteKind, Router } from '../../contracts/routing.ts';
import type { RequestMetrics } from './request-metrics.ts';

/** Traffic as read back; `matched`: unmatched requests stay with the primary whatever the weights are (A/B). */
export interface RouteReading extends RouteView {
  matched: boolean;
}

/** One line of the table: the contract's router, and everything else in which providers differ. */
export interface RoutingProvider extends Router {
  /** As `spec.provider` names it. */
  readonly name: string;
  /** Other names of it begin like this, as in Flagger (flagger-behaviour.md 3). */
  readonly variants?: string;
  /** Resources that only this provider writes, as `kubectl` names them: `httproutes.gateway.networking.k8s.io`. */
  readonly resources: readonly string[];
  /** How requests are counted, for the built-in metrics. */
  readonly requests: RequestMetrics;
  read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined;
}

/**
 * Metadata of the routing object: the apex' name and custom metadata, and the Canary as its controller. One that somebody else made keeps
 * its owners, and is marked as taken over.
 */
export function routeMetadata(
  { canary, names }: RouteContext,
  live: KubernetesObject | undefined,
): ObjectMeta {
  const custom = canary.spec.service?.apex;
  const isOurs = live === undefined || isGenerated(live, canary);
  const away = isOurs ? keepAwayAnnotations : { ...keepFluxAway, [takenOverAnnotation]: 'spec' };
  return {
    name: names.apex,
    namespace: canary.metadata.namespace ?? 'default',
    labels: { ...custom?.labels, ...ownLabels(canary) },
    annotations: { ...custom?.annotations, ...away },
    ...(isOurs ? { ownerReferences: [ownerReference(canary)] } : {}),
  };
}

/** The Canary's routing object among the live ones. */
export function findRoute(
  { canary, names }: RouteContext,
  { apiVersion, kind }: RouteKind,
  live: readonly KubernetesObject[],
): KubernetesObject | undefined {
  const namespace = canary.metadata.namespace ?? 'default';
  return live.find(
    (object) =>
      object.kind === kind &&
      object.apiVersion === apiVersion &&
      object.metadata.name === names.apex &&
      (object.metadata.namespace ?? 'default') === namespace,
  );
}

/** Throws RangeError for weights that no router may write: not integers, out of range, or not adding up to 100 (S3). */
export function assertWeights({ primaryWeight, canaryWeight }: RouteTarget): void {
  const valid =
    Number.isInteger(primaryWeight) &&
    Number.isInteger(canaryWeight) &&
    primaryWeight >= 0 &&
    canaryWeight >= 0 &&
    primaryWeight + canaryWeight === 100;
  if (!valid)
    throw new RangeError(`weights ${primaryWeight}/${canaryWeight} are not integers that add up to 100`);
}

/** Weights as found, in percent: 1/1 reads as 50/50. Undefined when they are missing, negative or both 0. */
export function percentOf(
  primary: number | undefined,
  canary: number | undefined,
): { primaryWeight: number; canaryWeight: number } | undefined {
  if (primary === undefined || canary === undefined || primary < 0 || canary < 0) return undefined;
  const total = primary + canary;
  if (!Number.isFinite(total) || total === 0) return undefined;
  const canaryWeight = Math.round((canary * 100) / total);
  return { primaryWeight: 100 - canaryWeight, canaryWeight };
}

/** A route that exists but whose weights cannot be read; nothing may be decided on them. */
export function unreadable(problem: string): RouteReading {
  return { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false, accepted: false, problem };
}

/** Whether the Canary asks for an A/B test: conditions and a number of iterations. */
export function isAbTest({ canary }: RouteContext): boolean {
  const { match, iterations } = canary.spec.analysis ?? {};
  return Boolean(match?.length && iterations);
}
