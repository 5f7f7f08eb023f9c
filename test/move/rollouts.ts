/** Argo Rollouts as far as a migration sees it: what its controller leaves on objects, and a tool that applies a folder. */
import { type KubernetesObject, recordOf } from '../../src/api/kubernetes.ts';
import { type Api, applyAs, manifestsIn, pathOf, read } from './tools.ts';

const hashLabel = 'rollouts-pod-template-hash';
const ownerMark = 'argo-rollouts.argoproj.io/managed-by-rollouts';
const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** The kind, open to every field. */
export const rolloutCrd: KubernetesObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'rollouts.argoproj.io' },
  spec: {
    group: 'argoproj.io',
    scope: 'Namespaced',
    names: { kind: 'Rollout', plural: 'rollouts', singular: 'rollout', listKind: 'RolloutList' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
        subresources: { status: {} },
      },
    ],
  },
};

/** Argo Rollouts, and what applies a folder beside it. */
export interface RolloutsPlayer {
  /** What changed in the folder is applied; then the controller looks at every Rollout. */
  look(): Promise<void>;
  /** Pods of Rollouts. */
  pods(): Promise<KubernetesObject[]>;
  /** How many of them are ready. */
  ready(): Promise<number>;
}

/** Plays it over an API server. Rollouts keep one template: each is at rest as soon as it is seen. `apply` brings the folder to the cluster. */
export function playRollouts(api: Api, apply: () => Promise<void>): RolloutsPlayer {
  async function items(path: string): Promise<KubernetesObject[]> {
    return ((await api.send('GET', path)).body as { items?: KubernetesObject[] }).items ?? [];
  }

  async function control(rollout: KubernetesObject): Promise<void> {
    const { name, uid = '', generation } = rollout.metadata;
    const { replicas, selector, template, strategy } = rollout.spec as Record<string, unknown>;
    const { metadata, spec } = recordOf(template);
    const labels = { ...(recordOf(recordOf(metadata).labels) as Record<string, string>), [hashLabel]: 'abc' };
    const owner = { apiVersion: rollout.apiVersion, kind: 'Rollout', name, uid, controller: true };
    await applyAs(api, 'rollouts-controller', {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: `${name}-abc`, namespace: 'shop', labels, ownerReferences: [owner] },
      spec: {
        replicas,
        selector: { matchLabels: { ...recordOf(recordOf(selector).matchLabels), [hashLabel]: 'abc' } },
        template: { metadata: { ...recordOf(metadata), labels }, spec },
      },
    });
    const { blueGreen, canary } = recordOf(strategy);
    const named = Object.entries({ ...recordOf(blueGreen), ...recordOf(canary) })
      .filter(([field]) => field.endsWith('Service'))
      .map(([, service]) => String(service));
    for (const service of await items('/api/v1/namespaces/shop/services')) {
      const isNamed = named.includes(service.metadata.name);
      const isHeld = service.metadata.annotations?.[ownerMark] === name;
      if (isNamed || isHeld)
        await api.send(
          'PATCH',
          pathOf({ ...service, apiVersion: 'v1', kind: 'Service' }),
          {
            metadata: { annotations: { [ownerMark]: isNamed ? name : null } },
            spec: { selector: { [hashLabel]: isNamed ? 'abc' : null } },
          },
          'application/merge-patch+json',
        );
    }
    const status = {
      phase: 'Healthy',
      stableRS: 'abc',
      currentPodHash: 'abc',
      observedGeneration: String(generation),
      replicas,
      updatedReplicas: replicas,
    };
    await api.send('PATCH', `${pathOf(rollout)}/status`, { status }, 'application/merge-patch+json');
  }

  const pods = async () =>
    (await items('/api/v1/namespaces/shop/pods')).filter(
      ({ metadata }) => metadata.labels?.[hashLabel] === 'abc',
    );
  return {
    pods,
    async look() {
      await apply();
      for (const rollout of await items('/apis/argoproj.io/v1alpha1/namespaces/shop/rollouts'))
        await control({ ...rollout, apiVersion: 'argoproj.io/v1alpha1', kind: 'Rollout' });
    },
    async ready() {
      const isReady = ({ status }: KubernetesObject) =>
        ((status as { conditions?: Array<{ type: string; status: string }> }).conditions ?? []).some(
          ({ type, status: state }) => type === 'Ready' && state === 'True',
        );
      return (await pods()).filter(isReady).length;
    },
  };
}

/** Flux: applies what changed in a folder, and deletes what left it. */
export function applyAsFlux(api: Api, folder: string): () => Promise<void> {
  let before = new Map<string, { object: KubernetesObject; text: string }>();
  return async () => {
    const now = new Map(
      manifestsIn(folder).map(
        (object) => [pathOf(object), { object, text: JSON.stringify(object) }] as const,
      ),
    );
    for (const [path, { object, text }] of now) {
      const live = await read(api, object);
      const isKept = live?.metadata.annotations?.['kustomize.toolkit.fluxcd.io/reconcile'] === 'disabled';
      if (before.get(path)?.text !== text && !isKept)
        await applyAs(api, 'kustomize-controller', marked(object));
    }
    for (const path of before.keys()) if (!now.has(path)) await api.send('DELETE', path);
    before = now;
  };
}

function marked(object: KubernetesObject): KubernetesObject {
  const labels = {
    ...object.metadata.labels,
    'kustomize.toolkit.fluxcd.io/name': 'apps',
    'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
  };
  return { ...object, metadata: { ...object.metadata, labels } };
}
