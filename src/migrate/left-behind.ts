/** What belongs to an object of Flux or Argo CD and is no field of it, so that a Source has nothing of it. Pure. */
import { describe, type KubernetesObject, recordOf, recordsOf } from '../api/kubernetes.ts';

/** Notes on its annotations, and on the objects of the tree that name it or its repository. */
export function leftBehind(owner: KubernetesObject, objects: readonly KubernetesObject[]): string[] {
  const annotations = Object.keys(owner.metadata.annotations ?? {}).filter(
    (key) => key === waveAnnotation || !bookkeeping.test(key),
  );
  return [
    ...(annotations.length > 0
      ? [
          `its annotations ${annotations.join(', ')} are not carried: nothing reads them on a Source; see spec.alerts and spec.dependsOn`,
        ]
      : []),
    ...objects.flatMap((object) => notesOn(object, owner)),
  ];
}

const waveAnnotation = 'argocd.argoproj.io/sync-wave';
/** What the tools, kubectl and Holdfast write themselves. */
const bookkeeping =
  /^(kubectl\.kubernetes\.io|holdfast\.dev|argocd\.argoproj\.io|(\w+\.)?(toolkit\.)?fluxcd\.io)\//;

interface Named {
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
}

function notesOn(object: KubernetesObject, owner: KubernetesObject): string[] {
  if (!object.apiVersion.startsWith('notification.toolkit.fluxcd.io/')) return [];
  const { eventSources, resources } = recordOf(object.spec);
  const { sourceRef } = (owner.spec ?? {}) as { sourceRef?: Named };
  const { namespace = '', name } = owner.metadata;
  const own = { kind: owner.kind, name, namespace };
  const repository = { namespace, ...sourceRef };
  const names = ({ kind, name: wanted, namespace: where = object.metadata.namespace }: Named) =>
    [own, repository].some(
      (one) => one.kind === kind && one.namespace === where && (wanted === '*' || one.name === wanted),
    );
  const told = describe(object);
  if (object.kind === 'Alert' && recordsOf(eventSources).some(names))
    return [`${told} reports about it, and does not about a Source: use spec.alerts`];
  if (object.kind === 'Receiver' && recordsOf(resources).some(names))
    return [
      `${told} reconciles it at a push: let the Git server call /hooks/${namespace}/${name} of Holdfast, too`,
    ];
  return [];
}
