import type { KubernetesObject } from '../../api/kubernetes.ts';

/** The pod behind an endpoint, and what the slice says of it; ready where it does not say. */
interface Behind {
  readonly uid: string;
  readonly ready?: boolean;
}

/** An EndpointSlice of a Service. */
export function aSlice(
  service: string,
  ports: readonly object[] | null,
  behind: readonly Behind[],
): KubernetesObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${service}-x2x4z`,
      namespace: 'shop',
      labels: { 'kubernetes.io/service-name': service },
    },
    addressType: 'IPv4',
    ports,
    endpoints: behind.map(({ uid, ready }) => ({
      addresses: ['10.0.0.1'],
      ...(ready === undefined ? {} : { conditions: { ready } }),
      targetRef: { kind: 'Pod', uid },
    })),
  } as KubernetesObject;
}
