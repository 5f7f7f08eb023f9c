/** The gateway of the sandbox: what it took of the routes, which is not always what they say by now. */
import type { KubernetesObject } from '../api/kubernetes.ts';
import type { Store } from './store.ts';

/** Kinds that say where requests go, as the store calls them. */
export const routeKeys = ['gateway.networking.k8s.io/httproutes', 'projectcontour.io/httpproxies'] as const;

/** One of those kinds. */
export type RouteKey = (typeof routeKeys)[number];

/** Which routes a hold is about. */
export type RouteRule = (route: KubernetesObject) => boolean;

/** Takes routes at once, unless they are held back; requests follow what was taken last. */
export interface Gateway {
  /** Routes of this rule are not taken until the returned function is called. */
  hold(rule?: RouteRule): () => void;
  /** True when it follows the route as it is now, and answers it. */
  take(key: RouteKey, route: KubernetesObject): boolean;
  /** The routes that requests follow. */
  served(key: RouteKey, namespace: string): KubernetesObject[];
}

/** A gateway that holds nothing back; `look` makes it look at every route again. */
export function createGateway(store: Store, look: (key: RouteKey) => void): Gateway {
  const taken = new Map<string, { readonly key: RouteKey; readonly route: KubernetesObject }>();
  let rules: readonly RouteRule[] = [];
  const isHeld = (route: KubernetesObject) => rules.some((rule) => rule(route));
  const isThere = (key: RouteKey, { metadata: { namespace, name } }: KubernetesObject) =>
    store.get(key, namespace, name) !== undefined;
  return {
    hold(rule = () => true) {
      rules = [...rules, rule];
      return () => {
        rules = rules.filter((each) => each !== rule);
        for (const key of routeKeys) look(key);
      };
    },
    take(key, route) {
      if (isHeld(route)) return false;
      taken.set(`${key}/${route.metadata.namespace}/${route.metadata.name}`, { key, route });
      return true;
    },
    served: (wanted, namespace) =>
      [...taken.values()]
        .filter(({ key, route }) => key === wanted && route.metadata.namespace === namespace)
        .filter(({ key, route }) => isThere(key, route) || isHeld(route))
        .map(({ route }) => route),
  };
}
