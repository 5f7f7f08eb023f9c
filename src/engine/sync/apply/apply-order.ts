import { describe, type KubernetesObject, recordOf, recordsOf, textOf } from '../../../api/kubernetes.ts';

/** Kinds that others need first, in waves; what is not listed comes in between. */
const firstWaves: ReadonlyArray<readonly string[]> = [
  ['Namespace', 'CustomResourceDefinition'],
  [
    'ServiceAccount',
    'Role',
    'ClusterRole',
    'ResourceQuota',
    'LimitRange',
    'PriorityClass',
    'StorageClass',
    'RuntimeClass',
    'IngressClass',
    'GatewayClass',
  ],
  ['RoleBinding', 'ClusterRoleBinding', 'ConfigMap', 'Secret', 'PersistentVolume', 'PersistentVolumeClaim'],
  ['Service', 'MetricTemplate', 'AlertProvider'],
];
/** Canaries come after what they name; webhooks and policies that may refuse other objects come last. */
const lastWaves: ReadonlyArray<readonly string[]> = [
  ['Canary'],
  [
    'APIService',
    'ValidatingWebhookConfiguration',
    'MutatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'MutatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'MutatingAdmissionPolicyBinding',
  ],
];

/** Waves of objects: each wave is applied after the one before; inside a wave the order is by name, so that runs are alike. */
export function applyWaves(objects: readonly KubernetesObject[]): KubernetesObject[][] {
  const waves = new Map<number, KubernetesObject[]>();
  for (const object of objects) {
    const rank = rankOf(object.kind);
    waves.set(rank, [...(waves.get(rank) ?? []), object]);
  }
  return [...waves.entries()]
    .sort(([left], [right]) => left - right)
    .map(([, wave]) => wave.sort((left, right) => (describe(left) < describe(right) ? -1 : 1)));
}

/**
 * What keeps a webhook or APIService back: those of these objects that the pods it asks need. Without one nobody may answer, and the API server would
 * refuse what the webhook is for in the whole cluster, or not delete a namespace any more.
 */
export function backendOf(
  object: KubernetesObject,
  refused: readonly KubernetesObject[],
): readonly KubernetesObject[] {
  const asked = askedNamespaces(object);
  return refused.filter(({ apiVersion, kind, metadata: { namespace, name } }) => {
    const isNeeded = apiVersion === 'v1' || apiVersion === 'apps/v1';
    return isNeeded && asked.has(kind === 'Namespace' ? name : (namespace ?? ''));
  });
}

function askedNamespaces({ kind, spec, webhooks }: KubernetesObject): ReadonlySet<string> {
  const clients =
    kind === 'APIService' ? [recordOf(spec)] : recordsOf(webhooks).map((one) => recordOf(one.clientConfig));
  return new Set(clients.flatMap(({ service }) => textOf(recordOf(service).namespace) ?? []));
}

function rankOf(kind: string): number {
  const first = firstWaves.findIndex((kinds) => kinds.includes(kind));
  if (first >= 0) return first;
  const last = lastWaves.findIndex((kinds) => kinds.includes(kind));
  return last >= 0 ? firstWaves.length + 1 + last : firstWaves.length;
}

/** Writes of one Source that run side by side. */
const parallelWrites = 4;

/** Does the work for all items, a few at a time, in their order. Rejects with the first error; the others go on. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: parallelWrites }, worker));
}
