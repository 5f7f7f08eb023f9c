/** Which objects a Canary of the cluster has to do with, from the raw Canary, which need not parse. */
import { targetApiVersion } from '../../../api/canary/canary.ts';
import { type KubernetesObject, objectKey } from '../../../api/kubernetes.ts';
import { configReferences } from '../../../release/release.ts';

interface Reference {
  apiVersion?: string | undefined;
  kind?: string;
  name?: string;
}

interface CanaryNames {
  targetRef?: Reference;
  autoscalerRef?: Reference;
  service?: { name?: string };
  routeRef?: Reference;
}

/** A rollout may write an object of this name, too: the Canary's Services and routes. It applies no kind of our own. */
export function hasNameOfCanary(
  canary: KubernetesObject,
  { apiVersion, metadata }: Pick<KubernetesObject, 'apiVersion' | 'metadata'>,
): boolean {
  if (apiVersion.startsWith('flagger.app/')) return false;
  return canary.metadata.namespace === metadata.namespace && namesOf(canary).includes(metadata.name);
}

/** The same for many Canaries: of these objects, those of each one's names. */
export function objectsByCanaryName(
  objects: readonly KubernetesObject[],
): (canary: KubernetesObject) => KubernetesObject[] {
  const byName = new Map<string, KubernetesObject[]>();
  for (const object of objects) {
    const known = byName.get(object.metadata.name);
    if (known) known.push(object);
    else byName.set(object.metadata.name, [object]);
  }
  return (canary) =>
    namesOf(canary).flatMap((name) =>
      (byName.get(name) ?? []).filter((object) => hasNameOfCanary(canary, object)),
    );
}

function namesOf({ spec }: KubernetesObject): string[] {
  const { targetRef, service, routeRef } = (spec ?? {}) as CanaryNames;
  const apex = service?.name || targetRef?.name;
  return [...new Set([`${apex}`, `${apex}-primary`, `${apex}-canary`, routeRef?.name ?? `${apex}`])];
}

/** `objectKey` of the workload that the Canary names, and of its scaler. */
export function objectsOfCanary({ metadata, spec }: KubernetesObject): {
  readonly target: string | undefined;
  readonly scaler: string | undefined;
} {
  const { targetRef, autoscalerRef } = (spec ?? {}) as CanaryNames;
  const target = targetRef && { ...targetRef, apiVersion: targetApiVersion(targetRef) };
  return { target: keyIn(metadata.namespace, target), scaler: keyIn(metadata.namespace, autoscalerRef) };
}

/** The workload that the Canary names, without its content; what it does not name of it is that of the Canary itself. */
export function targetOf(canary: KubernetesObject): KubernetesObject {
  const { targetRef = {} } = (canary.spec ?? {}) as CanaryNames;
  const { namespace, name } = canary.metadata;
  const metadata = { name: targetRef.name ?? name, ...(namespace ? { namespace } : {}) };
  return {
    apiVersion: targetApiVersion(targetRef) ?? canary.apiVersion,
    kind: targetRef.kind ?? canary.kind,
    metadata,
  };
}

function keyIn(namespace: string | undefined, reference: Reference | undefined): string | undefined {
  const { apiVersion, kind, name } = reference ?? {};
  if (!apiVersion || !kind || !name) return undefined;
  return objectKey({ apiVersion, kind, namespace, name });
}

/** Whether the object is a Canary. */
export function isCanary({ apiVersion, kind }: Pick<KubernetesObject, 'apiVersion' | 'kind'>): boolean {
  return kind === 'Canary' && apiVersion.startsWith('flagger.app/');
}

/** `objectKey` of the config that the pods of a workload read, also of what is not tracked; `required`: without which they do not start. */
export function configKeysOf(workload: KubernetesObject, which: 'all' | 'required' = 'all'): string[] {
  const { namespace } = workload.metadata;
  return configReferences(workload)
    .filter(({ optional }) => which === 'all' || !optional)
    .map(({ kind, name }) => objectKey({ apiVersion: 'v1', kind, namespace, name }));
}
