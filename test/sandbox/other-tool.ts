import type { KubernetesObject } from '../../src/api/kubernetes.ts';
import type { Bed } from './holdfast-bed.ts';

/** A tool that applies manifests beside Holdfast, as Flux does: server-side, by force, under its own name. */
export interface OtherTool {
  readonly manager: string;
  /** Applies objects in this order; throws when one is refused. */
  apply(...manifests: readonly string[]): Promise<void>;
}

/** Flux's kustomize-controller, or another manager's name. */
export function otherTool(bed: Bed, manager = 'kustomize-controller'): OtherTool {
  return {
    manager,
    async apply(...manifests) {
      for (const manifest of manifests)
        await applyOne(bed, manager, JSON.parse(manifest) as KubernetesObject);
    },
  };
}

async function applyOne(bed: Bed, manager: string, object: KubernetesObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const plural = kind === 'Canary' ? 'canaries' : `${kind.toLowerCase()}s`;
  const prefix = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const path = `${prefix}/namespaces/${metadata.namespace}/${plural}/${metadata.name}`;
  const { status, body } = await bed.send(
    'PATCH',
    `${path}?fieldManager=${manager}&force=true`,
    object,
    'application/apply-patch+yaml',
  );
  if (status > 201) throw new Error(`${kind} ${metadata.name} was refused: ${JSON.stringify(body)}`);
}

/** Names of the fields of an object that Holdfast is the manager of, as dotted paths below the object. */
export function fieldsOfHoldfast(object: KubernetesObject | undefined): string[] {
  const entries = (object?.metadata.managedFields ?? []) as Array<{ manager?: string; fieldsV1?: object }>;
  return entries
    .filter(({ manager }) => manager?.startsWith('holdfast'))
    .flatMap(({ fieldsV1 = {} }) => paths(fieldsV1));
}

function paths(fields: object): string[] {
  return Object.entries(fields).flatMap(([key, inner]) => {
    const below = paths(inner as object);
    const name = key.replace(/^f:/, '');
    return below.length > 0 ? below.map((path) => `${name}.${path}`) : [name];
  });
}
