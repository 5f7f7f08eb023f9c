import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Controller } from '../controller-loop.ts';
import { type Gateway, type RouteKey, routeKeys } from '../gateway.ts';
import { asRecord, asRecords, at } from '../json.ts';
import { timestamp } from '../object-writer.ts';
import { withTransitions } from './conditions.ts';
import { type ControllerClient, keyOf, splitKey } from './controller-client.ts';

const CONTROLLER_NAME = 'projectcontour.io/gateway-controller';

/** Answers every route that the gateway takes, which is at once unless a test holds it back: as a healthy one does within moments. */
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
    keysFor: (event) => (event.storageKey === storageKey ? [keyOf(event.object)] : []),
    reconcile(key) {
      const object = client.get(storageKey, ...splitKey(key));
      if (object && takes(object)) client.updateStatus(object, statusOf(object, timestamp(client.nowMs())));
    },
  };
}

function routeStatus(route: KubernetesObject, now: string): unknown {
  const observedGeneration = route.metadata.generation;
  const previous = asRecords(at(route, 'status', 'parents'));
  const parents = asRecords(at(route, 'spec', 'parentRefs')).map((parentRef, index) => ({
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
  return { ...asRecord(proxy.status), currentStatus: 'valid', description: 'Valid HTTPProxy', conditions };
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
    ...asRecord(gateway.status),
    conditions: withTransitions(at(gateway, 'status', 'conditions'), wanted, now),
  };
}
