/** What a routing provider has to offer. All functions are pure: the engine reads and writes. */
import type { Canary } from '../../api/canary/canary.ts';
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
import type { Problem } from '../../api/problems.ts';

/** One Canary's routing, as far as providers need to know. */
export interface RouteContext {
  canary: Canary;
  /** Names of the generated Services; the routing object is called as the apex. */
  names: { apex: string; primary: string; canary: string };
  /** The label that tells primary pods from canary pods; undefined where they are not ours (a target of kind Service). */
  label: { key: string; primary: string; canary: string } | undefined;
  /** The apex Service as it is to be written; needed where the apex itself is the traffic. */
  apex?: KubernetesObject | undefined;
  /**
   * The routing object as Git holds it, while the Canary is about to leave it: the backends in it, which lead to the target, take the requests
   * over. Undefined: backends of others are those that the live object names.
   */
  successor?: KubernetesObject | undefined;
  /** Ingress class of this installation, for providers that name one. */
  ingressClass?: string | undefined;
}

/** Something in a Canary that this provider cannot do, or does otherwise than written. */
export interface RouteProblem extends Problem {
  /** `error`: the Canary is not rolled out. `warning`: it is, as the message says. */
  severity: 'error' | 'warning';
}

/** An object kind that a provider reads or writes. */
export interface RouteKind {
  apiVersion: string;
  kind: string;
}

/** Traffic as read back; `matched`: unmatched requests stay with the primary whatever the weights are (A/B). */
export interface RouteReading extends RouteView {
  matched: boolean;
}

/** One routing provider. */
export interface Router {
  name: string;
  kinds: readonly RouteKind[];
  /** The apex Service's selector is the traffic, so it is written together with the weights. */
  apexFollowsTraffic: boolean;
  /** The target itself divides the requests: of `objects` only the spec is written, and nothing else of the target. */
  isTarget?: boolean;
  /** What cannot work, by field; empty when all is well. */
  check(canary: Canary): RouteProblem[];
  /**
   * The routing objects with this traffic, for server-side apply: only fields we own, so that foreign metadata neither matters nor is lost.
   * `live` are the objects as they are now. Throws RangeError for weights that are not integers adding up to 100 (S3).
   */
  objects(context: RouteContext, target: RouteTarget, live: readonly KubernetesObject[]): KubernetesObject[];
  /** Traffic as the objects say it; undefined when they do not exist yet. Never throws: what cannot be read is a `problem`. */
  read(context: RouteContext, live: readonly KubernetesObject[]): RouteReading | undefined;
  /** Whether requests go to other backends than the two sides once this object is in the route's place; undefined: routes have no backends. */
  isSucceededBy?(context: RouteContext, object: KubernetesObject): boolean;
}

// What the routing objects of all providers have in common.

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

/** Weights as found, brought to percent: 1/1 reads as 50/50. Undefined when they say nothing: missing, negative or both 0. */
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

/** A route that exists but whose traffic cannot be told; nothing may be decided on its weights. */
export function unreadable(problem: string): RouteReading {
  return { primaryWeight: 100, canaryWeight: 0, mirrored: false, matched: false, accepted: false, problem };
}

/** Whether the Canary asks for an A/B test: conditions and a number of iterations. */
export function isAbTest({ canary }: RouteContext): boolean {
  const { match, iterations } = canary.spec.analysis ?? {};
  return Boolean(match?.length && iterations);
}
