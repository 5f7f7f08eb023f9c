/** Which pods get requests through a Service, port by port, by its EndpointSlices (ADR 32). */
import { type KubernetesObject, takenOverAnnotation } from '../../api/kubernetes.ts';
import { declaredPorts } from '../../release/ports.ts';
import { isExternalName, selectorOf } from '../../release/release.ts';
import type { Pod } from './pods.ts';

/** The kind of endpoints with their ports. */
export const endpointSliceKind = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' } as const;

/** Label of an EndpointSlice: the Service that it is of. */
export const serviceNameLabel = 'kubernetes.io/service-name';

/** A port of a Service as the API server returns it, with its defaults filled in. */
export interface LivePort {
  readonly name?: string;
  readonly protocol?: string;
  readonly port: number;
  readonly targetPort?: number | string;
}

interface Slice {
  readonly endpoints?: ReadonlyArray<{
    readonly conditions?: { readonly ready?: boolean };
    readonly targetRef?: { readonly uid?: string };
  }> | null;
  readonly ports?: ReadonlyArray<Partial<LivePort>> | null;
}

/** What endpoints are counted from. */
export interface EndpointSource {
  /** Undefined: there is none. */
  readonly service: KubernetesObject | undefined;
  /** Of the namespace; those of other Services are left out here. */
  readonly endpointSlices?: readonly KubernetesObject[] | undefined;
  /** Only this port of the Service counts. Default: all of `ownPorts`. */
  readonly port?: number | undefined;
}

/**
 * How many of these pods are ready addresses of every port of the Service: the number for the port that has the fewest. Undefined if
 * endpoints are not created from pods: without a Service, without a selector, or for an ExternalName.
 */
export function endpointsOf(source: EndpointSource, pods: readonly Pod[]): number | undefined {
  const { service, endpointSlices = [] } = source;
  if (!service || isExternalName(service.spec) || !selectorOf(service.spec)) return undefined;
  const slices = endpointSlices.filter(
    ({ metadata }) => metadata.labels?.[serviceNameLabel] === service.metadata.name,
  ) as unknown as readonly Slice[];
  const ports = ownPorts(service).filter(({ port }) => source.port === undefined || port === source.port);
  // A headless Service may have none; then its slices have none either.
  if (ports.length === 0) return pods.filter((pod) => slices.some((slice) => isReadyIn(slice, pod))).length;
  const counts = ports.map((port) => pods.filter((pod) => isReadyAt(slices, pod, port)).length);
  return Math.min(...counts);
}

/** The first port that some of these pods are no ready address of, as `metrics (9090)`. */
export function unreachedPort(source: EndpointSource, pods: readonly Pod[]): string | undefined {
  const reached = (port: number) => endpointsOf({ ...source, port }, pods) ?? pods.length;
  const ports = source.service ? ownPorts(source.service) : [];
  const found = ports.find(({ port }) => reached(port) < pods.length);
  return found && (found.name ? `${found.name} (${found.port})` : String(found.port));
}

/** Its ports; of a Service that was taken over, the Canary's alone: its pods may not have the others. */
export function ownPorts({ metadata, spec }: KubernetesObject): readonly LivePort[] {
  const { ports = [] } = (spec ?? {}) as { ports?: readonly LivePort[] };
  const taken = metadata.annotations?.[takenOverAnnotation]?.split(',');
  return ports.filter((one) => !taken || taken.includes(portKey(one)));
}

/**
 * Whether requests to a Service with the one ports reach pods behind the other, too: both have the same first port, which a route leads to, and each
 * port that both have goes to the same number or name. Without one of the two there is nothing that differs.
 */
export function haveSameTargets(
  one: readonly LivePort[] | undefined,
  other: readonly LivePort[] | undefined,
): boolean {
  if (!one || !other) return true;
  const targetsOf = (ports: readonly LivePort[]) =>
    ports.map((port) => [portKey(port), port.targetPort ?? port.port] as const);
  const targets = new Map(targetsOf(one));
  if (one[0]?.port !== other[0]?.port) return false;
  return targetsOf(other).every(([key, target]) => (targets.get(key) ?? target) === target);
}

/** A port as `80/TCP`: no two ports of one Service have the same. */
export function portKey({ port, protocol = 'TCP' }: Pick<LivePort, 'port' | 'protocol'>): string {
  return `${port}/${protocol}`;
}

/** A slice with the port that the Service named before says nothing about the one that it names now. */
function isReadyAt(slices: readonly Slice[], pod: Pod, port: LivePort): boolean {
  const { targetPort = port.port, protocol = 'TCP' } = port;
  // As the endpoint controller finds it; undefined where the pod has no port of that name.
  const number =
    typeof targetPort === 'number'
      ? targetPort
      : declaredPorts({ spec: { containers: [], ...pod.spec } }).find(
          (one) => one.name === targetPort && one.protocol === protocol,
        )?.port;
  const isPort = (one: Partial<LivePort>) =>
    (one.name ?? '') === (port.name ?? '') && (one.protocol ?? 'TCP') === protocol && one.port === number;
  return (
    number !== undefined &&
    slices.some((slice) => slice.ports?.some(isPort) === true && isReadyIn(slice, pod))
  );
}

/** Ready is true, or absent (EndpointConditions of discovery.k8s.io/v1). */
function isReadyIn({ endpoints }: Slice, { metadata: { uid } }: Pod): boolean {
  return (
    endpoints?.some(
      ({ targetRef, conditions }) =>
        uid !== undefined && targetRef?.uid === uid && conditions?.ready !== false,
    ) === true
  );
}
