/** DaemonSets as targets (flagger-behaviour.md 2.10): one pod a node, scaled to zero by a node selector that matches no node. */
import type { KubernetesObject, PodTemplate } from '../../api/kubernetes.ts';
import type { PodFault } from '../../health/workload-view.ts';
import { templateOf, type WorkloadSettings } from '../../release/release.ts';
import { identityOf, podFacts } from '../pods/pod-facts.ts';
import { faultsOf } from '../pods/pod-faults.ts';
import {
  controlledPods,
  currentDaemonPods,
  currentHash,
  isReady,
  type Pod,
  revisionHashLabel,
} from '../pods/pods.ts';
import { canaryWorkload, primaryWorkload } from '../shared/copied-workload.ts';
import {
  isBeforeFirstStep,
  promotedDigestOf,
  promotedRevisionAnnotation,
  settingsAnnotation,
  triedRevisionAnnotation,
} from '../shared/metadata.ts';
import { refuseTarget } from '../shared/refusal.ts';
import { fenceposts, podsOfShareExactly } from '../shared/rolling-update.ts';
import {
  type HeldFields,
  type IncomingRelease,
  type NativeKind,
  type NodeRanks,
  type PodsView,
  podToReplace,
  replacedByHand,
  type StepGoal,
  type StepMove,
  type TriedPods,
  type Unsuitable,
  type ViewSource,
  type WorkloadKind,
  type WorkloadSource,
} from '../shared/workload-kind.ts';

/** The DaemonSet entry of the table of kinds. */
export const daemonSet: WorkloadKind = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  watches: [{ apiVersion: 'apps/v1', kind: 'ControllerRevision' }],
  sides: 'workloads',
  canary(source) {
    const template = copyable(source);
    const nodeSelector = {
      ...(template.spec.nodeSelector as Record<string, string> | undefined),
      ...(source.replicas === 0 ? { [scaleToZeroSelector]: 'true' } : {}),
    };
    return canaryWorkload(source, {
      ...(source.release.target.spec as Record<string, unknown>),
      ...daemonSetSettings(source.settings),
      // Written also when empty: otherwise the selector of a canary at rest would stay.
      template: { ...template, spec: { ...template.spec, nodeSelector } },
    });
  },
  primary: (source) => primaryWorkload(source, daemonSetSettings(source.settings), copyable(source)),
  settingsPatch: ({ settings, settingsKey }) => ({
    metadata: { annotations: { [settingsAnnotation]: settingsKey } },
    spec: daemonSetSettings(settings),
  }),
  scalePatch(workload, replicas) {
    const { template } = workload.spec as unknown as { template: PodTemplate };
    const selector = template.spec.nodeSelector as Record<string, string> | undefined;
    const isZero = selector?.[scaleToZeroSelector] !== undefined;
    if (isZero === (replicas === 0)) return undefined;
    const nodeSelector = { [scaleToZeroSelector]: replicas === 0 ? 'true' : null };
    return { spec: { template: { spec: { nodeSelector } } } };
  },
  view: viewDaemonSet,
};

/** The target's template, without the selector of a canary at rest. Throws RefusedError for what cannot run twice on a node. */
function copyable({ release }: WorkloadSource): PodTemplate {
  const { target } = release;
  const { updateStrategy } = (target.spec ?? {}) as { updateStrategy?: { type?: string } };
  const { type = 'RollingUpdate' } = updateStrategy ?? {};
  if (type !== 'RollingUpdate')
    refuseTarget(
      target,
      'spec.updateStrategy.type',
      `must be RollingUpdate, not ${type}: pods would never be replaced`,
    );
  const template = templateOf(release);
  refuseHostPorts(target, template);
  const { nodeSelector, ...spec } = template.spec as PodTemplate['spec'] & Record<string, unknown>;
  const ownSelector = Object.entries((nodeSelector ?? {}) as Record<string, string>).filter(
    ([key]) => key !== scaleToZeroSelector,
  );
  return {
    ...template,
    spec: { ...spec, ...(ownSelector.length > 0 ? { nodeSelector: Object.fromEntries(ownSelector) } : {}) },
  };
}

interface Ported {
  ports?: ReadonlyArray<{ hostPort?: number }>;
}

