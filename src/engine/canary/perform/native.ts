/** Actions on a workload that is rolled out in place (ADR 21). */

import { type KubernetesObject, referenceOf, versionOf } from '../../../api/kubernetes.ts';
import { nativeKind, primaryReplicas } from '../../../workload/kinds.ts';
import { revisionPods } from '../../../workload/native-pods.ts';
import { isNativeService, nativeService } from '../../../workload/native-service.ts';
import {
  holdingSettings,
  nativeWorkload,
  refuseSettings,
  type Stage,
} from '../../../workload/native-workload.ts';
import { configKey, plainConfig } from '../../../workload/shared/configs.ts';
import {
  digestAnnotation,
  promotedDigestOf,
  serviceNames,
  stepShareOf,
} from '../../../workload/shared/metadata.ts';
import { type PodToReplace, rankNodes } from '../../../workload/shared/workload-kind.ts';
import { StaleView } from '../../failure.ts';
import type { ActionContext, Performers } from '../context/context.ts';
import { podKind, serviceKind, viewSource } from '../context/namespace-view.ts';
import { bytesOf, type ReleaseBytes } from '../observe/releases.ts';
import { keepObject } from './put-back.ts';
import { workloadPerformers } from './workloads.ts';
import {
  applyOfSource,
  applyUnwatched,
  ensureFresh,
  ensureFreshPrimary,
  onBehalfOfSource,
  ownedReplicas,
  partOfSource,
  refuseUnkept,
} from './write.ts';

/** Actions that differ where both sides are pods of one workload; each writes the whole object. */
export const nativePerformers = {
  /** Config under its own names, then the template, without a pod of it. */
  async ApplyCanary(context, { digest }) {
    const { primary } = context.observation.world;
    if (primary?.digest === undefined) throw new StaleView('the workload');
    const { release: older } = await bytesOf(context, primary.digest);
    return writeRelease(context, digest, { kind: 'withheld', older });
  },

  /** Promotion, and the way back after it. */
  async ApplyPrimary(context, { digest, precondition }) {
    await ensureFreshPrimary(context, precondition);
    const isWayBack = context.observation.world.status.lastKnownGood?.digest === digest;
    return writeRelease(context, digest, { kind: 'whole', isWayBack });
  },

  /** Settings that hold no release at a step would be the record's, too, and no later release could go back to it. */
  async ApplySettings(context, action) {
    const { canary, primary } = context.observation;
    // They are held back while a release is tried, and follow with the next write of the whole.
    if (primary && promotedDigestOf(primary) !== undefined) return false;
    refuseSettings({ ...(await bytesOf(context, action.digest)), canary });
    return workloadPerformers.ApplySettings(context, action);
  },

  /** What is gone of the config that Git has, under its own names: the next pod would not start. */
  async RestoreConfigs(context, { digest }) {
    const { primary, world } = context.observation;
    if (primary?.metadata.annotations?.[digestAnnotation] !== digest) throw new StaleView('the workload');
    const seen = world.primary?.configCopies ?? [];
    const gone = seen
      .filter(({ state }) => state === 'missing')
      .map(({ kind, name }) => configKey(kind, name));
    const { release } = await bytesOf(context, digest);
    const isGone = ({ kind, metadata }: KubernetesObject) => gone.includes(configKey(kind, metadata.name));
    return writeConfigs(context, digest, release.configs.filter(isGone));
  },

  /** The next bounds on the way to a share; at 0 the template before, with its own settings. */
  async SetTraffic(context, { route }) {
    const { parts, observation } = context;
    const { canary, target: live, view, world } = observation;
    if (!live) return false;
    const promoted = promotedDigestOf(live);
    const weightPercent = route.canaryWeight;
    if (weightPercent === 0) return returnToOlder(context, live, promoted);
    const digest = world.target?.digest;
    if (promoted === undefined || digest === undefined) throw new StaleView('the workload');
    const bytes = await bytesOf(context, digest);
    const { release: older } = await bytesOf(context, promoted);
    const source = viewSource(view, { workload: live, service: '', side: 'canary' });
    // Nodes are read when a step is taken and at no other time: they change often, and their order matters nowhere else.
    const { nodeOrder } = canary.spec.analysis;
    const nodes = { apiVersion: 'v1', kind: 'Node', namespace: '', labelSelector: nodeOrder?.label ?? '' };
    const ranks = nodeOrder ? rankNodes(nodeOrder, await parts.cluster.list(nodes)) : new Map();
    const { settings } = bytes;
    const { held, replace } = nativeKind(canary).next({ source, weightPercent, settings, ranks });
    // Pods are replaced by what was read back, not by what was just written.
    if (await writeWorkload(context, bytes, { kind: 'held', older, weightPercent, held })) return true;
    return replacePods(context, replace);
  },

  /** Pods that the workload's controller would wait for for ever on the way back. */
  async ReplacePods(context, { pods }) {
    await ensureFresh(context);
    return replacePods(context, pods);
  },

  /** The Service of the new pods: created where `service` is given, deleted where it is not. Services for users' requests are the user's. */
  async EnsureServices(context) {
    const { parts, observation } = context;
    const { canary, target, view } = observation;
    const live = view.get(serviceKind, serviceNames(canary).canary);
    if (!canary.spec.service) {
      if (!live || !isNativeService(live, canary)) return false;
      await parts.cluster.delete(referenceOf(live), versionOf(live));
      return true;
    }
    if (!target) return false;
    const source = viewSource(view, { workload: target, service: '', side: 'canary' });
    const revision = revisionPods(nativeKind(canary), source);
    const wanted = nativeService({ canary, target, revision, live });
    return wanted ? keepObject(context, wanted, live) : false;
  },
} satisfies Partial<Performers>;

