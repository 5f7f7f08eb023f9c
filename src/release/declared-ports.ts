/** What a pod template says of the ports that its containers listen on, beside the ports that a Service sends requests to (ADR 32). */
import type { PodTemplate } from '../api/kubernetes.ts';
import { numberOf, recordOf, recordsOf, textOf } from './json.ts';

/** A port as a container declares it. */
export interface DeclaredPort {
  readonly name: string | undefined;
  readonly protocol: string;
  readonly port: number;
}

/** Ports of all containers, in the order in which the endpoint controller looks a name up: sidecars that are init containers come last. */
export function declaredPorts({ spec }: PodTemplate): DeclaredPort[] {
  return containersOf(spec).flatMap(portsOf);
}

/** Names that no container's port has: no pod would ever be an endpoint of such a port. */
export function unknownNames(template: PodTemplate, ports: readonly TargetPort[]): string[] {
  const declared = declaredPorts(template);
  return ports.flatMap(({ targetPort, protocol = 'TCP' }) =>
    typeof targetPort !== 'string' ||
    declared.some((one) => one.name === targetPort && one.protocol === protocol)
      ? []
      : [targetPort],
  );
}

/**
 * Numbers that neither a port nor a probe of the template names. Kubernetes takes a declared port for information only, so that somebody may
 * listen there all the same; undefined where none is declared, and nothing can be compared.
 */
export function undeclaredPorts(template: PodTemplate, ports: readonly TargetPort[]): number[] | undefined {
  const declared = declaredPorts(template);
  if (declared.length === 0) return undefined;
  const probed = containersOf(template.spec).flatMap(probedPorts);
  const isKnown = (number: number, protocol: string) =>
    declared.some((one) => one.port === number && one.protocol === protocol) ||
    (protocol === 'TCP' && probed.includes(number));
  return ports.flatMap(({ port, targetPort = port, protocol = 'TCP' }) =>
    typeof targetPort === 'number' && !isKnown(targetPort, protocol) ? [targetPort] : [],
  );
}

/** Where a Service sends the requests of one of its ports. */
export interface TargetPort {
  readonly port: number;
  /** Default: the port itself. */
  readonly targetPort?: number | string | undefined;
  readonly protocol?: string | undefined;
}

/** Ports for people: `http (8080), 9090`; `none` without any. */
export function portWords(template: PodTemplate): string {
  const words = declaredPorts(template).map(({ name, port, protocol }) => {
    const number = protocol === 'TCP' ? String(port) : `${port}/${protocol}`;
    return name === undefined ? number : `${name} (${number})`;
  });
  const shown = words.slice(0, mostShown).join(', ');
  if (words.length === 0) return 'none';
  return words.length > mostShown ? `${shown} and ${words.length - mostShown} more` : shown;
}

/** What is said in one sentence. */
const mostShown = 8;

type Container = Record<string, unknown>;

function containersOf(spec: PodTemplate['spec']): Container[] {
  const sidecars = recordsOf(spec.initContainers).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...recordsOf(spec.containers), ...sidecars];
}

function portsOf(container: Container): DeclaredPort[] {
  return recordsOf(container.ports).flatMap((entry): DeclaredPort[] => {
    const port = numberOf(entry.containerPort);
    if (port === undefined) return [];
    return [{ name: textOf(entry.name), protocol: textOf(entry.protocol) ?? 'TCP', port }];
  });
}

/** A pod that is ready answers its probes: somebody listens there. */
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
