/** The Service of the new pods of a workload that is rolled out in place (ADR 21). */
import { type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import { nativeKind } from '../../../workload/kinds.ts';
import { isNativeService, nativeService } from '../../../workload/native-pods.ts';
import { nativeWorkload, type Stage } from '../../../workload/native-workload.ts';
import { plainConfig } from '../../../workload/shared/configs.ts';
import { promotedDigestOf, serviceNames, stepShareOf } from '../../../workload/shared/names.ts';
import { type NodeRanks, type PodToReplace, rankNodes } from '../../../workload/shared/native-kind.ts';
import { primaryReplicas } from '../../../workload/sides.ts';
import { withMark } from '../../applied.ts';
import { StaleView } from '../../failure.ts';
import type { ActionContext, ActionType, Performer } from '../context/context.ts';
import { podKind, serviceKind } from '../context/namespace-view.ts';
import { bytesOf, type ReleaseBytes } from '../observe/releases.ts';
import { viewSource } from '../observe/sides.ts';
import { ownedReplicas } from './scalers.ts';
import { applySettings } from './workloads.ts';
import { applyRollout, applyUnwatched, ensureFresh, onBehalfOfSource, partOfSource } from './write.ts';

/** Made where `service` is given, and gone again where it is not; Services for users' requests are theirs. */
const ensureNativeService: Performer<'EnsureServices'> = async (context) => {
  const { parts, observation } = context;
  const { canary, target, revision, view } = observation;
  const live = view.get(serviceKind, serviceNames(canary).canary);
  if (!canary.spec.service) {
    if (!live || !isNativeService(live, canary)) return false;
    await parts.cluster.delete(referenceOf(live), versionOf(live));
    return true;
  }
  const wanted = target && nativeService({ canary, target, revision, live });
  return wanted ? applyRollout(context, wanted, live, withMark) : false;
};

// Actions on a workload that is rolled out in place: each is one write of the whole object (ADR 21).

type NativePerformers = { readonly [Type in ActionType]?: Performer<Type> };

/** Config under its own names, then the template, without a pod of it. */
const startCanaryPods: Performer<'ApplyCanary'> = async (context, { digest }) => {
  const { primary } = context.observation.world;
  if (primary?.digest === undefined) throw new StaleView('the workload');
  const { release: older } = await bytesOf(context, primary.digest);
  return writeRelease(context, digest, { kind: 'withheld', older });
};

/** Promotion, and the way back after it. */
const promote: Performer<'ApplyPrimary'> = async (context, { digest, precondition }) => {
  const { primary } = context.observation;
  const seen = primary && versionOf(primary);
  if (seen?.resourceVersion !== precondition?.resourceVersion) throw new StaleView('the workload');
  await ensureFresh(context);
  return writeRelease(context, digest, { kind: 'whole' });
};

/** The next bounds on the way to a share; at 0 the template before, with its own settings. */
const setShare: Performer<'SetTraffic'> = async (context, { route }) => {
  const { canary, target: live, view, world } = context.observation;
  if (!live) return false;
  const promoted = promotedDigestOf(live);
  if (route.canaryWeight === 0)
    return promoted === undefined ? forgetShare(context, live) : goBack(context, promoted);
  const digest = world.target?.digest;
  if (promoted === undefined || digest === undefined) throw new StaleView('the workload');
  const bytes = await bytesOf(context, digest);
  const { release: older } = await bytesOf(context, promoted);
  const source = viewSource(view, { workload: live, service: '', side: 'canary' });
  const weightPercent = route.canaryWeight;
  const aim = { source, weightPercent, settings: bytes.settings, ranks: await ranksOfNodes(context) };
  const { held, replace } = nativeKind(canary).next(aim);
  // Pods go for what was read back, not for what was just written.
  if (await writeWorkload(context, bytes, { kind: 'held', older, weightPercent, held })) return true;
  return replacePods(context, replace);
};

/** Read when a step is taken and at no other time: nodes change often, and their order matters nowhere else. */
async function ranksOfNodes({ parts, observation }: ActionContext): Promise<NodeRanks> {
  const { nodeOrder } = observation.canary.spec.analysis;
  if (!nodeOrder) return new Map();
  const nodes = { apiVersion: 'v1', kind: 'Node', namespace: '', labelSelector: nodeOrder.label };
  return rankNodes(nodeOrder, await parts.cluster.list(nodes));
}

/** Each over exactly the one that was seen; its controller makes another one. False: the next look waits until that shows. */
async function replacePods(context: ActionContext, pods: readonly PodToReplace[]): Promise<boolean> {
  const { parts, observation } = context;
  const { namespace } = observation.view;
  for (const { name, uid } of pods) await parts.cluster.delete({ ...podKind, namespace, name }, { uid });
  return false;
}

/** Pods that the workload's controller waits for for ever while it goes back. */
const replaceStuck: Performer<'ReplacePods'> = async (context, { pods }) => {
  await ensureFresh(context);
  return replacePods(context, pods);
};

/** Config and template of what the older pods run. */
async function goBack(context: ActionContext, promoted: string): Promise<boolean> {
  await ensureFresh(context);
  return writeRelease(context, promoted, { kind: 'returning' });
}

/** Once no pod of what was left is there. */
async function forgetShare(context: ActionContext, live: KubernetesObject): Promise<boolean> {
  const { primary, route } = context.observation.world;
  if (stepShareOf(live) === undefined || route?.canaryWeight !== 0 || primary?.digest === undefined)
    return false;
  return writeWorkload(context, await bytesOf(context, primary.digest), { kind: 'whole' });
}

async function writeRelease(context: ActionContext, digest: string, stage: Stage): Promise<boolean> {
  const writer = onBehalfOfSource(context, digest);
  const bytes = await bytesOf(context, digest);
  for (const config of bytes.release.configs)
    await applyUnwatched(writer, partOfSource(context, plainConfig(config)));
  return writeWorkload(context, bytes, stage, digest);
}

/** Under a scaler the number is left out, unless we are on record for it: it would become 1 (S18). */
async function writeWorkload(
  context: ActionContext,
  bytes: ReleaseBytes,
  stage: Stage,
  digest = bytes.release.digest,
): Promise<boolean> {
  const { canary, target: live } = context.observation;
  const replicas =
    primaryReplicas({ canary, settings: bytes.settings }) ?? (await ownedReplicas(context, live));
  const wanted = nativeWorkload({ ...bytes, canary, replicas, live }, stage);
  return applyRollout(onBehalfOfSource(context, digest), partOfSource(context, wanted, live), live);
}

/** While a release is tried its own settings are held back; they follow with the next write of the whole. */
const settings: Performer<'ApplySettings'> = async (context, action) => {
  const { primary } = context.observation;
  return primary && promotedDigestOf(primary) !== undefined ? false : applySettings(context, action);
};

/** The actions that mean something else, or nothing, where both sides are pods of one workload. */
export const nativePerformers: NativePerformers = {
  ApplyCanary: startCanaryPods,
  ApplyPrimary: promote,
  SetTraffic: setShare,
  ReplacePods: replaceStuck,
  ApplySettings: settings,
  EnsureServices: ensureNativeService,
};
