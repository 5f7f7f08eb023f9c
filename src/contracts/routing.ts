/** What the engine needs of routing providers. All functions are pure: the engine reads and writes. */
import type { Canary } from '../api/canary/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { RouteTarget, RouteView } from '../api/observed.ts';
import type { Problem } from '../api/problems.ts';

/** A kind that a provider's routing objects have. */
export interface RouteKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** Where its objects are: another namespace than the Canary's, or empty for a kind that has none. */
  readonly namespace?: string;
  /** What kubectl applied last is read of its objects, too. */
  readonly lastApplied?: boolean;
  /** The names of the field managers of its objects are read, too, and a hash of what each has applied. */
  readonly managers?: boolean;
}

/** One object that a provider writes, or that another tool owns and the provider derives its own from. */
export interface RouteReference extends RouteKind {
  readonly name: string;
}

/** Names of the generated Services. */
export interface RouteNames {
  readonly apex: string;
  readonly primary: string;
  readonly canary: string;
}

/** What the operator of Holdfast sets for all Canaries. */
export interface RouteSettings {
  /** What the annotations of an Ingress begin with, before the slash; the default is ingress-nginx's own. */
  readonly ingressAnnotationsPrefix?: string | undefined;
  /** Class of every HTTPProxy; undefined: none is written, so that one that is there stays. */
  readonly ingressClass?: string | undefined;
}

/** One Canary's routing, as far as providers need to know. */
export interface RouteContext {
  canary: Canary;
  /** The routing object is called as the apex, unless the provider says otherwise (`references`). */
  names: RouteNames;
  /** The label that tells primary pods from canary pods; undefined where they are not ours (a target of kind Service). */
  label: { key: string; primary: string; canary: string } | undefined;
  /** The apex Service as it is to be written; needed where the apex itself is the traffic. */
  apex?: KubernetesObject | undefined;
  /**
   * The routing object as Git holds it, while the Canary is about to leave it: its backends, which lead to the target, take over the
   * requests. Undefined: backends of others are those that the live object names.
   */
  successor?: KubernetesObject | undefined;
  /** The route of `spec.routeRef` as Git holds it; undefined: Git is not known, or holds none. */
  inGit?: KubernetesObject | undefined;
  /** Names of the other Canaries that name the same route: rules that lead to them have their weights, not Git's. */
  neighbours?: readonly RouteNames[] | undefined;
  /** The port of each side's own Service: that of the release it runs, which `spec.service.port` may have left. Undefined: it is that. */
  ports?: { readonly primary?: number | undefined; readonly canary?: number | undefined } | undefined;
  settings?: RouteSettings | undefined;
}

/** Something in a Canary that a provider cannot do (`error`), or does otherwise than written (`warning`). */
export interface RouteProblem extends Problem {
  /** `error`: the Canary is not rolled out. `warning`: it is, as the message says. */
  severity: 'error' | 'warning';
}

/** One routing provider: pure builders and readers of its objects. */
export interface Router {
  readonly kinds: readonly RouteKind[];
  /** The objects that it reads and writes for a Canary; undefined: one of each of its kinds, called as the apex. Takes specs that do not parse. */
  references?(canary: Canary, names: RouteNames): readonly RouteReference[];
  /** The apex Service's selector is the traffic, so it is written together with the weights. */
  readonly apexFollowsTraffic: boolean;
  /** The target itself divides the requests: of `objects` only the spec is written, and nothing else of the target. */
  readonly isTarget?: boolean;
  /** Paths of valid fields of this Canary that this provider does not act on. */
  ignores(canary: Canary): readonly string[];
  /** What cannot work, by field; empty when all is well. */
  check(canary: Canary): RouteProblem[];
  /**
   * The routing objects with this traffic, for server-side apply: only fields we own, so that foreign metadata neither matters nor is lost.
   * `live` are the objects as they are now. Throws RangeError for weights that are not integers adding up to 100 (S3).
   */
  objects(context: RouteContext, target: RouteTarget, live: readonly KubernetesObject[]): KubernetesObject[];
  /** Traffic as the objects say it; undefined while they do not exist. Never throws: what cannot be read is a `problem`. */
  read(context: RouteContext, live: readonly KubernetesObject[]): RouteView | undefined;
  /** Whether requests go to other backends than the two sides once this object is in the route's place; undefined: routes have no backends. */
  isSucceededBy?(context: RouteContext, object: KubernetesObject): boolean;
}

/** The routing providers by name; undefined for one that this version does not know. */
export type Routing = (provider: string) => Router | undefined;
