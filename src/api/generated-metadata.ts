/** Metadata of everything Holdfast generates for a Canary. */
import type { Canary } from './canary.ts';
import type { OwnerReference } from './kubernetes.ts';

/** Label of everything generated: name of the Canary, cut to a label's length. For watches. */
export const canaryLabel = 'holdfast.dev/canary';

/** Annotations that keep Flux and Argo CD from correcting or pruning generated objects (flagger-behaviour.md 2.9). */
export const keepAwayAnnotations: Readonly<Record<string, string>> = {
  'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
  'argocd.argoproj.io/sync-options': 'Prune=false',
  'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
  'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
};

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
  return { [canaryLabel]: canary.metadata.name.slice(0, 63).replace(/[-.]+$/, '') };
}