/** A port of a node can be used once: the canary's pods could never be scheduled on the nodes of the primary's (design section 6). */
function refuseHostPorts(target: KubernetesObject, { spec }: PodTemplate): void {
  const { hostNetwork } = spec as { hostNetwork?: boolean };
  for (const list of ['containers', 'initContainers'] as const) {
    for (const [index, container] of (spec[list] ?? []).entries()) {
      const { ports = [] } = container as Ported;
      const taken = ports.findIndex(({ hostPort = 0 }) => hostNetwork === true || hostPort > 0);
      if (taken < 0) continue;
      const field = `spec.template.spec.${list}[${index}].ports[${taken}]`;
      const cause =
        hostNetwork === true ? 'hostNetwork makes it a port of the node' : 'hostPort is a port of the node';
      refuseTarget(
        target,
        field,
        `${cause}, so a canary pod could never run on the same node as the primary's; use a Service instead, or roll out in place with provider native`,
      );
    }
  }
}

/** Every setting with an explicit value, by default Kubernetes' own, so that a setting removed from Git does not stay. */
function daemonSetSettings({ strategy, minReadySeconds, revisionHistoryLimit }: WorkloadSettings) {
  const given = strategy?.rollingUpdate as Record<string, unknown> | undefined | null;
  const { maxSurge = 0, maxUnavailable = maxSurge === 0 ? 1 : 0 } = given ?? {};
  return {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
    minReadySeconds: minReadySeconds ?? 0,
    revisionHistoryLimit: revisionHistoryLimit ?? 10,
  };
}

/** Node selector of a DaemonSet at rest: no node carries it (Flagger's key). */
export const scaleToZeroSelector = 'flagger.app/scale-to-zero';

interface DaemonSetStatus {
  observedGeneration?: number;
  desiredNumberScheduled?: number;
  currentNumberScheduled?: number;
  updatedNumberScheduled?: number;
  numberReady?: number;
  numberAvailable?: number;
}

