import type { KubernetesObject } from '../../api/kubernetes.ts';
import { InputError } from '../../app/options.ts';
import type { ClusterClient } from '../../cluster/client.ts';

/** Leases of controllers that would act on the demo's Canary too. */
const rivals: Readonly<Record<string, string>> = {
  holdfast: 'Holdfast',
  'flagger-leader-election': 'Flagger',
};

/** Throws InputError when the demo could harm this cluster or would not be alone on its stage. */
export async function assertFit(
  client: ClusterClient,
  { namespace, besideOthers }: { namespace: string; besideOthers: boolean },
): Promise<void> {
  if (await client.get({ apiVersion: 'v1', kind: 'Namespace', name: namespace })) {
    throw new InputError(
      `namespace ${namespace} exists already; choose another with --namespace, or remove what an earlier demo left: kubectl delete namespace ${namespace}`,
    );
  }
  const crd = await client.get({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    name: 'canaries.flagger.app',
  });
  if (crd && !knowsOurFields(crd)) {
    throw new InputError(
      "this cluster has Flagger's own Canary CRD, which drops Holdfast's fields; play the demo on another cluster",
    );
  }
  if (besideOthers) return;
  const { items } = await client.list('coordination.k8s.io/v1', 'Lease');
  const rival = items.find((lease) => rivals[lease.metadata.name] !== undefined && isRenewed(lease));
  if (rival) {
    throw new InputError(
      `${rivals[rival.metadata.name]} runs in namespace ${rival.metadata.namespace} of this cluster and may act on the demo's Canary too; if it watches other namespaces only, add --beside-others`,
    );
  }
}

interface VersionSchema {
  readonly schema?: {
    readonly openAPIV3Schema?: {
      readonly properties?: { readonly spec?: { readonly properties?: Record<string, unknown> } };
    };
  };
}

function knowsOurFields(crd: KubernetesObject): boolean {
  const { versions = [] } = crd.spec as { versions?: VersionSchema[] };
  return versions.some(
    ({ schema }) => schema?.openAPIV3Schema?.properties?.spec?.properties?.postPromotion !== undefined,
  );
}

function isRenewed({ spec }: KubernetesObject): boolean {
  const {
    renewTime,
    leaseDurationSeconds = 15,
    holderIdentity,
  } = (spec ?? {}) as {
    renewTime?: string;
    leaseDurationSeconds?: number;
    holderIdentity?: string;
  };
  if (!renewTime || !holderIdentity) return false;
  return Date.now() - Date.parse(renewTime) < leaseDurationSeconds * 1000;
}
