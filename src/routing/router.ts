/** What a routing provider has to offer. All functions are pure: the engine reads and writes. */
import type { Canary } from '../api/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { RouteTarget, RouteView } from '../api/observed.ts';
import type { Problem } from '../api/problems.ts';

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
