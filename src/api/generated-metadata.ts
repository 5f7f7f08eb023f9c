/** Metadata of everything Holdfast generates for a Canary. */
import { partOfLabel } from './applyset.ts';
import type { Canary } from './canary.ts';
import type { KubernetesObject, OwnerReference } from './kubernetes.ts';
import { labelValue } from './short-name.ts';

/** Label of everything generated: name of the Canary, shortened to a label's length (`labelValue`). For watches. */
export const canaryLabel = 'holdfast.dev/canary';

/**
 * On an object that somebody else made and a rollout writes parts of: which. A Service's ports as `80/TCP,9090/TCP` (its selector always is
 * among it), `spec` for a route. Whoever else applies the object leaves those parts alone.
 */
export const takenOverAnnotation = 'holdfast.dev/taken-over';

/** Annotations that keep Flux and Argo CD from correcting or pruning generated objects (flagger-behaviour.md 2.9). */
export const keepAwayAnnotations: Readonly<Record<string, string>> = {
  'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
  'argocd.argoproj.io/sync-options': 'Prune=false',
  'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
  'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
};

/** Those of them that a taken over object gets, as in Flagger: Flux would write it back (flagger-behaviour.md 2.9 and 6.1, 14). */
export const keepFluxAway: Readonly<Record<string, string>> = {
  'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
  'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
};

/**
 * Whether the object was made for the Canary or an earlier one of its name, whose owner reference is left or was handed back. What a Source
 * applies too is its Source's.
 */
export function isGenerated({ metadata }: KubernetesObject, canary: Canary): boolean {
  const { ownerReferences = [], labels = {}, annotations = {} } = metadata;
  if (labels[partOfLabel] !== undefined) return false;
  const isOwned = ownerReferences.some(
    ({ uid, kind, name }) =>
      uid === canary.metadata.uid || (kind === canary.kind && name === canary.metadata.name),
  );
  const isLeft = ownerReferences.length === 0 && labels[canaryLabel] === ownLabels(canary)[canaryLabel];
  return isOwned || (isLeft && annotations[takenOverAnnotation] === undefined);
}

/** The Canary as controller of what is generated for it. */
export function ownerReference(canary: Canary): OwnerReference {
  return {
    apiVersion: canary.apiVersion,
    kind: canary.kind,
    name: canary.metadata.name,
    uid: canary.metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Labels by which the watch caches find what belongs to a Canary. */
export function ownLabels(canary: { metadata: { name: string } }): Record<string, string> {
  return { [canaryLabel]: labelValue(canary.metadata.name) };
}
