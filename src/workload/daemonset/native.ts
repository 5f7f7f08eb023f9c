/**
 * DaemonSets: OnDelete, and pods that are deleted node by node. Its controller makes every pod from the template as it is, so that has the
 * new one only while pods of a step are being made, and the older one at all other times (ADR 27).
 */
import type { KubernetesObject, PodTemplate } from '../../api/kubernetes.ts';
import { podFacts } from '../pods/pod-facts.ts';
import { faultsOf } from '../pods/pod-faults.ts';
import { controlledPods, currentHash, isReady, type Pod, revisionHashLabel } from '../pods/pods.ts';
import {
  isBeforeFirstStep,
  promotedDigestOf,
  promotedRevisionAnnotation,
  triedRevisionAnnotation,
} from '../shared/names.ts';
import {
  type HeldFields,
  type IncomingRelease,
  type NativeKind,
  type NodeRanks,
  type PodsView,
  replacedByHand,
  type StepGoal,
  type StepMove,
  type TriedPods,
  type Unsuitable,
} from '../shared/native-kind.ts';
import { fenceposts, podsOfShareExactly } from '../shared/rolling-update.ts';
import type { ViewSource } from '../shared/workload-kind.ts';
import { daemonSettingsFields, viewDaemonSet } from './daemonset.ts';

const onDelete = { updateStrategy: { type: 'OnDelete' } };
/** Instead of a revision: what is new is beside the template, and all pods are of it. */
const ALL_PODS = 'all';

/** The DaemonSet entry of the table of kinds. */
export const nativeDaemonSet: NativeKind = {
  kind: 'DaemonSet',
  settingsFields: daemonSettingsFields,
  unsuitable,
  withhold: ({ isSameTemplate }) => ({
    spec: onDelete,
    template: 'promoted',
    ...(isSameTemplate ? { marks: { [triedRevisionAnnotation]: ALL_PODS } } : {}),
  }),
  next,
  splitView(source) {
    const whole = wholeOf(source);
    if (isBeforeFirstStep(source.workload)) return { whole, tried: undefined };
    const isSame = markOf(source.workload, triedRevisionAnnotation) === ALL_PODS;
    return { whole, tried: isSame ? allOf(whole) : triedIn(source, whole) };
  },
};

/**
 * As many nodes at once as the user's own maxUnavailable lets, each when those before are ready. The new template stays no longer than it
 * takes to make the pods of these nodes.
 */
function next({ source, weightPercent, settings, ranks }: StepGoal): StepMove {
  const { workload } = source;
  const tried = markOf(workload, triedRevisionAnnotation);
  const promoted = promotedHash(source);
  if (promoted === undefined) return { held: { spec: onDelete, template: 'promoted' }, replace: [] };
  const { standing, taking } = heldWith(promoted);
  if (tried === ALL_PODS) return { held: standing(ALL_PODS), replace: [] };
  const seen = podsOf(source, ranks);
  const wanted = podsOfShareExactly(weightPercent, seen.nodes);
  const room = Math.max(0, ownRoom(settings.strategy, seen.nodes) - seen.missing - seen.unready);
  if (tried !== undefined) {
    const surplus = seen.tried.slice(wanted);
    if (surplus.length > 0) return { held: standing(tried), replace: surplus.map(exactly) };
    return { held: seen.tried.length < wanted && room > 0 ? taking : standing(tried), replace: [] };
  }
  // The nodes that lack a pod get one of the new template.
  const lacking = wanted - seen.tried.length - seen.missing;
  if (seen.hash === undefined) return { held: taking, replace: [] };
  const taken = seen.older.filter(isReady).slice(0, Math.max(0, Math.min(room, lacking)));
  const isMade = taken.length === 0 && (seen.missing === 0 || seen.tried.length >= wanted);
  return { held: isMade ? standing(seen.hash) : taking, replace: taken.map(exactly) };
}

/**
 * `taking`: the new template is there, for the nodes whose pods are deleted. `standing`: what is tried has been made, and the older template is
 * back, so that a node that comes, or a pod that dies, gets that.
 */
