import { describe, type KubernetesObject, referenceOf } from '../../../api/kubernetes.ts';
import { stampAnnotations } from '../../../release/record.ts';
import { isFollowed } from '../../../release/refs.ts';
import type { Release, WorkloadSettings } from '../../../release/release.ts';
import { soundRecord } from '../../../rollout/records.ts';
import { sharedIn } from '../../../workload/expected-copies.ts';
import { workloadKind } from '../../../workload/kinds.ts';
import { primaryAnnotations, recordedRevision } from '../../../workload/knative/annotations.ts';
import { isRevisionReady, latestRevisionOf, revisionKind } from '../../../workload/knative/knative.ts';
import { scalerKindOf } from '../../../workload/scaler.ts';
import { configCopies, configKey } from '../../../workload/shared/configs.ts';
import { copyName, digestAnnotation } from '../../../workload/shared/names.ts';
import { canaryObjects, primaryObjects, primaryReplicas } from '../../../workload/sides.ts';
import { namespacedName } from '../../checks/checks.ts';
import { EngineError, StaleView } from '../../failure.ts';
import { type ActionContext, type Performer, versionOf } from '../context/context.ts';
import { configKeys, copiesOfOthers, readLiveConfigs } from '../context/live-config.ts';
import { untrackedConfigs } from '../observe/config-copies.ts';
import { bytesOf, canaryName, type ReleaseBytes } from '../observe/releases.ts';
import { ownedReplicas } from './scalers.ts';
import { applyRollout, applyUnwatched, ensureFresh, onBehalfOfSource, partOfSource } from './write.ts';

/** Tracked config under its own names first, then the target (design section 4, admit). */
export const applyCanary: Performer<'ApplyCanary'> = async (context, { digest, replicas }) => {
  if (context.observation.world.foreignTarget) return scaleForeign(context, digest, replicas);
  const writer = onBehalfOfSource(context, digest);
  const { canary, target } = context.observation;
  const bytes = await bytesOf(context, digest);
  const objects = canaryObjects({ ...sourceOf(context, bytes), canary, replicas, live: target });
  if (replicas === 0 && target) await ensureFresh(context);
  for (const config of objects.configs) await applyUnwatched(writer, partOfSource(context, config));
  // A copy is no object of Git's, which would be pruned.
  const isCopy = workloadKind(canary).sides === 'copies';
  const workload = isCopy ? objects.workload : partOfSource(context, objects.workload, target);
  return applyRollout(writer, workload, target);
};

/** Config copies, then the primary, over exactly the version that was observed (S16, S17, S19). */
export const applyPrimary: Performer<'ApplyPrimary'> = async (context, { digest, precondition }) => {
  const { canary, primary } = context.observation;
  const seen = primary && versionOf(primary);
  if (seen?.resourceVersion !== precondition?.resourceVersion) throw new StaleView('the primary');
  await ensureFresh(context);
  if (workloadKind(canary).sides === 'revisions') {
    const isPromoted = await promoteRevision(context, digest);
    return isPromoted ?? applyCanary(context, { type: 'ApplyCanary', digest, replicas: 1 });
  }
  const bytes = await bytesOf(context, digest);
  const { release, settings } = bytes;
  const objects = primaryObjects({
    ...sourceOf(context, bytes),
    replicas: scalerKindOf(canary.spec)
      ? await ownedReplicas(context, primary)
      : replicasForPrimary(context, settings),
    live: primary,
    liveConfigs: await readLiveConfigs(context.parts.cluster, context.observation.view.namespace, release),
    sharedConfigs: await sharedConfigs(context, release),
    untracked: primary ? untrackedConfigs(context.observation, primary, release) : new Set(),
    includeLabelPrefixes: context.parts.options.includeLabelPrefixes,
  });
  if (objects.missing.length > 0 && !primary) throw missing(context, objects.missing);
  const writer = onBehalfOfSource(context, digest);
  for (const copy of objects.configs) await applyUnwatched(writer, copy);
  // Always written: `applied` must not hide that somebody changed the primary back.
  context.parts.applied.forget(objects.workload);
  return applyRollout(writer, objects.workload, primary);
};

