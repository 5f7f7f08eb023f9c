import {
  describe,
  type KubernetesObject,
  numberOf,
  type PodTemplate,
  recordOf,
  recordsOf,
  textOf,
} from '../api/kubernetes.ts';
import { listNames } from '../api/limits.ts';
import { isKnative, isService, type Release, type ServicePort, templateOf } from './release.ts';

/** The ports in `spec.service` of a Canary. */
export interface ServicePortSpec {
  port: number;
  portName?: string | undefined;
  targetPort?: number | string | undefined;
  appProtocol?: string | undefined;
  portDiscovery?: boolean | undefined;
}

/** Sidecars whose ports do not belong to the application. */
const sidecars = new Set(['istio-proxy', 'envoy']);

/**
 * Ports of the generated Services: the Canary's own first, then, with portDiscovery, every other container port of the template in the
 * order of the manifest (flagger-behaviour 2.9). Unlike Flagger, a discovered port keeps its protocol, and a duplicate name is replaced by
 * `tcp-<container>-<index>`. Empty if the Canary has no `spec.service`.
 */
export function servicePorts(service: ServicePortSpec | undefined, template: PodTemplate): ServicePort[] {
  if (!service) return [];
  const ports = [firstPort(service)];
  if (service.portDiscovery !== true) return ports;
  const target = explicitTarget(service) ?? service.port;
  const [numbers, names] = [new Set(ports.map(numberOfPort)), new Set(ports.map(({ name }) => name))];
  const containers = recordsOf(template.spec.containers).filter(({ name }) => !sidecars.has(String(name)));
  for (const port of containers.flatMap(portsOf)) {
    const isKnown = numbers.has(numberOfPort(port));
    const isNamed = typeof target === 'number' ? port.port === target : port.name === target;
    const isTarget = isNamed && port.protocol === 'TCP';
    if (isKnown || isTarget) continue;
    const name = port.name !== undefined && !names.has(port.name) ? port.name : port.fallbackName;
    ports.push({ name, protocol: port.protocol, port: port.port, targetPort: port.port });
    numbers.add(numberOfPort(port));
    names.add(name);
  }
  return ports;
}

function numberOfPort({ port, protocol }: { readonly port: number; readonly protocol: string }): string {
  return `${port}/${protocol}`;
}

function firstPort(service: ServicePortSpec): ServicePort {
  const port: ServicePort = {
    name: service.portName || 'http',
    protocol: 'TCP',
    port: service.port,
    targetPort: explicitTarget(service) ?? service.port,
  };
  return service.appProtocol ? { ...port, appProtocol: service.appProtocol } : port;
}

/** `0` and `"0"` count as unset, as in Flagger. */
function explicitTarget(service: ServicePortSpec): number | string | undefined {
  const target = service.targetPort;
  return target === undefined || String(target) === '0' || target === '' ? undefined : target;
}

// Ports that a pod template declares, compared with the ports that a Service sends requests to (ADR 32).

/** A port that a container declares. */
interface DeclaredPort {
  readonly name: string | undefined;
  /** In the place of a name that is missing or taken. */
  readonly fallbackName: string;
  readonly protocol: string;
  readonly port: number;
}

/** Ports of all containers, in the order in which the endpoint controller resolves a name: sidecars that are init containers come last. */
export function declaredPorts({ spec }: PodTemplate): DeclaredPort[] {
  return containersOf(spec).flatMap(portsOf);
}

/** Names without a container port: no pod would ever be an endpoint of such a port. */
function unknownNames(template: PodTemplate, ports: readonly TargetPort[]): string[] {
  const declared = declaredPorts(template);
  return ports.flatMap(({ targetPort, protocol = 'TCP' }) =>
    typeof targetPort !== 'string' ||
    declared.some((one) => one.name === targetPort && one.protocol === protocol)
      ? []
      : [targetPort],
  );
}

/**
 * Numbers that neither a port nor a probe of the template names. To Kubernetes a declared port is only information, so that a container may
 * listen there all the same. Undefined: the template declares no port to compare with.
 */