function heldWith(promoted: string): { readonly taking: HeldFields; standing(tried: string): HeldFields } {
  const marks = { [promotedRevisionAnnotation]: promoted };
  return {
    taking: { spec: onDelete, marks },
    standing: (tried) => ({
      spec: onDelete,
      template: 'promoted',
      marks: { ...marks, [triedRevisionAnnotation]: tried },
    }),
  };
}

/** Nobody stands in here: what serves meanwhile is the pods of the other nodes. */
function wholeOf(source: ViewSource): PodsView {
  const whole = viewDaemonSet(source);
  const { updateStrategy } = source.workload.spec as { updateStrategy?: StepGoal['settings']['strategy'] };
  return { ...whole, keepsReadyPod: whole.desiredReplicas > ownRoom(updateStrategy, whole.desiredReplicas) };
}

/** As its controller rounds: up. At least one, since no second pod fits on a node here. */
function ownRoom(strategy: StepGoal['settings']['strategy'], nodes: number): number {
  const given = strategy?.rollingUpdate as Readonly<Record<string, unknown>> | null | undefined;
  return Math.max(1, fenceposts(nodes, { maxSurge: given?.maxUnavailable ?? 1 }).maxSurge);
}

/** Its pods by revision, in the order in which nodes are taken. */
interface DaemonPods {
  /** Of the pods that are tried; undefined while its controller has not made a revision of the template. */
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
  const hash = markOf(workload, triedRevisionAnnotation) ?? takenHash(source);
  const own = controlledPods(workload, source.pods).toSorted(byRank(ranks));
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

/** The hash of the pods that are tried, or of all pods where none are; undefined while its controller has not told it. */
export function daemonRevision(source: ViewSource): string | undefined {
  const tried = markOf(source.workload, triedRevisionAnnotation);
  if (promotedDigestOf(source.workload) === undefined || tried === ALL_PODS) return observedHash(source);
  return tried ?? takenHash(source);
}

/** Before the first step the template is still that of the older pods. */
function promotedHash(source: ViewSource): string | undefined {
  return markOf(source.workload, promotedRevisionAnnotation) ?? observedHash(source);
}

/** The new template is in place, its controller has seen it, and so have we: the revision with the highest number may be one of before. */
function takenHash(source: ViewSource): string | undefined {
  const promoted = markOf(source.workload, promotedRevisionAnnotation);
  const hash = observedHash(source);
  return promoted !== undefined && hash !== promoted ? hash : undefined;
}

function observedHash({ workload, controllerRevisions }: ViewSource): string | undefined {
  const { observedGeneration = 0 } = (workload.status ?? {}) as { observedGeneration?: number };
  const isSeen = observedGeneration >= (workload.metadata.generation ?? 0);
  return isSeen ? currentHash(workload, controllerRevisions) : undefined;
}

function markOf({ metadata }: KubernetesObject, key: string): string | undefined {
  return metadata.annotations?.[key];
}

/** The nodes that are ranked first, then by name. */
function byRank(ranks: NodeRanks): (left: Pod, right: Pod) => number {
  const rankOf = (pod: Pod) => ranks.get(nodeOf(pod)) ?? Number.MAX_SAFE_INTEGER;
  return (left, right) =>
    rankOf(left) - rankOf(right) ||
    nodeOf(left).localeCompare(nodeOf(right)) ||
    left.metadata.name.localeCompare(right.metadata.name);
}

function nodeOf({ spec }: Pod): string {
  return spec?.nodeName ?? '';
}

function exactly({ metadata }: Pod) {
  return { name: metadata.name, uid: metadata.uid ?? '' };
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
  const stands = markOf(workload, triedRevisionAnnotation) !== undefined;
  const { tried, older, nodes, missing } = podsOf(source);
  const { template } = workload.spec as unknown as { template: PodTemplate };
  const facts = podFacts(tried, template, source);
  const { updatedReadyReplicas: ready } = facts;
  return {
    view: {
      ...whole,
      ...facts,
      // While it stands, the template is the older one, and says nothing of these images.
      imagesMatch: stands || facts.imagesMatch,
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
      stands &&
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
