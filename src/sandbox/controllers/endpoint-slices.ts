import type { KubernetesObject } from '../../api/kubernetes.ts';
import type { Controller } from '../controller-loop.ts';
import { asRecords, asString, asStrings, at, type JsonRecord, sameJson } from '../json.ts';
import { matchesSelector } from '../selectors.ts';
import { type ControllerClient, keyOf, splitKey } from './controller-client.ts';
import { isServing } from './pods.ts';

const SLICES = 'discovery.k8s.io/endpointslices';

/** One EndpointSlice a Service, with the pods its selector finds. */
export function endpointSliceController(client: ControllerClient): Controller {
  return {
    name: 'endpointslices',
    keysFor(event) {
      if (event.storageKey === '/services') return [keyOf(event.object)];
      if (event.storageKey !== '/pods') return [];
      const labels = event.object.metadata.labels ?? {};
      const services = client.list('/services', event.object.metadata.namespace);
      return services
        .filter((service) => matchesSelector(at(service, 'spec', 'selector'), labels))
        .map(keyOf);
    },
    reconcile(key) {
      const service = client.get('/services', ...splitKey(key));
      if (service && at(service, 'spec', 'selector') !== undefined && !service.metadata.deletionTimestamp)
        write(client, service);
    },
  };
}

/** The pods a Service's selector finds, ready or not. */
export function podsOfService(
  client: Pick<ControllerClient, 'list'>,
  service: KubernetesObject,
): KubernetesObject[] {
  const selector = asStrings(at(service, 'spec', 'selector'));
  const pods = client.list('/pods', service.metadata.namespace);
  return pods.filter((pod) => matchesSelector(selector, pod.metadata.labels ?? {}));
}

function write(client: ControllerClient, service: KubernetesObject): void {
  const { name, namespace, uid } = service.metadata;
  const pods = podsOfService(client, service).filter((pod) => asString(at(pod, 'status', 'podIP')) !== '');
  const sliceName = `${name}-slice`;
  const live = client.get(SLICES, namespace, sliceName);
  const owner = {
    apiVersion: 'v1',
    kind: 'Service',
    name,
    uid: uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
  const slice: KubernetesObject = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...live?.metadata,
      name: sliceName,
      ...(namespace ? { namespace } : {}),
      labels: {
        'kubernetes.io/service-name': name,
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      ownerReferences: [owner],
    },
    addressType: 'IPv4',
    endpoints: pods.map(endpoint),
    ports: asRecords(at(service, 'spec', 'ports')).map((port) => slicePort(port, pods[0])),
  };
  if (!live) client.create(slice);
  else if (!sameJson(live.endpoints, slice.endpoints) || !sameJson(live.ports, slice.ports))
    client.update(slice);
}

function endpoint(pod: KubernetesObject): JsonRecord {
  const conditions = at(pod, 'status', 'conditions');
  const serving = asRecords(conditions).some((each) => each.type === 'Ready' && each.status === 'True');
  const { name, namespace, uid } = pod.metadata;
  return {
    addresses: [at(pod, 'status', 'podIP')],
    conditions: { ready: isServing(pod), serving, terminating: pod.metadata.deletionTimestamp !== undefined },
    nodeName: at(pod, 'spec', 'nodeName'),
    targetRef: { kind: 'Pod', name, namespace, uid },
  };
}

function slicePort(port: JsonRecord, pod: KubernetesObject | undefined): JsonRecord {
  const containerPorts = asRecords(at(pod, 'spec', 'containers')).flatMap((container) =>
    asRecords(container.ports),
  );
  const named = containerPorts.find((each) => each.name === port.targetPort)?.containerPort;
  const number = typeof port.targetPort === 'number' ? port.targetPort : named;
  return { name: port.name ?? '', protocol: port.protocol ?? 'TCP', port: number ?? port.port };
}
