/** Apex, primary and canary Service (flagger-behaviour.md 2.9). */
import type { Canary } from '../../api/canary/canary.ts';
import type { CustomMetadata } from '../../api/canary/service.ts';
import {
  isGenerated,
  type KubernetesObject,
  keepAwayAnnotations,
  ownerReference,
  ownLabels,
} from '../../api/kubernetes.ts';
import type { ServicePort } from '../../release/release.ts';
import { type SelectorLabel, serviceNames } from '../shared/metadata.ts';
import { refuseForeign, refuseTarget } from '../shared/refusal.ts';
import { takenOverService } from './existing-service.ts';

const longestServiceName = 63;

/** What the Services are built from. */
export interface ServiceSource {
  canary: Canary;
  label: SelectorLabel;
  /** Ports of the release the primary runs: primary Service, and the apex while it selects the primary. */
  ports: readonly ServicePort[];
  /** Ports of the canary's release: canary Service, and the apex while it selects the canary. Undefined leaves the canary Service alone. */
  canaryPorts: readonly ServicePort[] | undefined;
  /** Whose pods the apex selects; `canary` only where the apex Service itself is the traffic (provider kubernetes). */
  apexSelects: 'primary' | 'canary';
  /** The Services as they are now. */
  live: {
    apex?: KubernetesObject | undefined;
    primary?: KubernetesObject | undefined;
    canary?: KubernetesObject | undefined;
  };
}

/** The generated Services for server-side apply, canary Service only if asked for. */
export interface GeneratedServices {
  apex: KubernetesObject;
  primary: KubernetesObject;
  canary: KubernetesObject | undefined;
}

/**
 * Builds the Services. One of others that exists already keeps its type, metadata and owners: ports and selector are taken over (see
 * existing-service.ts). Throws RefusedError without ports, for a name too long, or when a Service belongs to another controller.
 */
export function generatedServices(source: ServiceSource): GeneratedServices {
  const { canary, label, live } = source;
  const names = serviceNames(canary);
  const settings = canary.spec.service;
  if (source.ports.length === 0)
    refuseTarget(canary, 'spec.service.port', 'is required: the generated Services need a port');
  if (names.primary.length > longestServiceName)
    refuseTarget(
      canary,
      settings?.name ? 'spec.service.name' : 'spec.targetRef.name',
      `is too long: Service ${names.primary} must fit in ${longestServiceName} characters`,
    );
  for (const one of [live.apex, live.primary, live.canary]) refuseForeign(one, canary);
  const build = ({ selects, ...part }: Omit<ServicePart, 'selector' | 'labels'> & { selects: string }) =>
    generatedService(canary, {
      ...part,
      selector: { [label.key]: selects },
      labels: { [label.key]: part.name },
    });
  return {
    apex: build({
      name: names.apex,
      // Pods of the other release may have neither the number nor the name.
      ports: (source.apexSelects === 'canary' ? source.canaryPorts : undefined) ?? source.ports,
      selects: source.apexSelects === 'canary' ? label.canary : label.primary,
      custom: settings?.apex,
      live: live.apex,
    }),
    primary: build({
      name: names.primary,
      ports: source.ports,
      selects: label.primary,
      custom: settings?.primary,
      live: live.primary,
    }),
    canary:
      source.canaryPorts &&
      build({
        name: names.canary,
        ports: source.canaryPorts,
        selects: label.canary,
        custom: settings?.canary,
        live: live.canary,
      }),
  };
}

/** What one generated Service is built from. */
interface ServicePart {
  name: string;
  ports: readonly ServicePort[];
  selector: Readonly<Record<string, string>>;
  /** In addition to those of every generated object. */
  labels: Readonly<Record<string, string>>;
  custom: CustomMetadata | undefined;
  live: KubernetesObject | undefined;
}

/** One Service for server-side apply. Throws RefusedError for a live one that selects no pods. */
export function generatedService(canary: Canary, part: ServicePart): KubernetesObject {
  const { name, live } = part;
  const ports = part.ports.map(({ name, protocol, port, targetPort, appProtocol }) => ({
    name,
    protocol,
    port,
    targetPort,
    ...(appProtocol ? { appProtocol } : {}),
  }));
  const spec = { ports, selector: { ...part.selector } };
  if (live && !isGenerated(live, canary)) {
    refuseExternal(canary, live);
    return takenOverService(live, spec.ports, spec.selector);
  }
  const { headless, trafficDistribution, unmanagedMetadata } = canary.spec.service ?? {};
  const labels = { ...part.custom?.labels, ...part.labels, ...ownLabels(canary) };
  const annotations = { ...part.custom?.annotations, ...keepAwayAnnotations };
  // A Service cannot become headless, or stop being headless, once it exists.
  const { clusterIP } = (live?.spec ?? {}) as { clusterIP?: string };
  const isHeadless = live ? clusterIP === 'None' : headless === true;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: canary.metadata.namespace ?? 'default',
      labels: asFound(labels, live?.metadata.labels, unmanagedMetadata?.labels),
      annotations: asFound(annotations, live?.metadata.annotations, unmanagedMetadata?.annotations),
      ownerReferences: [ownerReference(canary)],
    },
    spec: {
      type: 'ClusterIP',
      ...(isHeadless ? { clusterIP: 'None' } : {}),
      ...(trafficDistribution ? { trafficDistribution } : {}),
      ...spec,
    },
  };
}

/** A Service of type ExternalName has neither pods nor ports. */
function refuseExternal(canary: Canary, { metadata, spec }: KubernetesObject): void {
  if ((spec as { type?: string } | undefined)?.type !== 'ExternalName') return;
  const field = canary.spec.service?.name ? 'spec.service.name' : 'spec.targetRef.name';
  refuseTarget(
    canary,
    field,
    `Service ${metadata.name} exists with type ExternalName, which selects no pods; choose another name`,
  );
}

/** Keys of others keep their live value (`service.unmanagedMetadata`). */
function asFound(
  wanted: Record<string, string>,
  live: Readonly<Record<string, string>> | undefined,
  unmanaged: readonly string[] | undefined,
): Record<string, string> {
  // A key that Holdfast does not write is left out, so that its writer can remove it again.
  const foreign = (unmanaged ?? []).flatMap((key) =>
    live?.[key] === undefined || wanted[key] === undefined ? [] : [[key, live[key]] as const],
  );
  return { ...wanted, ...Object.fromEntries(foreign) };
}
