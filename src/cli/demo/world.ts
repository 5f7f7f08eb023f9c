import type { CanaryStatus } from '../../api/canary-status.ts';
import type { KubernetesObject, PodTemplate } from '../../api/kubernetes.ts';
import type { SourceStatus } from '../../api/source-status.ts';
import type { ClusterClient } from '../../cluster/client.ts';
import { application } from './manifests.ts';

/** The cluster as it is, as far as the verdict looks. */
export interface FinalWorld {
  readonly canary: CanaryStatus;
  readonly source: SourceStatus;
  readonly primary: WorkloadState | undefined;
  readonly target: WorkloadState | undefined;
  /** Weights by Service name, as the route or the apex Service's selector has them. */
  readonly weights: Readonly<Record<string, number>>;
  /** VERSION of every pod that is there and not being deleted. */
  readonly podVersions: readonly string[];
}

/** A Deployment in short. */
export interface WorkloadState {
  readonly image: string;
  readonly env: Readonly<Record<string, string>>;
  readonly wanted: number;
  readonly replicas: number;
  readonly ready: number;
}

/** Reads everything from the API server, not from what the demo saw on the way. */
export async function readWorld(
  client: ClusterClient,
  namespace: string,
  provider: string,
): Promise<FinalWorld> {
  const read = (apiVersion: string, kind: string, name: string) =>
    client.get({ apiVersion, kind, namespace, name });
  const [canary, source, primary, target, weights, pods] = await Promise.all([
    read('flagger.app/v1beta1', 'Canary', application),
    read('holdfast.dev/v1alpha1', 'Source', application),
    read('apps/v1', 'Deployment', `${application}-primary`),
    read('apps/v1', 'Deployment', application),
    readWeights(read, provider),
    client.list('v1', 'Pod', { namespace }),
  ]);
  return {
    canary: (canary?.status ?? {}) as CanaryStatus,
    source: (source?.status ?? {}) as SourceStatus,
    primary: primary && workloadState(primary),
    target: target && workloadState(target),
    weights,
    podVersions: pods.items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((pod) => envOf(pod as unknown as PodTemplate).VERSION ?? ''),
  };
}

function workloadState(deployment: KubernetesObject): WorkloadState {
  const { template, replicas = 1 } = deployment.spec as { template: PodTemplate; replicas?: number };
  const status = (deployment.status ?? {}) as { replicas?: number; readyReplicas?: number };
  return {
    image: template.spec.containers[0]?.image ?? '',
    env: envOf(template),
    wanted: replicas,
    replicas: status.replicas ?? 0,
    ready: status.readyReplicas ?? 0,
  };
}

function envOf({ spec }: PodTemplate): Record<string, string> {
  const entries = (spec.containers[0]?.env ?? []) as Array<{ name: string; value?: string }>;
  return Object.fromEntries(entries.map(({ name, value }) => [name, value ?? '']));
}

type Read = (apiVersion: string, kind: string, name: string) => Promise<KubernetesObject | undefined>;

interface Backend {
  readonly name: string;
  readonly weight?: number;
}

async function readWeights(read: Read, provider: string): Promise<Record<string, number>> {
  if (provider === 'kubernetes') {
    const apex = await read('v1', 'Service', application);
    const { selector } = (apex?.spec ?? {}) as { selector?: { app?: string } };
    return selector?.app ? { [selector.app]: 100 } : {};
  }
  const route =
    provider === 'contour'
      ? await read('projectcontour.io/v1', 'HTTPProxy', application)
      : await read('gateway.networking.k8s.io/v1', 'HTTPRoute', application);
  const { rules = [], routes = [] } = (route?.spec ?? {}) as {
    rules?: Array<{ backendRefs?: Backend[] }>;
    routes?: Array<{ services?: Backend[] }>;
  };
  const backends = [
    ...rules.flatMap((rule) => rule.backendRefs ?? []),
    ...routes.flatMap((each) => each.services ?? []),
  ];
  return Object.fromEntries(backends.map(({ name, weight }) => [name, weight ?? 1]));
}
