/** A Service of others that exists under a generated name: which fields Holdfast takes over, and which stay its owner's (flagger 1345, 1407). */

import {
  canaryLabel,
  isRecord,
  type KubernetesObject,
  keepFluxAway,
  originalAnnotation,
  takenOverAnnotation,
} from '../../api/kubernetes.ts';
import type { ServicePort } from '../../release/release.ts';
import { managedFieldsOf, rolloutManager } from '../compare/managed-fields.ts';
import { type LivePort, portKey } from '../pods/endpoints.ts';
import { appliedAnnotation } from '../shared/metadata.ts';

interface ServiceSpec {
  selector?: Record<string, string>;
  ports?: LivePort[];
}

/**
 * Fields for server-side apply over the live Service: the Canary's ports and the selector. Its other ports stay its owner's; where a name
 * is taken by one of them, the Canary's port gets another, and ports without a name get one, since Kubernetes requires names for several ports.
 */
export function takenOverService(
  live: KubernetesObject,
  ports: readonly ServicePort[],
  selector: Readonly<Record<string, string>>,
): KubernetesObject {
  const { name, namespace } = live.metadata;
  const before = new Set(portsTaken(live));
  const declared = new Set(ports.map(portKey));
  const others = livePorts(live).filter(
    (port) => !declared.has(portKey(port)) && (!before.has(portKey(port)) || isKeptByOthers(live, port)),
  );
  const taken = new Set(others.map((other) => other.name));
  const nameless = others
    .filter((other) => !other.name || other.name === fallbackName(other))
    .map(({ port, protocol = 'TCP' }) => ({ port, protocol, name: fallbackName({ port, protocol }) }));
  const own = ports.map((one) => (taken.has(one.name) ? { ...one, name: `${one.name}-${one.port}` } : one));
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      annotations: { ...keepFluxAway, [takenOverAnnotation]: ports.map(portKey).join(',') },
    },
    spec: { ports: [...own, ...nameless], selector: { ...selector } },
  };
}

/** Whether ports that were taken over are given up by these: who else keeps them only `managedFields` tell. */
export function givesUpPorts(live: KubernetesObject, ports: readonly ServicePort[]): boolean {
  const declared = new Set(ports.map(portKey));
  return portsTaken(live).some((key) => !declared.has(key));
}

function portsTaken({ metadata }: KubernetesObject): string[] {
  return metadata.annotations?.[takenOverAnnotation]?.split(',') ?? [];
}

/** The port stays when it is left out of our server-side apply. */
function isKeptByOthers(live: KubernetesObject, { port, protocol = 'TCP' }: LivePort): boolean {
  const key = `k:${JSON.stringify({ port, protocol })}`;
  return managedFieldsOf(live).some(({ manager, fieldsV1 }) => {
    const fields = fieldsV1 as { 'f:spec'?: { 'f:ports'?: Record<string, unknown> } } | undefined;
    return manager !== rolloutManager && fields?.['f:spec']?.['f:ports']?.[key] !== undefined;
  });
}

/** Merge patch of its annotations that returns it to its owner; undefined when it was not taken over. */
export function giveBackPatch(live: KubernetesObject): Record<string, null> | undefined {
  if (live.metadata.annotations?.[takenOverAnnotation] === undefined) return undefined;
  const keys = [...Object.keys(keepFluxAway), takenOverAnnotation, appliedAnnotation, originalAnnotation];
  return Object.fromEntries(keys.map((key) => [key, null]));
}

/** Merge patch to its spec before it was taken over; undefined if that was not saved. */
export function originalSpecPatch({ metadata, spec }: KubernetesObject): object | undefined {
  const { annotations = {} } = metadata;
  const saved = annotations[takenOverAnnotation] === undefined ? undefined : annotations[originalAnnotation];
  try {
    const original: unknown = JSON.parse(saved ?? 'null');
    if (!isRecord(original)) return undefined;
    const gone = Object.keys((spec ?? {}) as object).filter((key) => !Object.hasOwn(original, key));
    return { ...Object.fromEntries(gone.map((key) => [key, null])), ...original };
  } catch {
    return undefined;
  }
}

/** Argo Rollouts writes which of its pods a Service selects, and takes its hash out when no Rollout names the Service any more. */
function isHeldByRollouts({ kind, metadata, spec }: KubernetesObject): boolean {
  const isMarked = metadata.annotations?.['argo-rollouts.argoproj.io/managed-by-rollouts'] !== undefined;
  const { selector = {} } = (spec ?? {}) as ServiceSpec;
  return kind === 'Service' && isMarked && Object.hasOwn(selector, 'rollouts-pod-template-hash');
}

/** A manifest for the tool that applies it while a rollout writes the live object, too: without the fields that were taken over or generated, or that Argo Rollouts holds. */
export function manifestForOwner(
  manifest: KubernetesObject,
  live: KubernetesObject | undefined,
): KubernetesObject {
  if (live && isHeldByRollouts(live)) {
    const { selector: _, ...spec } = (manifest.spec ?? {}) as ServiceSpec;
    return { ...manifest, spec };
  }
  const taken = live?.metadata.annotations?.[takenOverAnnotation];
  const isGenerated = live?.metadata.labels?.[canaryLabel] !== undefined;
  if (!live || (taken === undefined && !isGenerated)) return manifest;
  const { apiVersion, kind, metadata } = manifest;
  if (kind !== 'Service') return { apiVersion, kind, metadata };
  const { selector: _, ports = [], ...spec } = (manifest.spec ?? {}) as ServiceSpec;
  const keys = new Set(taken?.split(',') ?? livePorts(live).map(portKey));
  const ownersPorts = ports.filter(
    (port) => !keys.has(portKey(port)) && !isYetToCome(port, ports, live, keys),
  );
  return { ...manifest, spec: { ...spec, ...(ownersPorts.length > 0 ? { ports: ownersPorts } : {}) } };
}

/**
 * The owner gave the Canary's port another number, which the rollout writes with its release: until then the live one has the name, and Kubernetes
 * takes no second port of that name, nor one without.
 */
function isYetToCome(
  port: LivePort,
  ports: readonly LivePort[],
  live: KubernetesObject,
  keys: ReadonlySet<string>,
): boolean {
  const declared = new Set(ports.map(portKey));
  const lives = livePorts(live);
  if (lives.some((one) => portKey(one) === portKey(port))) return false;
  return lives.some((one) => {
    const isLeft = keys.has(portKey(one)) && !declared.has(portKey(one));
    return isLeft && (!port.name || port.name === one.name);
  });
}

function livePorts({ spec }: KubernetesObject): LivePort[] {
  return (spec as ServiceSpec | undefined)?.ports ?? [];
}

function fallbackName({ port, protocol = 'TCP' }: LivePort): string {
  return `${protocol.toLowerCase()}-${port}`;
}
