/** Which objects are never deleted by themselves because they left Git. Pure. */
import type { KubernetesObject } from '../../../api/kubernetes.ts';

/** Says of one object whether it may be deleted: `disabled` never, `enabled` without asking, also where its kind would ask. */
export const pruneAnnotation = 'holdfast.dev/prune';

/** Kinds that take other people's data with them: each needs the annotation, or an approval of the commit. */
const preciousKinds: ReadonlySet<string> = new Set([
  'Namespace',
  'PersistentVolumeClaim',
  'PersistentVolume',
  'CustomResourceDefinition',
]);

/** Flux's and Argo CD's and Helm's own ways to say it are respected, so that nobody has to edit a manifest to come over. */
export function optedOut({ metadata }: Pick<KubernetesObject, 'metadata'>): string | undefined {
  const { annotations = {}, labels = {} } = metadata;
  const said = annotations[pruneAnnotation];
  if (said === 'disabled' || said === 'false') return `${pruneAnnotation}: ${said}`;
  const flux = 'kustomize.toolkit.fluxcd.io/prune';
  if ([annotations[flux], labels[flux]].includes('disabled')) return `${flux}: disabled`;
  const argo = 'argocd.argoproj.io/sync-options';
  const options = (annotations[argo] ?? '').split(',').map((option) => option.trim());
  if (options.includes('Prune=false')) return `${argo}: Prune=false`;
  const helm = 'helm.sh/resource-policy';
  return annotations[helm] === 'keep' ? `${helm}: keep` : undefined;
}

/** The object takes more with it than itself, and nobody said that it may go. */
export function isPrecious({ kind, metadata }: Pick<KubernetesObject, 'kind' | 'metadata'>): boolean {
  return preciousKinds.has(kind) && metadata.annotations?.[pruneAnnotation] !== 'enabled';
}

/** A controller made it and copied the labels of what it was made for, as EndpointSlices carry those of their Service. */
export function isMadeByController({ kind, metadata }: Pick<KubernetesObject, 'kind' | 'metadata'>): boolean {
  const owners = metadata.ownerReferences ?? [];
  return kind === 'Endpoints' || owners.some(({ controller }) => controller === true);
}

/** More than this share of the objects at once is asked for (S25)... */
const mostShare = 0.2;
/** ...where it is more than so many. */
const mostObjects = 10;

/** Whether so many deletions at once may be a mistake: a wrong path, an empty branch, a renderer that gave nothing (S25). */
export function isTooMany(leaving: number, members: number): boolean {
  return leaving > mostObjects && leaving > members * mostShare;
}
