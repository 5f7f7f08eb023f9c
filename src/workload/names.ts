/** Names and annotation keys of what Holdfast generates for a Canary; the suffixes are Flagger's (flagger-behaviour.md 2.18). */
import type { Canary } from '../api/canary.ts';
import { apexName } from '../api/effective.ts';
import type { OwnerReference } from '../api/kubernetes.ts';

/** Digest of the release an object was written from. */
export const digestAnnotation = 'holdfast.dev/digest';
/** Commit of that release; absent when the release came from no Source. */
export const commitAnnotation = 'holdfast.dev/commit';
/** Hash of the settings (replicas, strategy, deadlines) an object was written with. */
export const settingsAnnotation = 'holdfast.dev/settings';
/** Label of everything Holdfast generates: name of the Canary, cut to a label's length. For watches. */
export const canaryLabel = 'holdfast.dev/canary';

/** Annotations that keep Flux and Argo CD from correcting or pruning generated objects. */
export const keepAwayAnnotations: Readonly<Record<string, string>> = {
  'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
  'argocd.argoproj.io/sync-options': 'Prune=false',
  'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
  'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
};

/** Names of the generated Services. */
export interface ServiceNames {
  apex: string;
  primary: string;
  canary: string;
}

/** Names of the Services of a Canary: the apex is `service.name`, or the target's name. */
export function serviceNames(canary: Canary): ServiceNames {
  const apex = apexName(canary);
  return { apex, primary: `${apex}-primary`, canary: `${apex}-canary` };
}

/** Name of the primary workload. */
export function primaryName(canary: Canary): string {
  return `${canary.spec.targetRef.name}-primary`;
}

/** Name of the primary's copy of a config. A config that two Canaries share gets a copy for each of them (design section 5). */
export function copyName(canary: Canary, configName: string, shared: boolean): string {
  return shared ? `${configName}-${primaryName(canary)}` : `${configName}-primary`;
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
export function ownLabels(canary: Canary): Record<string, string> {
  return { [canaryLabel]: canary.metadata.name.slice(0, 63).replace(/[-.]+$/, '') };
}
