/** Annotations of a Knative Service, which is both sides of its Canary: no other object records which revision is the primary. */
import type { KubernetesObject } from '../../api/kubernetes.ts';
import { atRestAnnotation } from '../service/service.ts';
import { commitAnnotation, digestAnnotation } from '../shared/names.ts';

/** Name of the primary's revision (Flagger's key). */
const primaryRevisionAnnotation = 'flagger.app/primary-revision';
/** Digest of the release that revision was made from. */
const primaryDigestAnnotation = 'holdfast.dev/primary-digest';
/** JSON: revision names by digest, of the releases that were primary last. */
const revisionsAnnotation = 'holdfast.dev/revisions';
/** As many as there are release records. */
const revisionLimit = 5;

/** Name of the primary's revision; undefined before there is one. */
export function primaryRevisionOf({ metadata }: KubernetesObject): string | undefined {
  return metadata.annotations?.[primaryRevisionAnnotation];
}

/** The Knative Service as the primary's side of its Canary: its digest is that of the primary's revision. Undefined before there is one. */
export function primarySide(live: KubernetesObject | undefined): KubernetesObject | undefined {
  if (!live || primaryRevisionOf(live) === undefined) return undefined;
  const {
    [digestAnnotation]: _,
    [primaryDigestAnnotation]: digest,
    ...annotations
  } = live.metadata.annotations ?? {};
  const own = digest === undefined ? annotations : { ...annotations, [digestAnnotation]: digest };
  return { ...live, metadata: { ...live.metadata, annotations: own } };
}

/** The revision that was primary with this release, if it is recorded. */
export function recordedRevision(live: KubernetesObject, digest: string): string | undefined {
  const found = recordedRevisions(live)[digest];
  return typeof found === 'string' ? found : undefined;
}

/** Annotations that make a revision the primary. */
export function primaryAnnotations(
  live: KubernetesObject,
  { digest, revision }: { digest: string; revision: string },
): Record<string, string> {
  const others = Object.entries(recordedRevisions(live)).filter(([key]) => key !== digest);
  const latest = [[digest, revision], ...others].slice(0, revisionLimit);
  return {
    [primaryRevisionAnnotation]: revision,
    [primaryDigestAnnotation]: digest,
    [revisionsAnnotation]: JSON.stringify(Object.fromEntries(latest)),
  };
}

/** Merge patch that removes the annotations from a target whose Canary is gone; undefined where there are none. */
export function withoutPrimaryAnnotations(live: KubernetesObject): Record<string, null> | undefined {
  if (primaryRevisionOf(live) === undefined) return undefined;
  const keys = [
    primaryRevisionAnnotation,
    primaryDigestAnnotation,
    revisionsAnnotation,
    atRestAnnotation,
    digestAnnotation,
    commitAnnotation,
  ];
  return Object.fromEntries(keys.map((key) => [key, null]));
}

/** The annotation may hold anything. */
function recordedRevisions({ metadata }: KubernetesObject): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(metadata.annotations?.[revisionsAnnotation] ?? '{}');
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
