import { describe, hasOwnLabels, type KubernetesObject, nameOf, versionOf } from '../../../api/kubernetes.ts';
import { stampAnnotations } from '../../../release/record.ts';
import { isFollowed } from '../../../release/release.ts';
import { isDigestLost, soundRecord } from '../../../rollout/world.ts';
import { coversApplied } from '../../../workload/compare/drift.ts';
import { sharedIn } from '../../../workload/expected-copies.ts';
import {
  canaryObjects,
  primaryObjects,
  primaryReplicas,
  sideNames,
  workloadKind,
} from '../../../workload/kinds.ts';
import {
  isRevisionReady,
  latestRevisionOf,
  primaryAnnotations,
  recordedRevision,
} from '../../../workload/knative/knative.ts';
import { scalerKindOf } from '../../../workload/scaler.ts';
import { configCopies, configKey } from '../../../workload/shared/configs.ts';
import { copyName, digestAnnotation } from '../../../workload/shared/metadata.ts';
import { revisionKind } from '../../../workload/shared/workload-kind.ts';
import { EngineError, isImmutableChange, StaleView } from '../../failure.ts';
import type { ActionContext, Performers } from '../context/context.ts';
import { liveConfigsForPrimary, sharedConfigs, untrackedConfigs } from '../context/live-config.ts';
import { bytesOf, type ReleaseBytes } from '../observe/releases.ts';
import { changeOf, deletionOf, partByOthers } from './put-back.ts';
import {
  applyOfSource,
  applyRollout,
  applyUnwatched,
  ensureFresh,
  ensureFreshPrimary,
  onBehalfOfSource,
  ownedReplicas,
  partOfSource,
  patchRollout,
  replicasIn,
} from './write.ts';

/** The workloads of both sides, with the config that their pods use. */
export const workloadPerformers = {
  ApplyCanary: applyCanary,

  /** Config copies, then the primary, over exactly the version that was observed (S16, S17, S19). */
  async ApplyPrimary(context, { digest, precondition }) {
    const { parts, observation } = context;
    const { canary, primary, view } = observation;
    await ensureFreshPrimary(context, precondition);
    const bytes = await bytesOf(context, digest);
    const { release } = bytes;
    const objects = primaryObjects({
      ...sourceOf(context, bytes),
      replicas: await replicasFor(context, bytes),
      live: primary,
      liveConfigs: await liveConfigsForPrimary(parts.cluster, view.namespace, release),
      sharedConfigs: await sharedConfigs(parts, canary, release),
      untracked: primary ? untrackedConfigs(observation, primary, release) : new Set(),
      includeLabelPrefixes: parts.options.includeLabelPrefixes,
    });
    if (objects.missing.length > 0 && !primary) throw missing(context, objects.missing);
    const writer = onBehalfOfSource(context, digest);
    for (const copy of objects.configs) await applyCopy(context, copy, writer);
    for (const { kind, name } of objects.unwanted) await removeCopy(context, kind, name);
    // Always written: `applied` must not hide that the primary was changed back.
    parts.applied.forget(objects.workload);
    return applyRollout(writer, objects.workload, primary);
  },

  /** Replicas, strategy and deadlines of head on the primary, template untouched; its record follows (design section 3). */
  async ApplySettings(context, { digest }) {
    const { parts, observation } = context;
    const { canary, primary, world } = observation;
    if (!primary) throw new StaleView('the primary');
    const { settings, settingsKey } = await bytesOf(context, digest);
    const replicas = primaryReplicas({ canary, settings });
    const patch = workloadKind(canary).settingsPatch({ settings, settingsKey, replicas });
    // Also for a release that is proven: the settings are head's.
    // Others may change a setting. Its annotation says which were written: without it they would be written again, without end.
    await patchRollout(onBehalfOfSource(context), primary, patch, { metadata: patch.metadata });
    const running = primary.metadata.annotations?.[digestAnnotation];
    if (!running || !soundRecord(world, running)) return true;
    const { release, commit, promotedTime } = await parts.records.load(nameOf(canary), running);
    const stamp = stampAnnotations(release, { promotedTime, commit, settings });
    await parts.records.stamp(nameOf(canary), running, stamp);
    return true;
  },

  /** Pods of the canary. To zero only after a fresh read: no traffic may go there any more (S7, S19). */
  async ScaleCanary(context, { replicas }) {
    if (replicas === 0) await ensureFresh(context);
    return scale(context, context.observation.target, replicas);
  },

  /** Pods of the primary, which somebody has scaled. */
  async ScalePrimary(context, { replicas }) {
    const { primary } = context.observation;
    const tell = primary && (await partByOthers(context, primary, { spec: { replicas } }));
    const wrote = await scale(context, primary, replicas);
    if (wrote) tell?.();
    return wrote;
  },

  /** Copies of the release that the primary runs, under the names that its pods ask for (S16). Costs no write where they are there. */
  async RestoreConfigs(context, { digest }) {
    const { canary, primary, view, world } = context.observation;
    if (primary?.metadata.annotations?.[digestAnnotation] !== digest) throw new StaleView('the primary');
    const { release } = await bytesOf(context, digest);
    const shared = sharedIn(primary, { canary, release });
    const found = await liveConfigsForPrimary(context.parts.cluster, view.namespace, release);
    const { configCopies: seen = [] } = world.primary ?? {};
    const missing = new Set(
      seen.filter(({ state }) => state === 'missing').map(({ kind, name }) => configKey(kind, name)),
    );
    // Changed data outside Git is tested by a release first, unless the copy follows it at once, or does not exist.
    const liveConfigs = found.filter((config) => {
      const { kind, metadata } = config;
      const name = copyName(canary, metadata.name, shared.has(configKey(kind, metadata.name)));
      return isFollowed(config) || missing.has(configKey(kind, name));
    });
    const { includeLabelPrefixes } = context.parts.options;
    const copies = configCopies({
      canary,
      release,
      liveConfigs,
      sharedConfigs: shared,
      includeLabelPrefixes,
    });
    let wrote = false;
    for (const copy of copies) wrote = (await applyCopy(context, copy)) || wrote;
    return wrote;
  },
} satisfies Partial<Performers>;