/** A DaemonSet as the rollout sees it. Pods on nodes that no longer match do not count, as in its own status. */
function viewDaemonSet(source: ViewSource): PodsView {
  const { workload } = source;
  const { metadata } = workload;
  const status = (workload.status ?? {}) as DaemonSetStatus;
  const observed = (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  const updatedReplicas = status.updatedNumberScheduled ?? 0;
  const { template } = workload.spec as unknown as { template: PodTemplate };
  const selector = template.spec.nodeSelector as Record<string, string> | undefined;
  const isAtRest = selector?.[scaleToZeroSelector] !== undefined;
  // No pod counts as current before the controller has made one for this generation.
  const current =
    observed && updatedReplicas > 0
      ? currentDaemonPods(workload, source.pods, source.controllerRevisions)
      : [];
  const facts = podFacts(current, template, source);
  return {
    ...identityOf(workload),
    observed,
    // At least one, so that a DaemonSet without matching nodes, or without a status yet, does not count as one at rest.
    desiredReplicas: isAtRest ? 0 : Math.max(1, status.desiredNumberScheduled ?? 0),
    replicas: status.currentNumberScheduled ?? 0,
    updatedReplicas,
    readyReplicas: status.numberReady ?? 0,
    availableReplicas: status.numberAvailable ?? 0,
    followsNodes: true,
    progressDeadlineExceeded: false,
    // Each node has one pod: traffic moves away before the template is written (design section 4, clear).
    keepsReadyPod: false,
    faults: observed ? [...(isAtRest ? [] : nodeFaults(workload)), ...faultsOf(workload, current)] : [],
    ...facts,
    // Never more than the controller counts: the ControllerRevision may be seen later than the status.
    updatedReadyReplicas: Math.min(facts.updatedReadyReplicas, updatedReplicas),
  };
}

/** No pod is there to say it. */
function nodeFaults({ metadata, status }: KubernetesObject): PodFault[] {
  if ((status as DaemonSetStatus | undefined)?.desiredNumberScheduled !== 0) return [];
  const message = 'no node matches its nodeSelector, affinity and tolerations';
  return [{ pod: metadata.name, container: undefined, reason: 'Unschedulable', message }];
}

// Rolled out in place (provider native): OnDelete, and pods that are deleted node by node. The controller creates every pod from the current
// template, so it is the new one only while pods of a step are created, and the older one at all other times (ADR 27).

const onDelete = { updateStrategy: { type: 'OnDelete' } };
/** Instead of a revision: the template is unchanged, so all pods are of the release. */
const ALL_PODS = 'all';

/** The DaemonSet entry of the table of kinds. */
export const nativeDaemonSet: NativeKind = {
  kind: 'DaemonSet',
  settingsFields: daemonSetSettings,
  unsuitable,
  withhold: ({ isSameTemplate }) => ({
    spec: onDelete,
    template: 'promoted',
    ...(isSameTemplate ? { annotations: { [triedRevisionAnnotation]: ALL_PODS } } : {}),
  }),
  next,
  splitView(source) {
    const { workload } = source;
    const view = viewDaemonSet(source);
    const { updateStrategy } = workload.spec as { updateStrategy?: StepGoal['settings']['strategy'] };
    // There is no second set of pods: during a step the pods of the other nodes serve.
    const keepsReadyPod = view.desiredReplicas > ownRoom(updateStrategy, view.desiredReplicas);
    const whole = { ...view, keepsReadyPod };
    if (isBeforeFirstStep(workload)) return { whole, tried: undefined };
    const isSame = annotationOf(workload, triedRevisionAnnotation) === ALL_PODS;
    return { whole, tried: isSame ? allOf(whole) : triedIn(source, whole) };
  },
  revision(source) {
    const { workload } = source;
    const tried = annotationOf(workload, triedRevisionAnnotation);
    if (promotedDigestOf(workload) === undefined || tried === ALL_PODS) return observedHash(source);
    return tried ?? takenHash(source);
  },
};

/**
 * As many nodes at once as the user's own maxUnavailable allows, each when those before are ready. The new template stays no longer than it
 * takes to create the pods of these nodes.
 */
function next({ source, weightPercent, settings, ranks }: StepGoal): StepMove {
  const { workload } = source;
  const tried = annotationOf(workload, triedRevisionAnnotation);
  // Before the first step the template is still that of the older pods.
  const promoted = annotationOf(workload, promotedRevisionAnnotation) ?? observedHash(source);
  if (promoted === undefined) return { held: { spec: onDelete, template: 'promoted' }, replace: [] };
  const { created, creating } = heldWith(promoted);
  if (tried === ALL_PODS) return { held: created(ALL_PODS), replace: [] };
  const seen = podsOf(source, ranks);
  const wanted = podsOfShareExactly(weightPercent, seen.nodes);
  const room = Math.max(0, ownRoom(settings.strategy, seen.nodes) - seen.missing - seen.unready);
  if (tried !== undefined) {
    const surplus = seen.tried.slice(wanted);
    if (surplus.length > 0) return { held: created(tried), replace: surplus.map(podToReplace) };
    return { held: seen.tried.length < wanted && room > 0 ? creating : created(tried), replace: [] };
  }
  // The nodes that lack a pod get one of the new template.
  const lacking = wanted - seen.tried.length - seen.missing;
  if (seen.hash === undefined) return { held: creating, replace: [] };
  const taken = seen.older.filter(isReady).slice(0, Math.max(0, Math.min(room, lacking)));
  const isMade = taken.length === 0 && (seen.missing === 0 || seen.tried.length >= wanted);
  return { held: isMade ? created(seen.hash) : creating, replace: taken.map(podToReplace) };
}

/**
 * `creating`: the new template, for the nodes whose pods are deleted. `created`: the pods that are tried exist, and the template is the older one
 * again, so that new nodes and replaced pods get that.
 */
function heldWith(promoted: string): { readonly creating: HeldFields; created(tried: string): HeldFields } {
  const annotations = { [promotedRevisionAnnotation]: promoted };
  return {
    creating: { spec: onDelete, annotations },
    created: (tried) => ({
      spec: onDelete,
      template: 'promoted',
      annotations: { ...annotations, [triedRevisionAnnotation]: tried },
    }),
  };
}

/** Rounded up, as its controller does. At least one, since no second pod fits on a node. */
function ownRoom(strategy: StepGoal['settings']['strategy'], nodes: number): number {
  const given = strategy?.rollingUpdate as Readonly<Record<string, unknown>> | null | undefined;
  return Math.max(1, fenceposts(nodes, { maxSurge: given?.maxUnavailable ?? 1 }).maxSurge);
}

/** Its pods by revision, in the order of the nodes. */
interface DaemonPods {
  /** Of the pods that are tried; undefined while its controller has not created a revision of the template. */
  readonly hash: string | undefined;
  readonly tried: readonly Pod[];
  readonly older: readonly Pod[];
  readonly nodes: number;
  /** Nodes without a pod, or with one that is being deleted. */
  readonly missing: number;
  /** Pods that are not ready. */
  readonly unready: number;
}

function podsOf(source: ViewSource, ranks: NodeRanks = new Map()): DaemonPods {
  const { workload } = source;
  const hash = annotationOf(workload, triedRevisionAnnotation) ?? takenHash(source);
  const rankOf = (pod: Pod) => ranks.get(nodeOf(pod)) ?? Number.MAX_SAFE_INTEGER;
  // The nodes that are ranked first, then by name.
  const own = controlledPods(workload, source.pods).toSorted(
    (left, right) =>
      rankOf(left) - rankOf(right) ||
      nodeOf(left).localeCompare(nodeOf(right)) ||
      left.metadata.name.localeCompare(right.metadata.name),
  );
  const isTried = ({ metadata }: Pod) => hash !== undefined && metadata.labels?.[revisionHashLabel] === hash;
  const { desiredNumberScheduled: nodes = 0 } = (workload.status ?? {}) as {
    desiredNumberScheduled?: number;
  };
  return {
    hash,
    tried: own.filter(isTried),
    older: own.filter((pod) => !isTried(pod)),
    nodes,
    missing: Math.max(0, nodes - new Set(own.map(nodeOf)).size),
    unready: own.filter((pod) => !isReady(pod)).length,
  };
}

/** The hash of the new template, once its controller and our caches have seen it; until then the newest revision may be an older one. */
function takenHash(source: ViewSource): string | undefined {
  const promoted = annotationOf(source.workload, promotedRevisionAnnotation);
  const hash = observedHash(source);
  return promoted !== undefined && hash !== promoted ? hash : undefined;
}

function observedHash({ workload, controllerRevisions }: ViewSource): string | undefined {
  const { observedGeneration = 0 } = (workload.status ?? {}) as { observedGeneration?: number };
  const isSeen = observedGeneration >= (workload.metadata.generation ?? 0);
  return isSeen ? currentHash(workload, controllerRevisions) : undefined;
}

function annotationOf({ metadata }: KubernetesObject, key: string): string | undefined {
  return metadata.annotations?.[key];
}

function nodeOf({ spec }: Pod): string {
  return spec?.nodeName ?? '';
}

function allOf(whole: PodsView): TriedPods {
  const { desiredReplicas, updatedReadyReplicas, replicas } = whole;
  return {
    view: whole,
    leaving: desiredReplicas,
    olderAvailable: 0,
    isReached: () => updatedReadyReplicas === desiredReplicas && replicas === desiredReplicas,
  };
}

function triedIn(source: ViewSource, whole: PodsView): TriedPods {
  const { workload } = source;
  const isCreated = annotationOf(workload, triedRevisionAnnotation) !== undefined;
  const { tried, older, nodes, missing } = podsOf(source);
  const { template } = workload.spec as unknown as { template: PodTemplate };
  const facts = podFacts(tried, template, source);
  const { updatedReadyReplicas: ready } = facts;
  return {
    view: {
      ...whole,
      ...facts,
      // The template is the older one then, and says nothing about these images.
      imagesMatch: isCreated || facts.imagesMatch,
      desiredReplicas: Math.max(1, tried.length),
      replicas: tried.length,
      updatedReplicas: tried.length,
      readyReplicas: ready,
      availableReplicas: ready,
      faults: whole.observed ? faultsOf(workload, tried) : [],
    },
    leaving: tried.length + missing,
    olderAvailable: older.filter(isReady).length,
    isReached: (weightPercent) =>
      isCreated &&
      missing === 0 &&
      tried.length === podsOfShareExactly(weightPercent, nodes) &&
      ready === tried.length,
  };
}

function unsuitable({ settings, live, isFirst }: IncomingRelease): Unsuitable | undefined {
  const byHand = replacedByHand(settings);
  if (byHand) return byHand;
  const { desiredNumberScheduled: nodes = 0 } = (live?.status ?? {}) as { desiredNumberScheduled?: number };
  if (!isFirst || nodes >= 2) return undefined;
  return {
    field: 'spec.template.spec.nodeSelector',
    message: `matches ${nodes} nodes; provider native needs at least 2, since one pod cannot be split`,
    isLive: true,
  };
}
