/**
 * Services as targets (flagger-behaviour.md 2.9, 2.10): the release is which pods get requests, and the pods belong to others. Both sides are
 * copies of the target, between which a route divides the requests; a rollout never writes the target itself.
 */
import type { Canary } from '../../api/canary/canary.ts';
import {
  describe,
  type KubernetesObject,
  keepAwayAnnotations,
  ownerReference,
  ownLabels,
  partOfLabel,
} from '../../api/kubernetes.ts';
import type { PodFault } from '../../health/workload-view.ts';
import {
  isExternalName,
  isService,
  type Release,
  selectorOf,
  serviceContent,
} from '../../release/release.ts';
import { endpointsOf } from '../pods/endpoints.ts';
import { identityOf, noPodFacts } from '../pods/pod-facts.ts';
import { isReady, type Pod } from '../pods/pods.ts';
import { releaseAnnotations } from '../shared/configs.ts';
import {
  atRestAnnotation,
  atRestPatch,
  canaryCopyName,
  copiedByPrefix,
  copyableEntries,
  primaryName,
  settingsAnnotation,
} from '../shared/metadata.ts';
import { RefusedError, refuseForeign, refuseTarget } from '../shared/refusal.ts';
import type { PodsView, ViewSource, WorkloadKind } from '../shared/workload-kind.ts';

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
      // As in Flagger all of the original's: by them a ServiceMonitor finds it.
      labels: {
        ...copyableEntries(release.target.metadata.labels),
        ...canary.spec.service?.canary?.labels,
      },
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
  scalePatch: atRestPatch,
  view: viewService,
};

/**
 * Whether a primary is a copy that Flagger created and whose owner it removed at the promotion (flagger-behaviour 2.10): without an owner, under
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

/** One of the two copies, with the annotations of the original, since some routers read them on their backends. */
function copyOf(
  canary: Canary,
  release: Release,
  { name, labels, annotations }: CopyParts,
): KubernetesObject {
  const { target } = release;
  const primary = primaryName(canary);
  if (primary.length > longestName)
    refuseTarget(
      target,
      'metadata.name',
      `is too long: its copy ${primary} must fit in ${longestName} characters`,
    );
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: target.metadata.namespace ?? canary.metadata.namespace ?? 'default',
      labels: { ...labels, ...ownLabels(canary) },
      annotations: {
        ...copyableEntries(target.metadata.annotations),
        ...keepAwayAnnotations,
        ...releaseAnnotations(release),
        ...annotations,
      },
      ownerReferences: [ownerReference(canary)],
    },
    spec: { type: 'ClusterIP', ...serviceContent(target.spec) },
  };
}

/** Writing over a Service of others would send its users to other pods. Flagger's own copies lose their owner when they are promoted. */
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

/**
 * A Service as the rollout sees it: one pod, which is ready while the port of the route has a ready address; the number of pods belongs to others.
 * Unlike in Flagger, a Service without endpoints is not ready, so it gets no traffic.
 */
function viewService(source: ViewSource): PodsView {
  const { workload, endpointSlices, routePort: port } = source;
  const { metadata } = workload;
  const isAtRest = metadata.annotations?.[atRestAnnotation] === 'true';
  const desired = isAtRest ? 0 : 1;
  const selected = readyPods(source);
  // Copies have every port of the target, and only that of the route has to be reachable: the pods may not have the others.
  const endpoints = endpointsOf({ service: workload, endpointSlices, port }, selected) ?? 0;
  const reaches = !isAtRest && (isExternalName(workload.spec) || endpoints > 0);
  const ready = reaches ? 1 : 0;
  return {
    ...identityOf(workload),
    observed: true,
    desiredReplicas: desired,
    replicas: desired,
    updatedReplicas: desired,
    readyReplicas: ready,
    availableReplicas: ready,
    updatedReadyReplicas: ready,
    followsNodes: false,
    progressDeadlineExceeded: false,
    // Another selector or port takes effect at once; no pod is deleted for it.
    keepsReadyPod: true,
    faults: isAtRest || reaches ? [] : [noPodFault(workload, selected)],
    ...noPodFacts,
  };
}

/** The pods that it selects and that are ready, or need not be. */
function readyPods({ workload: { spec }, pods }: ViewSource): Pod[] {
  const selector = Object.entries(selectorOf(spec) ?? {});
  const { publishNotReadyAddresses } = spec as { publishNotReadyAddresses?: boolean };
  return pods.filter(
    (pod): pod is Pod =>
      selector.length > 0 &&
      pod.metadata.deletionTimestamp === undefined &&
      selector.every(([key, value]) => pod.metadata.labels?.[key] === value) &&
      (publishNotReadyAddresses === true || isReady(pod as Pod)),
  );
}

function noPodFault({ metadata, spec }: KubernetesObject, selected: readonly Pod[]): PodFault {
  const common = { pod: metadata.name, container: undefined };
  if (selected.length > 0) {
    const message = `Service ${metadata.name} selects ${selected.length} ready pods, but none is an endpoint of the port that receives the requests; check that they have its targetPort`;
    return { ...common, reason: 'NoPodSelected', message };
  }
  const labels = Object.entries(selectorOf(spec) ?? {}).map(([key, value]) => `${key}=${value}`);
  const message = `no ready pod has the labels ${labels.join(', ')} that Service ${metadata.name} selects`;
  return { ...common, reason: 'NoPodSelected', message };
}