/** What differs where the canary is a copy of the target, and the target itself is its Source's. */
export const copyPerformers = {
  /**
   * A route names both sides from its start: the canary's is there, at rest, before any release uses it. The primary is there already, and
   * what this very step has written is no longer missing.
   */
  async EnsureServices(context, { primaryDigest, canaryDigest }) {
    const { canary, target, view, world } = context.observation;
    if (target) return putCopyBack(context, target);
    const digest = canaryDigest ?? primaryDigest;
    if (isDigestLost(world, digest) || view.get(workloadKind(canary), sideNames(canary).canary)) return false;
    return applyCanary(context, { digest, replicas: 0 });
  },
} satisfies Partial<Performers>;

/** A canary that is tried leads to the pods that its release names, whoever has changed it: else others would be tried, and this release promoted. */
async function putCopyBack(context: ActionContext, copy: KubernetesObject): Promise<boolean> {
  const { canary, world } = context.observation;
  const digest = copy.metadata.annotations?.[digestAnnotation];
  if (digest === undefined || isDigestLost(world, digest) || !world.target?.desiredReplicas) return false;
  const source = sourceOf(context, await bytesOf(context, digest));
  const { workload } = canaryObjects({ ...source, canary, replicas: 1, live: copy });
  return coversApplied(copy, workload) ? false : applyCanary(context, { digest, replicas: 1 });
}

/**
 * Pods of the primary as it is written: Git's number; that of its scaler, or of whoever else sets it where Git has none, stays. Beside another tool
 * as many as either copy has, since the target's number is written by the rollout too. A primary that was deleted comes back with what it had,
 * within the limits of its scaler.
 */
async function replicasFor(context: ActionContext, { settings }: ReleaseBytes): Promise<number | undefined> {
  const { canary, primary, target, world } = context.observation;
  const had = primary ? 0 : podsBefore(context.observation);
  if (world.foreignTarget && !scalerKindOf(canary.spec)) {
    const asked = primary ? 0 : (settings.replicas ?? 0);
    return Math.max(1, had, asked, ...[primary, target].map((workload) => replicasIn(workload) ?? 0));
  }
  const asked = primaryReplicas({ canary, settings });
  if (asked !== undefined || had === 0) return asked ?? ownedReplicas(context, primary);
  const { minReplicas = had, maxReplicas = had } = world.scaler?.primary ?? {};
  return Math.min(Math.max(had, minReplicas), maxReplicas);
}

/** Ready pods of the primary when the status named it last. */
function podsBefore({ canary }: ActionContext['observation']): number {
  const { serving = [], incidents = [] } = canary.status ?? {};
  const name = sideNames(canary).primary;
  const rows = [serving, ...incidents.map((one) => one.serving ?? [])].flat();
  return rows.find(({ workload, ready }) => workload === name && ready > 0)?.ready ?? 0;
}

