/**
 * Services as targets (flagger-behaviour.md 2.9, 2.10): whose pods get requests is the release, and the pods are somebody else's. Both sides
 * are copies of the target, between which a route divides the requests; the target itself is never written by a rollout.
 */
import { partOfLabel } from '../api/applyset.ts';
import type { Canary } from '../api/canary.ts';
import { keepAwayAnnotations, ownerReference, ownLabels } from '../api/generated-metadata.ts';
import { describe, type KubernetesObject } from '../api/kubernetes.ts';
import type { Release } from '../release/release.ts';
import { isService, serviceContent } from '../release/service-content.ts';
import { releaseAnnotations } from './configs.ts';
import type { WorkloadKind } from './kind.ts';
import { copied, copiedByPrefix } from './metadata.ts';
import { canaryCopyName, primaryName, settingsAnnotation } from './names.ts';
import { refuseForeign } from './ownership.ts';
import { RefusedError } from './refusal.ts';
import { atRestAnnotation, restPatch, viewService } from './service-view.ts';

const longestName = 63;

/** The Service entry of the table of kinds. */
export const service: WorkloadKind = {
  apiVersion: 'v1',
  kind: 'Service',
  watches: [],
  sides: 'copies',
  canary({ canary, release, settingsKey, replicas, live }) {
    refuseTaken(live, canary);
    return copyOf(canary, release, {
      name: canaryCopyName(canary),
      labels: canary.spec.service?.canary?.labels,
      annotations: {
        ...canary.spec.service?.canary?.annotations,
        [settingsAnnotation]: settingsKey,
        [atRestAnnotation]: String(replicas === 0),
      },
    });
  },
  primary(source) {
    const { canary, release, settingsKey, live } = source;
    refuseTaken(live, canary);
    return copyOf(canary, release, {
      name: primaryName(canary),
      labels: {
        ...copiedByPrefix(release.target.metadata.labels, source.includeLabelPrefixes),
        ...canary.spec.service?.primary?.labels,
      },
      annotations: { ...canary.spec.service?.primary?.annotations, [settingsAnnotation]: settingsKey },
    });
  },
  settingsPatch: ({ settingsKey }) => ({ metadata: { annotations: { [settingsAnnotation]: settingsKey } } }),
  scalePatch: restPatch,
  view: viewService,
};

/** The target as it was when a primary of Flagger's was made from it: what that says, and everything else as Git or the cluster has it. */
export function adoptedService(primary: KubernetesObject, target: KubernetesObject): KubernetesObject {
  return { ...target, spec: serviceContent(primary.spec) };
}

/**
 * Whether a primary is a copy that Flagger made and whose owner it dropped when it promoted to it (flagger-behaviour 2.10): nobody's, under
 * the name that a Canary has from its target.
 */
export function isOwnerlessCopy(live: KubernetesObject, canary: Canary): boolean {
  const { name, ownerReferences = [], labels } = live.metadata;
  return (
    isService(live) &&
    name === primaryName(canary) &&
    ownerReferences.length === 0 &&
    labels?.[partOfLabel] === undefined
  );
}

interface CopyParts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly annotations: Readonly<Record<string, string>>;
}

/** One of the two copies; annotations of the original come along, since routers read some on what they send requests to. */
function copyOf(
  canary: Canary,
  release: Release,
  { name, labels, annotations }: CopyParts,
): KubernetesObject {
  const { target } = release;
  refuseLong(target, primaryName(canary));
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: target.metadata.namespace ?? canary.metadata.namespace ?? 'default',
      labels: { ...labels, ...ownLabels(canary) },
      annotations: {
        ...copied(target.metadata.annotations),
        ...keepAwayAnnotations,
        ...releaseAnnotations(release),
        ...annotations,
      },
      ownerReferences: [ownerReference(canary)],
    },
    spec: { type: 'ClusterIP', ...serviceContent(target.spec) },
  };
}

/** A Service of somebody else's would send its users to other pods. Flagger's own lose their owner when they are promoted. */
function refuseTaken(live: KubernetesObject | undefined, canary: Canary): void {
  refuseForeign(live, canary);
  if (live?.metadata.labels?.[partOfLabel] === undefined) return;
  throw new RefusedError({
    reason: 'NameTaken',
    object: describe(live),
    field: 'metadata.name',
    message: `a Source applies it, and ${describe(canary)} needs this name for a copy of its target; rename one of the two`,
  });
}

function refuseLong(target: KubernetesObject, name: string): void {
  if (name.length <= longestName) return;
  throw new RefusedError({
    reason: 'TargetInvalid',
    object: describe(target),
    field: 'metadata.name',
    message: `is too long: its copy ${name} must fit in ${longestName} characters`,
  });
}
