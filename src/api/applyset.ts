/** Kubernetes' ApplySet (KEP-3659): how the objects of one parent are found again. The parents here are Sources. */

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
/** On a parent: namespaces of its members beside its own, sorted, with commas between. */
export const namespacesAnnotation = 'applyset.kubernetes.io/additional-namespaces';

/** What Holdfast calls itself as the keeper of a set; the version is that of the way it is kept. */
export const tooling = 'holdfast/v1';