/** Tracked config under its own names first, then the target (design section 4, admit). */
async function applyCanary(
  context: ActionContext,
  { digest, replicas }: { readonly digest: string; readonly replicas: number },
): Promise<boolean> {
  const { canary, target, world } = context.observation;
  if (world.foreignTarget) {
    // Of a target that another tool applies only the number of pods is written (flagger-behaviour 2.17).
    if (world.target?.digest !== digest) throw new StaleView('the target');
    if (replicas === 0) await ensureFresh(context);
    return scale(context, target, replicas);
  }
  const writer = onBehalfOfSource(context, digest);
  const bytes = await bytesOf(context, digest);
  const objects = canaryObjects({ ...sourceOf(context, bytes), canary, replicas, live: target });
  if (replicas === 0 && target) await ensureFresh(context);
  for (const config of objects.configs) await applyUnwatched(writer, partOfSource(context, config));
  // A copy is no object of Git's, which would be pruned.
  const isCopy = workloadKind(canary).sides === 'copies';
  if (!isCopy) return applyOfSource(writer, partOfSource(context, objects.workload, target), target);
  const tell = await changeOfCopy(context, digest, objects.workload);
  const wrote = await applyRollout(writer, objects.workload, target);
  if (wrote) tell?.();
  return wrote;
}

/** What others did to a copy that is tried. One that gets requests was there. */
async function changeOfCopy(context: ActionContext, digest: string, wanted: KubernetesObject) {
  const { canary, target, world } = context.observation;
  const { run, canaryWeight = 0 } = canary.status ?? {};
  if (!target) return canaryWeight > 0 && run?.digest === digest ? deletionOf(context, wanted) : undefined;
  const isChanged = world.target?.digest === digest && !coversApplied(target, wanted);
  return isChanged ? changeOf(context, wanted, target) : undefined;
}

async function scale(
  context: ActionContext,
  workload: KubernetesObject | undefined,
  replicas: number,
): Promise<boolean> {
  if (!workload) throw new StaleView('the workload');
  const patch = workloadKind(context.observation.canary).scalePatch(workload, replicas);
  return patch ? patchRollout(context, workload, patch) : false;
}

function sourceOf({ parts, observation }: ActionContext, { release, settings, settingsKey }: ReleaseBytes) {
  const { selectorLabels } = parts.options;
  return { canary: observation.canary, release, settings, settingsKey, selectorLabels };
}

/** Writes a copy of config. One that cannot be changed in place is made anew: its original has another type, or somebody made it immutable. */
async function applyCopy(context: ActionContext, copy: KubernetesObject, writer = context): Promise<boolean> {
  try {
    return await applyUnwatched(writer, copy);
  } catch (error) {
    const isGone = isImmutableChange(error) && (await removeCopy(context, copy.kind, copy.metadata.name));
    if (!isGone) throw error;
    return applyUnwatched(writer, copy);
  }
}

/** Deletes a copy of config; false if there is none that is this Canary's own. */
async function removeCopy(
  { parts, observation }: ActionContext,
  kind: string,
  name: string,
): Promise<boolean> {
  const reference = { apiVersion: 'v1', kind, namespace: observation.view.namespace, name };
  const live = await parts.cluster.get(reference);
  if (!live || !hasOwnLabels(live, observation.canary)) return false;
  await parts.cluster.delete(reference, versionOf(live));
  return true;
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

/** What differs where both sides are revisions of one Knative Service, whose annotations say which of them is the primary. */
export const revisionPerformers = {
  async ApplyPrimary(context, { digest, precondition }) {
    await ensureFreshPrimary(context, precondition);
    return (await promoteRevision(context, digest)) ?? applyCanary(context, { digest, replicas: 1 });
  },
  EnsureServices: async () => false,
} satisfies Partial<Performers>;

/**
 * Makes the revision of this release the primary. One that is ready gets all requests with the same write, so that none goes to a revision that
 * is neither side; else they stay where they are. False while Knative has not made the revision yet; undefined when there is none, and the
 * template has to be written. Throws EngineError ReleaseUnknown where that is another tool's to do.
 */
async function promoteRevision(context: ActionContext, digest: string): Promise<boolean | undefined> {
  const { target, world, view } = context.observation;
  if (!target) return undefined;
  const revision = revisionFor(context, target, digest);
  if (revision === undefined) {
    if (world.target?.digest === digest) return false;
    if (!world.foreignTarget) return undefined;
    throw new EngineError(
      'ReleaseUnknown',
      `${describe(target)}: no revision of release ${digest.slice(0, 15)} is left, and another tool writes its template; apply it there again`,
      true,
    );
  }
  const annotations = primaryAnnotations(target, { digest, revision });
  if (Object.entries(annotations).every(([key, value]) => target.metadata.annotations?.[key] === value))
    return false;
  // As the router writes it for a canary without a share.
  const traffic = [
    { latestRevision: true, percent: 0 },
    { latestRevision: false, revisionName: revision, percent: 100 },
  ];
  const isReady = isRevisionReady(view.get(revisionKind, revision));
  const patch = { metadata: { annotations }, ...(isReady ? { spec: { traffic } } : {}) };
  return patchRollout(context, target, patch, { metadata: { annotations } });
}

/** The newest revision where it is of this release, or the recorded one while it exists; a ready one first. */
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