/** Replicas, strategy and deadlines of head on the primary, template untouched; its record follows (design section 3). */
export const applySettings: Performer<'ApplySettings'> = async (context, { digest }) => {
  const { parts, observation } = context;
  const { canary, primary } = observation;
  if (!primary) throw new StaleView('the primary');
  const { settings, settingsKey } = await bytesOf(context, digest);
  const replicas = primaryReplicas({ canary, settings });
  const patch = workloadKind(canary).settingsPatch({ settings, settingsKey, replicas });
  // Also for a release that is proven: the settings are head's.
  const writer = onBehalfOfSource(context).parts.cluster;
  await writer.patch(referenceOf(primary), withVersion(patch, primary));
  const running = primary.metadata.annotations?.[digestAnnotation];
  if (running && soundRecord(observation.world, running)) {
    const { release, commit, promotedTime } = await parts.records.load(
      canaryName(observation.canary),
      running,
    );
    await parts.records.stamp(
      canaryName(observation.canary),
      running,
      stampAnnotations(release, { promotedTime, commit, settings }),
    );
  }
  return true;
};

/** Pods of the canary. To zero only on a fresh look: nobody may still be sent there (S7, S19). */
export const scaleCanary: Performer<'ScaleCanary'> = async (context, { replicas }) => {
  if (replicas === 0) await ensureFresh(context);
  return scale(context, context.observation.target, replicas);
};

/** Pods of the primary. */
export const scalePrimary: Performer<'ScalePrimary'> = (context, { replicas }) =>
  scale(context, context.observation.primary, replicas);

async function scale(
  { parts, observation }: ActionContext,
  workload: KubernetesObject | undefined,
  replicas: number,
): Promise<boolean> {
  if (!workload) throw new StaleView('the workload');
  const patch = workloadKind(observation.canary).scalePatch(workload, replicas);
  if (!patch) return false;
  await parts.cluster.patch(referenceOf(workload), withVersion(patch, workload));
  return true;
}

/** Of a target that another tool applies only the number of pods is written (flagger-behaviour 2.17). */
async function scaleForeign(context: ActionContext, digest: string, replicas: number): Promise<boolean> {
  const { world, target } = context.observation;
  if (world.target?.digest !== digest) throw new StaleView('the target');
  if (replicas === 0) await ensureFresh(context);
  return scale(context, target, replicas);
}

/** Git's number; beside another tool as many as either copy has, since the target's number is written by the rollout too. */
function replicasForPrimary({ observation }: ActionContext, settings: WorkloadSettings): number | undefined {
  const { canary, primary, target, world } = observation;
  if (!world.foreignTarget) return primaryReplicas({ canary, settings });
  return Math.max(1, replicasIn(primary), replicasIn(target));
}

function replicasIn(workload: KubernetesObject | undefined): number {
  return (workload?.spec as { replicas?: number } | undefined)?.replicas ?? 0;
}

function withVersion(patch: Record<string, unknown>, live: KubernetesObject): Record<string, unknown> {
  const metadata = (patch.metadata ?? {}) as Record<string, unknown>;
  return { ...patch, metadata: { ...metadata, ...versionOf(live) } };
}

function sourceOf({ parts, observation }: ActionContext, { release, settings, settingsKey }: ReleaseBytes) {
  const { selectorLabels } = parts.options;
  return { canary: observation.canary, release, settings, settingsKey, selectorLabels };
}

/** Configs that another Canary of the namespace tracks too: their copies carry the target's name (design section 5). */
async function sharedConfigs({ parts, observation }: ActionContext, release: Release): Promise<Set<string>> {
  const { canary, view } = observation;
  const others = [...parts.heads.releasesIn(view.namespace)].filter(
    ([key]) => key !== namespacedName(canary),
  );
  const elsewhere = new Set(others.flatMap(([, other]) => configKeys(other)));
  const taken = await copiesOfOthers(parts.cluster, canary, release);
  return new Set(configKeys(release).filter((key) => elsewhere.has(key) || taken.has(key)));
}

