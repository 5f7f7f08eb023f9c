import { type KubernetesObject, namespacedName, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { at } from '../api-server/json.ts';
import { timestamp } from '../api-server/object-writer.ts';
import type { Store } from '../api-server/store.ts';
import { type Controller, type ControllerClient, splitKey, withTransitions } from './controller.ts';

const CONTROLLER_NAME = 'projectcontour.io/gateway-controller';

/** Accepts every route immediately, like a healthy gateway, unless a test holds it back. */
export function routeControllers(client: ControllerClient, gateway: Gateway): Controller[] {
  const [routes, proxies] = routeKeys;
  const takes = (key: RouteKey) => (route: KubernetesObject) => gateway.take(key, route);
  return [
    statusController(client, routes, routeStatus, takes(routes)),
    statusController(client, proxies, proxyStatus, takes(proxies)),
    statusController(client, 'gateway.networking.k8s.io/gateways', gatewayStatus, () => true),
  ];
}

type StatusOf = (object: KubernetesObject, now: string) => unknown;

function statusController(
  client: ControllerClient,
  storageKey: string,
  statusOf: StatusOf,
  takes: (object: KubernetesObject) => boolean,
): Controller {
  return {
    name: storageKey,
    keysFor: (event) => (event.storageKey === storageKey ? [namespacedName(event.object)] : []),
    reconcile(key) {
      const object = client.get(storageKey, ...splitKey(key));
      if (object && takes(object)) client.updateStatus(object, statusOf(object, timestamp(client.nowMs())));
    },
  };
}

function routeStatus(route: KubernetesObject, now: string): unknown {
  const observedGeneration = route.metadata.generation;
  const previous = recordsOf(at(route, 'status', 'parents'));
  const parents = recordsOf(at(route, 'spec', 'parentRefs')).map((parentRef, index) => ({
    parentRef,
    controllerName: CONTROLLER_NAME,
    conditions: withTransitions(
      previous[index]?.conditions,
      [
        {
          type: 'Accepted',
          status: 'True',
          reason: 'Accepted',
          message: 'Accepted HTTPRoute',
          observedGeneration,
        },
        {
          type: 'ResolvedRefs',
          status: 'True',
          reason: 'ResolvedRefs',
          message: 'References resolved',
          observedGeneration,
        },
      ],
      now,
    ),
  }));
  return { parents };
}

function proxyStatus(proxy: KubernetesObject, now: string): unknown {
  const valid = {
    type: 'Valid',
    status: 'True',
    reason: 'Valid',
    message: 'Valid HTTPProxy',
    observedGeneration: proxy.metadata.generation,
  };
  const conditions = withTransitions(at(proxy, 'status', 'conditions'), [valid], now);
  return { ...recordOf(proxy.status), currentStatus: 'valid', description: 'Valid HTTPProxy', conditions };
}

function gatewayStatus(gateway: KubernetesObject, now: string): unknown {
  const observedGeneration = gateway.metadata.generation;
  const wanted = [
    {
      type: 'Accepted',
      status: 'True',
      reason: 'Accepted',
      message: 'Gateway is accepted',
      observedGeneration,
    },
    {
      type: 'Programmed',
      status: 'True',
      reason: 'Programmed',
      message: 'Gateway is programmed',
      observedGeneration,
    },
  ];
  return {
    ...recordOf(gateway.status),
    conditions: withTransitions(at(gateway, 'status', 'conditions'), wanted, now),
  };
}

// The gateway of the sandbox serves the routes as it accepted them last, which may be an older generation.

/** Kinds that say where requests go, as the store calls them. */
export const routeKeys = ['gateway.networking.k8s.io/httproutes', 'projectcontour.io/httpproxies'] as const;

/** One of those kinds. */
export type RouteKey = (typeof routeKeys)[number];

/** Which routes a hold is about. */
export type RouteRule = (route: KubernetesObject) => boolean;

/** Accepts routes immediately, unless they are held back; requests follow the last accepted state. */
export interface Gateway {
  /** Routes of this rule are not taken until the returned function is called. */
  hold(rule?: RouteRule): () => void;
  /** True when it follows the route as it is now, and answers it. */
  take(key: RouteKey, route: KubernetesObject): boolean;
  /** The routes that requests follow. */
  served(key: RouteKey, namespace: string): KubernetesObject[];
}

/** A gateway that holds no route back; `look` reconciles every route again. */
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
