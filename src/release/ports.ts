import type { PodTemplate } from '../api/kubernetes.ts';
import { numberOf, recordsOf, textOf } from './json.ts';
import type { ServicePort } from './release.ts';

/** What `spec.service` of a Canary says about ports. */
export interface ServicePortSpec {
  port: number;
  portName?: string | undefined;
  targetPort?: number | string | undefined;
  appProtocol?: string | undefined;
  portDiscovery?: boolean | undefined;
}

/** Sidecars whose ports are no part of the application. */
const sidecars = new Set(['istio-proxy', 'envoy']);

/**
 * Ports of the generated Services: the Canary's own first, then, with portDiscovery, every other container port of the template in the
 * order of the manifest (flagger-behaviour 2.9). Unlike Flagger, a discovered port keeps its protocol, and a name that is taken is
 * replaced by `tcp-<container>-<index>`. Empty when the Canary has no `spec.service`.
 */
export function servicePorts(service: ServicePortSpec | undefined, template: PodTemplate): ServicePort[] {
  if (!service) return [];
  const ports = [firstPort(service)];
  if (service.portDiscovery !== true) return ports;
  for (const port of containerPorts(template)) {
    const known = ports.some((other) => other.port === port.port && other.protocol === port.protocol);
    if (known || isCovered(service, port)) continue;
    const free = port.name !== undefined && !ports.some((other) => other.name === port.name);
    const name = free && port.name !== undefined ? port.name : port.fallbackName;
    ports.push({ name, protocol: port.protocol, port: port.port, targetPort: port.port });
  }
  return ports;
}

interface ContainerPort {
  name: string | undefined;
  fallbackName: string;
  protocol: string;
  port: number;
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

function isCovered(service: ServicePortSpec, port: ContainerPort): boolean {
  const target = explicitTarget(service) ?? service.port;
  return typeof target === 'number' ? port.port === target : port.name === target;
}

function containerPorts(template: PodTemplate): ContainerPort[] {
  return recordsOf(template.spec.containers).flatMap((container) => {
    if (sidecars.has(String(container.name))) return [];
    return recordsOf(container.ports).flatMap((entry, index): ContainerPort[] => {
      const port = numberOf(entry.containerPort);
      if (port === undefined) return [];
      const protocol = textOf(entry.protocol) ?? 'TCP';
      return [{ name: textOf(entry.name), fallbackName: `tcp-${container.name}-${index}`, protocol, port }];
    });
  });
}