function missing(
  { observation }: ActionContext,
  configs: ReadonlyArray<{ kind: string; name: string }>,
): Error {
  const names = configs.map(({ kind, name }) => `${kind} ${name}`).join(', ');
  return new EngineError(
    'ConfigMissing',
    `${describe(observation.canary)}: the pod template names ${names}, which is in neither Git nor the cluster`,
    true,
  );
}

// Promotion where both sides are revisions of one Knative Service: its annotations say which of them is the primary.

/**
 * Makes the revision of this release the primary. One that is ready gets all requests with the same write, so that none goes to a revision that
 * is neither side; else they stay where they are. False while Knative has not made the revision yet; undefined when there is none, and the
 * template has to be written. Throws EngineError ReleaseUnknown where that is another tool's to do.
 */
async function promoteRevision(context: ActionContext, digest: string): Promise<boolean | undefined> {
  const { parts, observation } = context;
  const { target, world, view } = observation;
  if (!target) return undefined;
  const revision = revisionFor(context, target, digest);
  if (revision === undefined) {
    if (world.target?.digest === digest) return false;
    if (!world.foreignTarget) return undefined;
    throw noRevision(target, digest);
  }
  const annotations = primaryAnnotations(target, { digest, revision });
  if (Object.entries(annotations).every(([key, value]) => target.metadata.annotations?.[key] === value))
    return false;
  const isReady = isRevisionReady(view.get(revisionKind, revision));
  await parts.cluster.patch(referenceOf(target), {
    metadata: { ...versionOf(target), annotations },
    ...(isReady ? { spec: { traffic: allTo(revision) } } : {}),
  });
  return true;
}

/** The newest one where that is of this release, or the one that is remembered and still there; one that is ready first. */
function revisionFor(
  { observation }: ActionContext,
  target: KubernetesObject,
  digest: string,
): string | undefined {
  const { view, world } = observation;
  const newest = world.target?.digest === digest ? latestRevisionOf(target) : undefined;
  const known = recordedRevision(target, digest);
  const found = [newest, known].flatMap((name) => (name && view.get(revisionKind, name)) || []);
  const best = found.find(isRevisionReady) ?? found[0];
  return best?.metadata.name;
}

/** As the router writes it for a canary without a share. */
function allTo(revisionName: string): object[] {
  return [
    { latestRevision: true, percent: 0 },
    { latestRevision: false, revisionName, percent: 100 },
  ];
}

function noRevision(target: KubernetesObject, digest: string): EngineError {
  return new EngineError(
    'ReleaseUnknown',
    `${describe(target)}: no revision of release ${digest.slice(0, 15)} is left, and another tool writes its template; apply it there again`,
    true,
  );
}

/** Copies of the release that the primary runs, under the names that its pods ask for (S16). Costs no write where they are there. */
export const restoreConfigs: Performer<'RestoreConfigs'> = async (context, { digest }) => {
  const { canary, primary, view } = context.observation;
  if (primary?.metadata.annotations?.[digestAnnotation] !== digest) throw new StaleView('the primary');
  const { release } = await bytesOf(context, digest);
  const sharedConfigs = sharedIn(primary, { canary, release });
  const found = await readLiveConfigs(context.parts.cluster, view.namespace, release);
  // Data outside Git that changed is for a release to try, unless the copy is to follow it, or is gone.
  const liveConfigs = found.filter((config) => {
    const { kind, metadata } = config;
    const name = copyName(canary, metadata.name, sharedConfigs.has(configKey(kind, metadata.name)));
    return isFollowed(config) || !view.configCopy(kind as 'ConfigMap' | 'Secret', name);
  });
  const { includeLabelPrefixes } = context.parts.options;
  const copies = configCopies({ canary, release, liveConfigs, sharedConfigs, includeLabelPrefixes });
  let wrote = false;
  for (const copy of copies) wrote = (await applyUnwatched(context, copy)) || wrote;
  return wrote;
};
