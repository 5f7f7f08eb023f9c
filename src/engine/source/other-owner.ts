import type { KubernetesObject } from '../../api/kubernetes.ts';

/** Annotation that tells Holdfast to take over an object that another tool or Source tracks. */
export const adoptAnnotation = 'holdfast.dev/adopt';

/** Another tool that applies this object, in words for people. */
export interface OtherOwner {
  readonly tool: string;
  readonly detail: string;
}

/**
 * Who else tracks the live object (design section 2.2). The manifest in Git may carry `holdfast.dev/adopt: "true"` to take it over.
 * Labels and annotations are those the tools themselves document.
 */
export function otherOwner(live: KubernetesObject, wanted: KubernetesObject): OtherOwner | undefined {
  if (adopts(live) || adopts(wanted)) return undefined;
  const labels = live.metadata.labels ?? {};
  const annotations = live.metadata.annotations ?? {};
  const kustomization = labels['kustomize.toolkit.fluxcd.io/name'];
  if (kustomization) {
    const namespace = labels['kustomize.toolkit.fluxcd.io/namespace'] ?? '';
    return { tool: 'Flux', detail: `Kustomization ${namespace}/${kustomization}` };
  }
  const fluxRelease = labels['helm.toolkit.fluxcd.io/name'];
  if (fluxRelease) return { tool: 'Flux', detail: `HelmRelease ${fluxRelease}` };
  const helmRelease = annotations['meta.helm.sh/release-name'];
  if (helmRelease) return { tool: 'Helm', detail: `release ${helmRelease}` };
  const tracking = annotations['argocd.argoproj.io/tracking-id'];
  if (tracking) return { tool: 'Argo CD', detail: `application ${tracking.split(':')[0] ?? tracking}` };
  const instance = labels['argocd.argoproj.io/instance'];
  return instance ? { tool: 'Argo CD', detail: `application ${instance}` } : undefined;
}

function adopts(object: KubernetesObject): boolean {
  const value = object.metadata.annotations?.[adoptAnnotation];
  return value !== undefined && value !== 'false';
}
