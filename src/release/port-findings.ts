/** Ports that a Canary's Services would send requests to, beside what the template says of its ports (ADR 32). */
import type { KubernetesObject } from '../api/kubernetes.ts';
import { describe } from '../api/kubernetes.ts';
import { portWords, undeclaredPorts, unknownNames } from './declared-ports.ts';
import { type ServicePortSpec, servicePorts } from './ports.ts';
import { type Release, templateOf } from './release.ts';
import { isKnative, isService } from './service-content.ts';

/** What is to be said of a field of the Canary. */
export interface PortFinding {
  readonly field: string;
  readonly message: string;
}

/** A name that the template lacks: no pod of it would ever get a request. */
export function unknownPort(
  service: ServicePortSpec | undefined,
  target: KubernetesObject,
): PortFinding | undefined {
  if (isService(target) || isKnative(target)) return undefined;
  const template = templateOf({ target });
  const [name] = unknownNames(template, servicePorts(service, template));
  if (name === undefined) return undefined;
  return {
    field: 'spec.service.targetPort',
    message: `"${name}" is the name of no TCP port of ${describe(target)}, so that no pod of it would get a request; its ports: ${portWords(template)}. Name one of them, or give the number`,
  };
}

/** A number that the template does not name, and what may come of it: whether somebody listens there nobody can tell. */
export function undeclaredPort(
  service: ServicePortSpec | undefined,
  { target, ports }: Pick<Release, 'target' | 'ports'>,
): PortFinding | undefined {
  if (isService(target) || isKnative(target)) return undefined;
  const template = templateOf({ target });
  const [number] = undeclaredPorts(template, ports) ?? [];
  if (number === undefined) return undefined;
  return {
    field: service?.targetPort === undefined ? 'spec.service.port' : 'spec.service.targetPort',
    message: `sends requests to port ${number}, which no container of ${describe(target)} declares and no probe asks (its ports: ${portWords(template)}); if nothing listens there, every request fails and no endpoint shows it. Declare it, or better ask it by a readinessProbe`,
  };
}
