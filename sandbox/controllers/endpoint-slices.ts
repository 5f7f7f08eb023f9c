import { type KubernetesObject, namespacedName, recordOf, recordsOf } from '../../src/api/kubernetes.ts';
import { asString, asStrings, at, type JsonRecord, sameJson } from '../api-server/json.ts';
import { matchesSelector } from '../api-server/selectors.ts';
import { type Controller, type ControllerClient, isControlledBy, splitKey } from './controller.ts';

const SLICES = 'discovery.k8s.io/endpointslices';
const SERVICE_NAME = 'kubernetes.io/service-name';
const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const HEADLESS = 'service.kubernetes.io/headless';
const CONTROLLER = 'endpointslice-controller.k8s.io';
/** `--max-endpoints-per-slice` of the controller manager. */
const MAX_ENDPOINTS = 100;

/**
 * EndpointSlices of each Service, as the controller manager makes them: pods with the same ports by number share slices, a port whose name a pod
 * lacks is in none of that pod's, and a Service without pods has one empty slice.
 */
export function endpointSliceController(client: ControllerClient): Controller {
  return {
    name: 'endpointslices',
    keysFor({ storageKey, object, previous }) {
      if (storageKey === '/services') return [namespacedName(object)];
      if (storageKey === SLICES)
        return [`${object.metadata.namespace}/${object.metadata.labels?.[SERVICE_NAME]}`];
      if (storageKey !== '/pods') return [];
      const selects = (service: KubernetesObject) =>
        [object, ...(previous ? [previous] : [])].some((pod) =>
          matchesSelector(at(service, 'spec', 'selector'), pod.metadata.labels ?? {}),
        );
      return client.list('/services', object.metadata.namespace).filter(selects).map(namespacedName);
    },
    reconcile(key) {
      const service = client.get('/services', ...splitKey(key));
      if (!service || service.metadata.deletionTimestamp) return;
      if (at(service, 'spec', 'selector') === undefined || at(service, 'spec', 'type') === 'ExternalName')
        return;
      for (const addressType of addressTypes(service)) bringTo(client, service, addressType);
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

/** Ports of the Service as numbers of this pod, without those that it lacks. */
export function endpointPorts(service: KubernetesObject, pod: KubernetesObject): JsonRecord[] {
  return recordsOf(at(service, 'spec', 'ports')).flatMap((port) => {
    const number = numberIn(pod, port);
    if (number === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = port;
    return [{ name, protocol, port: number, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}

function numberIn(pod: KubernetesObject, { targetPort, port, protocol = 'TCP' }: JsonRecord): unknown {
  if (typeof targetPort !== 'string') return targetPort ?? port;
  const sidecars = recordsOf(at(pod, 'spec', 'initContainers')).filter(
    (container) => container.restartPolicy === 'Always',
  );
  const declared = [...recordsOf(at(pod, 'spec', 'containers')), ...sidecars].flatMap((container) =>
    recordsOf(container.ports),
  );
  return declared.find((one) => one.name === targetPort && (one.protocol ?? 'TCP') === protocol)
    ?.containerPort;
}

function addressTypes(service: KubernetesObject): string[] {
  const families = at(service, 'spec', 'ipFamilies');
  return Array.isArray(families) && families.length > 0 ? families.map(String) : ['IPv4'];
}

interface Group {
  readonly ports: readonly JsonRecord[];
  readonly endpoints: JsonRecord[];
}

function bringTo(client: ControllerClient, service: KubernetesObject, addressType: string): void {
  const live = client
    .list(SLICES, service.metadata.namespace)
    .filter((slice) => isManaged(slice, service) && slice.addressType === addressType);
  const wanted = groupsOf(client, service, addressType).flatMap((group) => inChunks(group, live));
  const left = new Set(live);
  const take = (fits: (slice: KubernetesObject) => boolean) => {
    const found = [...left].find(fits);
    if (found) left.delete(found);
    return found;
  };
  const own = wanted.map((group) => ({
    group,
    slice: take((slice) => keyOfPorts(slice.ports) === keyOfPorts(group.ports)),
  }));
  // What would go away is used for what is new, as the controller does.
  for (const { group, slice } of own)
    write(client, service, { addressType, group, live: slice ?? take(() => true) });
  for (const slice of left) client.remove(slice);
}

/** Pods by their ports; a Service without any has one group without ports. */
function groupsOf(client: ControllerClient, service: KubernetesObject, addressType: string): Group[] {
  const groups = new Map<string, Group>();
  for (const pod of podsOfService(client, service)) {
    const addresses = addressesOf(pod, addressType);
    if (addresses.length === 0 || isOver(pod)) continue;
    const ports = endpointPorts(service, pod);
    const key = keyOfPorts(ports);
    const group = groups.get(key) ?? { ports, endpoints: [] };
    group.endpoints.push(endpoint(service, pod, addresses));
    groups.set(key, group);
  }
  return groups.size > 0 ? [...groups.values()] : [{ ports: [], endpoints: [] }];
}

/** Endpoints stay in the slice order in which they were first written. */
function inChunks({ ports, endpoints }: Group, live: readonly KubernetesObject[]): Group[] {
  const known = live.flatMap((slice) => recordsOf(slice.endpoints).map(uidOf));
  const rank = (one: JsonRecord) => (known.includes(uidOf(one)) ? known.indexOf(uidOf(one)) : known.length);
  const sorted = endpoints.toSorted((left, right) => rank(left) - rank(right));
  const chunks: Group[] = [];
  for (let start = 0; start === 0 || start < sorted.length; start += MAX_ENDPOINTS)
    chunks.push({ ports, endpoints: sorted.slice(start, start + MAX_ENDPOINTS) });
  return chunks;
}

function uidOf(one: JsonRecord): string {
  return asString(at(one, 'targetRef', 'uid'));
}

interface Writing {
  readonly addressType: string;
  readonly group: Group;
  readonly live: KubernetesObject | undefined;
}

function write(
  client: ControllerClient,
  service: KubernetesObject,
  { addressType, group, live }: Writing,
): void {
  const { name, namespace, uid = '' } = service.metadata;
  const owner = { apiVersion: 'v1', kind: 'Service', name, uid, controller: true, blockOwnerDeletion: true };
  const content = {
    // Empty lists are null in the answers of a real server.
    endpoints: group.endpoints.length > 0 ? group.endpoints : null,
    ports: group.ports.length > 0 ? group.ports : null,
  };
  const labels = labelsOf(service);
  if (!live)
    return void client.create({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        generateName: `${name}-`,
        ...(namespace ? { namespace } : {}),
        labels,
        ownerReferences: [owner],
      } as unknown as KubernetesObject['metadata'],
      addressType,
      ...content,
    });
  const isSame = sameJson(live.endpoints, content.endpoints) && sameJson(live.ports, content.ports);
  if (isSame && sameJson(live.metadata.labels, labels)) return;
  client.update({ ...live, ...content, metadata: { ...live.metadata, labels } });
}

/** The Service's own labels come along. */
function labelsOf(service: KubernetesObject): Record<string, string> {
  const { [HEADLESS]: _, ...own } = service.metadata.labels ?? {};
  const isHeadless = at(service, 'spec', 'clusterIP') === 'None';
  return {
    ...own,
    ...(isHeadless ? { [HEADLESS]: '' } : {}),
    [SERVICE_NAME]: service.metadata.name,
    [MANAGED_BY]: CONTROLLER,
  };
}

function isManaged(slice: KubernetesObject, service: KubernetesObject): boolean {
  const labels = slice.metadata.labels ?? {};
  return (
    labels[SERVICE_NAME] === service.metadata.name &&
    labels[MANAGED_BY] === CONTROLLER &&
    isControlledBy(slice, service)
  );
}

function endpoint(
  service: KubernetesObject,
  pod: KubernetesObject,
  addresses: readonly string[],
): JsonRecord {
  const conditions = recordsOf(at(pod, 'status', 'conditions'));
  const serving = conditions.some((each) => each.type === 'Ready' && each.status === 'True');
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ready = at(service, 'spec', 'publishNotReadyAddresses') === true || (serving && !terminating);
  const { name, namespace, uid } = pod.metadata;
  const { hostname, subdomain, nodeName } = recordOf(pod.spec);
  const isNamed = hostname !== undefined && subdomain === service.metadata.name;
  return {
    addresses,
    conditions: { ready, serving, terminating },
    ...(isNamed ? { hostname } : {}),
    ...(nodeName === undefined ? {} : { nodeName }),
    targetRef: { kind: 'Pod', name, namespace, uid },
  };
}

function addressesOf(pod: KubernetesObject, addressType: string): string[] {
  const addresses = recordsOf(at(pod, 'status', 'podIPs')).map(({ ip }) => asString(ip));
  return addresses.filter((ip) => ip !== '' && ip.includes(':') === (addressType === 'IPv6'));
}

/** A pod that has ended gets no requests, whatever its address was. */
function isOver(pod: KubernetesObject): boolean {
  return ['Succeeded', 'Failed'].includes(asString(at(pod, 'status', 'phase')));
}

function keyOfPorts(ports: unknown): string {
  const entries = recordsOf(ports).map(({ name, protocol, port, appProtocol }) =>
    JSON.stringify([name, protocol, port, appProtocol]),
  );
  return entries.sort().join();
}