export function undeclaredPorts(template: PodTemplate, ports: readonly TargetPort[]): number[] | undefined {
  const declared = declaredPorts(template);
  if (declared.length === 0) return undefined;
  const probed = containersOf(template.spec).flatMap(probedPorts);
  const known = new Set(
    [...declared, ...probed.map((port) => ({ port, protocol: 'TCP' }))].map(numberOfPort),
  );
  return ports.flatMap(({ port, targetPort = port, protocol = 'TCP' }) =>
    typeof targetPort === 'number' && !known.has(numberOfPort({ port: targetPort, protocol }))
      ? [targetPort]
      : [],
  );
}

/** A port of a Service and its target. */
interface TargetPort {
  readonly port: number;
  /** Default: the port itself. */
  readonly targetPort?: number | string | undefined;
  readonly protocol?: string | undefined;
}

/** Ports for people: `http (8080), 9090`; `none` without any. */
function describePorts(template: PodTemplate): string {
  const ports = declaredPorts(template).map(({ name, port, protocol }) => {
    const number = protocol === 'TCP' ? String(port) : `${port}/${protocol}`;
    return name === undefined ? number : `${name} (${number})`;
  });
  return ports.length === 0 ? 'none' : listNames(ports, 8);
}

type Container = Record<string, unknown>;

function containersOf(spec: PodTemplate['spec']): Container[] {
  const sidecars = recordsOf(spec.initContainers).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...recordsOf(spec.containers), ...sidecars];
}

function portsOf(container: Container): DeclaredPort[] {
  return recordsOf(container.ports).flatMap((entry, index): DeclaredPort[] => {
    const port = numberOf(entry.containerPort);
    if (port === undefined) return [];
    const protocol = textOf(entry.protocol) ?? 'TCP';
    return [{ name: textOf(entry.name), fallbackName: `tcp-${container.name}-${index}`, protocol, port }];
  });
}

/** Ports of probes: a ready pod answers them, so that a container listens there. */
function probedPorts(container: Container): number[] {
  const own = portsOf(container);
  return ['readinessProbe', 'livenessProbe', 'startupProbe'].flatMap((probe) => {
    const { httpGet, tcpSocket, grpc } = recordOf(container[probe]);
    return [httpGet, tcpSocket, grpc].flatMap((handler) => {
      const { port } = recordOf(handler);
      const number = numberOf(port) ?? own.find(({ name }) => name !== undefined && name === port)?.port;
      return number === undefined ? [] : [number];
    });
  });
}

// Findings about the ports of a Canary's Services (ADR 32).

/** A finding about a field of an object. */
export interface FieldFinding {
  readonly field: string;
  readonly message: string;
}

/** The target port is a name that the template does not have: no pod would ever get a request. */
export function unknownPort(
  service: ServicePortSpec | undefined,
  target: KubernetesObject,
): FieldFinding | undefined {
  if (isService(target) || isKnative(target)) return undefined;
  const template = templateOf({ target });
  const [name] = unknownNames(template, servicePorts(service, template));
  if (name === undefined) return undefined;
  return {
    field: 'spec.service.targetPort',
    message: `"${name}" is not the name of a TCP port of ${describe(target)}, so its pods would get no requests (its ports: ${describePorts(template)}); use one of them, or the number`,
  };
}

/** The target port is a number that the template does not name: it is unknown whether a container listens there. */
export function undeclaredPort(
  service: ServicePortSpec | undefined,
  { target, ports }: Pick<Release, 'target' | 'ports'>,
): FieldFinding | undefined {
  if (isService(target) || isKnative(target)) return undefined;
  const template = templateOf({ target });
  const [number] = undeclaredPorts(template, ports) ?? [];
  if (number === undefined) return undefined;
  return {
    field: service?.targetPort === undefined ? 'spec.service.port' : 'spec.service.targetPort',
    message: `sends requests to port ${number}, which no container of ${describe(target)} declares and no probe checks (its ports: ${describePorts(template)}); if nothing listens there, every request fails while the endpoints are ready. Declare the port, or better check it with a readinessProbe`,
  };
}
