import { type KubernetesObject, liveCondition, type PodTemplate } from '../../api/kubernetes.ts';
import { beginningOf } from '../../api/limits.ts';
import { identityOf, noPodFacts } from '../pods/pod-facts.ts';
import { releaseAnnotations } from '../shared/configs.ts';
import {
  atRestAnnotation,
  atRestPatch,
  commitAnnotation,
  copyableEntries,
  digestAnnotation,
  settingsAnnotation,
  withoutBookkeeping,
} from '../shared/metadata.ts';
import {
  type PodsView,
  revisionKind,
  type ViewSource,
  type WorkloadKind,
  type WorkloadSource,
} from '../shared/workload-kind.ts';

/**
 * Knative Services as targets (flagger-behaviour.md 2.10, 3.12): no copies. Both sides are revisions of the one Service: the canary is the
 * newest, the primary the one that an annotation names, and the Service itself divides the requests between them.
 */

/** The Knative entry of the table of kinds. */
export const knative: WorkloadKind = {
  apiVersion: 'serving.knative.dev/v1',
  kind: 'Service',
  watches: [revisionKind],
  sides: 'revisions',
  canary: (source) => withTemplate(source, { [atRestAnnotation]: String(source.replicas === 0) }),
  primary: (source) => withTemplate(source, {}),
  settingsPatch: ({ settingsKey }) => ({ metadata: { annotations: { [settingsAnnotation]: settingsKey } } }),
  scalePatch: atRestPatch,
  view: viewKnative,
};

/** The Service with the template of a release. Its traffic is not among the fields: that is the route's. */
function withTemplate(
  { canary, release, settingsKey }: WorkloadSource,
  annotations: Readonly<Record<string, string>>,
): KubernetesObject {
  const { apiVersion, kind, metadata, spec } = release.target;
  const { traffic: _, ...rest } = spec as Record<string, unknown>;
  return {
    apiVersion,
    kind,
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace ?? canary.metadata.namespace ?? 'default',
      ...(metadata.labels ? { labels: metadata.labels } : {}),
      annotations: {
        ...withoutBookkeeping(metadata.annotations),
        ...releaseAnnotations(release),
        [settingsAnnotation]: settingsKey,
        ...annotations,
      },
    },
    spec: rest,
  };
}

/** The target as it was when a revision was created from it, as far as the revision has its fields. */
export function adoptedRevision(revision: KubernetesObject, target: KubernetesObject): KubernetesObject {
  const { labels, annotations } = revision.metadata;
  const own = (entries: Readonly<Record<string, string>> | undefined) =>
    Object.fromEntries(
      Object.entries(copyableEntries(entries)).filter(([key]) => !/(^|\.)knative\.dev\//.test(key)),
    );
  const metadata = { labels: own(labels), annotations: own(annotations) };
  const template = { metadata, spec: revision.spec } as unknown as PodTemplate;
  return { ...target, spec: { template } };
}

interface ServiceStatus {
  observedGeneration?: number;
  latestCreatedRevisionName?: string;
}

/** The revision that Knative created from the current template; undefined until its controller has observed that. */
export function latestRevisionOf({ metadata, status }: KubernetesObject): string | undefined {
  const { observedGeneration = 0, latestCreatedRevisionName } = (status ?? {}) as ServiceStatus;
  return observedGeneration >= (metadata.generation ?? 0) ? latestCreatedRevisionName : undefined;
}

/**
 * One side as the rollout sees it: one pod, ready while its revision is. The number of pods belongs to Knative, which scales a
 * revision without requests to none (flagger-behaviour.md 2.6).
 */
function viewKnative({ workload, side, revisions = [] }: ViewSource): PodsView {
  const { metadata } = workload;
  const isPrimary = side === 'primary';
  // Until Knative has observed a write, its newest revision goes on serving.
  const { latestCreatedRevisionName } = (workload.status ?? {}) as ServiceStatus;
  const name = isPrimary ? primaryRevisionOf(workload) : latestCreatedRevisionName;
  const ready = liveCondition(
    revisions.find((one) => one.metadata.name === name),
    'Ready',
  );
  const desired = !isPrimary && metadata.annotations?.[atRestAnnotation] === 'true' ? 0 : 1;
  const fault = ready?.status === 'False' && {
    pod: name ?? metadata.name,
    container: undefined,
    reason: ready.reason ?? 'RevisionFailed',
    message: beginningOf(ready.message ?? '', 300),
  };
  const count = desired === 1 && name !== undefined && ready?.status === 'True' ? 1 : 0;
  return {
    ...identityOf(workload),
    ...(name === undefined ? {} : { name }),
    observed: isPrimary || latestRevisionOf(workload) !== undefined,
    desiredReplicas: desired,
    replicas: desired,
    updatedReplicas: desired,
    readyReplicas: count,
    availableReplicas: count,
    updatedReadyReplicas: count,
    followsNodes: false,
    progressDeadlineExceeded: ready?.status === 'False' && ready.reason === 'ProgressDeadlineExceeded',
    // Another revision gets the requests in one step; none is deleted for it.
    keepsReadyPod: true,
    faults: desired === 1 && fault ? [fault] : [],
    ...noPodFacts,
  };
}

/** Whether requests may go to it. */
export function isRevisionReady(revision: KubernetesObject | undefined): boolean {
  return liveCondition(revision, 'Ready')?.status === 'True';
}

/** Annotations of a Knative Service, which is both sides of its Canary: no other object records which revision is the primary. */

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
