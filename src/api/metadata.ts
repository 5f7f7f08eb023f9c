/** Metadata of everything Holdfast generates for a Canary. */
import { createHash } from 'node:crypto';
import type { Canary } from './canary/canary.ts';
import type { KubernetesObject, OwnerReference } from './kubernetes.ts';

/** Label of everything generated: name of the Canary, shortened to a label's length (`labelValue`). For watches. */
export const canaryLabel = 'holdfast.dev/canary';

/**
 * On an object that somebody else made and a rollout writes parts of: which. A Service's ports as `80/TCP,9090/TCP` (its selector always is
 * among it), `spec` for a route. Whoever else applies the object leaves those parts alone.
 */
export const takenOverAnnotation = 'holdfast.dev/taken-over';

/** On such a route: its spec of before, as JSON, which it gets back when it is handed back (Flagger's name, flagger-behaviour.md 3.1). */
export const originalAnnotation = 'flagger.kubernetes.io/original-configuration';

/** Annotations that keep Flux and Argo CD from correcting or pruning generated objects (flagger-behaviour.md 2.9). */
export const keepAwayAnnotations: Readonly<Record<string, string>> = {
  'argocd.argoproj.io/compare-options': 'IgnoreExtraneous',
  'argocd.argoproj.io/sync-options': 'Prune=false',
  'helm.toolkit.fluxcd.io/driftDetection': 'disabled',
  'kustomize.toolkit.fluxcd.io/reconcile': 'disabled',
};

/** The annotations for an object that was taken over, as in Flagger: Flux would write it back (flagger-behaviour.md 2.9 and 6.1, 14). */
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

// Kubernetes' ApplySet (KEP-3659): how the objects of one parent are found again. The parents here are Sources.

/** Label of a member; its value is the id of the parent. */
export const partOfLabel = 'applyset.kubernetes.io/part-of';
/** Label of a parent; its value is its own id. */
export const applySetIdLabel = 'applyset.kubernetes.io/id';
/** Label of a CRD whose objects may be parents. */
export const parentTypeLabel = 'applyset.kubernetes.io/is-parent-type';
/** On a parent: which tool keeps the set. */
export const toolingAnnotation = 'applyset.kubernetes.io/tooling';
/** On a parent: kinds of its members, as `Deployment.apps`, sorted, with commas between. */
export const groupKindsAnnotation = 'applyset.kubernetes.io/contains-group-kinds';
/** On a parent: namespaces of its members other than its own, sorted, with commas between. */
export const namespacesAnnotation = 'applyset.kubernetes.io/additional-namespaces';

/** Holdfast's value of `toolingAnnotation`; the version is that of how the set is stored. */
export const tooling = 'holdfast/v1';

/** The ServiceAccount that a Source without `serviceAccountName` is written as, in its own namespace. It need not exist. */
export const sourceAccount = 'holdfast-source';
/** The Secret in Holdfast's namespace with the key that hashes Secrets. */
export const clusterKeySecret = 'holdfast-key';

// Names that fit where Kubernetes allows fewer characters.

const mostLabelCharacters = 63;

/**
 * A label value for a name: the name itself up to 63 characters, else its start and a hash of the whole. A name of an object is a DNS
 * subdomain, so every shortened form is a valid label value, too.
 */
export function labelValue(name: string): string {
  return shortName(name, mostLabelCharacters);
}

/** A DNS name of at most `maxLength` characters, equal for equal names and different for different ones. */
export function shortName(name: string, maxLength: number): string {
  if (name.length <= maxLength) return name;
  const hash = shortHash(name);
  return `${name.slice(0, maxLength - hash.length - 1).replace(/[-.]+$/, '')}-${hash}`;
}

/** Hex digits that stand for the text in names. */
export function shortHash(text: string, digits = 10): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