/** Deletes exactly the pods that were observed; their controller replaces them. False: the next pass waits until a watch shows it. */
async function replacePods(context: ActionContext, pods: readonly PodToReplace[]): Promise<boolean> {
  const { parts, observation } = context;
  const { namespace } = observation.view;
  for (const { name, uid } of pods) await parts.cluster.delete({ ...podKind, namespace, name }, { uid });
  return false;
}

/** Back to config and template of what the older pods run; without a release that is tried, once no pod of what was left is there. */
async function returnToOlder(
  context: ActionContext,
  live: KubernetesObject,
  promoted: string | undefined,
): Promise<boolean> {
  if (promoted !== undefined) {
    await ensureFresh(context);
    return writeRelease(context, promoted, { kind: 'returning' });
  }
  const { primary, route } = context.observation.world;
  if (stepShareOf(live) === undefined || route?.canaryWeight !== 0 || primary?.digest === undefined)
    return false;
  return writeWorkload(context, await bytesOf(context, primary.digest), { kind: 'whole', isWayBack: true });
}

async function writeRelease(context: ActionContext, digest: string, stage: Stage): Promise<boolean> {
  const bytes = await bytesOf(context, digest);
  await writeConfigs(context, digest, bytes.release.configs);
  return writeWorkload(context, bytes, stage, digest);
}

async function writeConfigs(
  context: ActionContext,
  digest: string,
  configs: readonly KubernetesObject[],
): Promise<boolean> {
  const writer = onBehalfOfSource(context, digest);
  let wrote = false;
  for (const config of configs)
    wrote = (await applyUnwatched(writer, partOfSource(context, plainConfig(config)))) || wrote;
  return wrote;
}

/** Under a scaler replicas are left out, unless managedFields give them to us: they would become 1 (S18). */
async function writeWorkload(
  context: ActionContext,
  bytes: ReleaseBytes,
  stage: Stage,
  digest = bytes.release.digest,
): Promise<boolean> {
  const { canary, target: live } = context.observation;
  const replicas =
    primaryReplicas({ canary, settings: bytes.settings }) ?? (await ownedReplicas(context, live));
  const source = { ...bytes, canary, replicas, live };
  const wanted = partOfSource(context, nativeWorkload(source, stage), live);
  const writer = onBehalfOfSource(context, digest);
  const holding = holdingSettings(source, stage);
  if (holding && !context.parts.applied.has(live, wanted))
    await refuseUnkept(writer, wanted, { live, kept: { spec: holding } });
  return applyOfSource(writer, wanted, live);
}
