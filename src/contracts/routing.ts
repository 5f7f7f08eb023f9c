/** What the engine needs of routing providers. */
import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { RouteTarget, RouteView } from '../api/observed.ts';

/** A kind that a provider's routing objects have. */
export interface RouteKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** One Canary's routing, as far as providers need to know. */
export interface RouteContext {
  canary: Canary;
  /** Names of the generated Services; the routing object is called as the apex. */
  names: { apex: string; primary: string; canary: string };
  /** The label that tells primary pods from canary pods; undefined where they are not ours (a target of kind Service). */
  label: { key: string; primary: string; canary: string } | undefined;
  /** The apex Service as it is to be written, where the apex itself is the traffic. */
  apex?: KubernetesObject | undefined;
  /** The routing object as Git holds it, while the Canary is about to leave it. */
  successor?: KubernetesObject | undefined;
}

/** Something in a Canary that a provider cannot do (`error`), or does otherwise than written (`warning`). */
interface RouteProblem {
  severity: 'error' | 'warning';
  path: string;
  message: string;
}

/** One routing provider: pure builders and readers of its objects. */
export interface Router {
  readonly kinds: readonly RouteKind[];
  /** The apex Service's selector is the traffic, so it is written together with the weights. */
  readonly apexFollowsTraffic: boolean;
  /** The target itself divides the requests: of `objects` only the spec is written, and nothing else of the target. */
  readonly isTarget?: boolean;
  check(canary: Canary): RouteProblem[];
  /** Objects to apply so that traffic flows like this. */
  objects(context: RouteContext, target: RouteTarget, live: readonly KubernetesObject[]): KubernetesObject[];
  /** Undefined while the routing objects do not exist. */
  read(context: RouteContext, live: readonly KubernetesObject[]): RouteView | undefined;
  /** Whether requests go to other backends than the two sides once this object is in the route's place. */
  isSucceededBy?(context: RouteContext, object: KubernetesObject): boolean;
}

/** The routing providers by name; undefined for one that this version does not know. */
export type Routing = (provider: string) => Router | undefined;
