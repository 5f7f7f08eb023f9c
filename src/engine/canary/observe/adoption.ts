import { isDigest } from '../../../api/commit.ts';
import {
  contentVersionOf,
  isGenerated,
  type KubernetesObject,
  namespacedName,
} from '../../../api/kubernetes.ts';
import type { Cluster, DryRun } from '../../../contracts/cluster.ts';
import { buildRelease, viewOf } from '../../../release/build.ts';
import { digestOf } from '../../../release/digest.ts';
import {
  digestedPart,
  isFollowed,
  isKnative,
  isService,
  isTracked,
  type Release,
  serviceContent,
} from '../../../release/release.ts';
import type { AdoptableView } from '../../../rollout/world.ts';
import {
  adoptedConfigs,
  adoptedTarget,
  comparableTemplate,
  possibleCopies,
  wantedConfig,
  wantedTarget,
} from '../../../workload/adopted-target.ts';
import { adoptedRevision, latestRevisionOf, primaryRevisionOf } from '../../../workload/knative/knative.ts';
import { templateTimeMs } from '../../../workload/pods/pods.ts';
import { isOwnerlessCopy } from '../../../workload/service/service.ts';
import { configKey } from '../../../workload/shared/configs.ts';
import { digestAnnotation } from '../../../workload/shared/metadata.ts';
import { revisionKind } from '../../../workload/shared/workload-kind.ts';
import { readConfigs } from '../context/live-config.ts';
import { controllerRevisionKind, replicaSetKind } from '../context/namespace-view.ts';
import type { Adoption, Observation, ReadParts } from '../context/observation.ts';

/** What finding out needs. */
interface AdoptionOptions {
  readonly cluster: Pick<Cluster, 'get'>;
  readonly dryRun: DryRun;
  /** The cluster's HMAC key. */
  readonly secretKey: Uint8Array;
  readonly tracksConfig: boolean;
}

/** Compares each version of both workloads once. */
export function createAdoption(options: AdoptionOptions): Adoption {
  const known = new Map<string, { readonly version: string; readonly found: AdoptableView | undefined }>();

  return {
    async find(parts, observation) {
      const pair = pairOf(parts, observation);
      const key = namespacedName(observation.canary);
      if (!pair) {
        known.delete(key);
        return undefined;
      }
      const version = versionKey(pair, observation);
      const before = known.get(key);
      if (before?.version === version) return before.found;
      const found = await compare(options, parts, { ...pair, observation });
      known.set(key, { version, found });
      return found;
    },
  };
}

interface Pair {
  readonly primary: KubernetesObject;
  readonly target: KubernetesObject;
  readonly head: Release;
}

/** Both workloads and head, where the primary's digest is missing, or is not head's although Holdfast never wrote the target. */
function pairOf({ heads }: Pick<ReadParts, 'heads'>, observation: Observation): Pair | undefined {
  const { canary, world, primary, target } = observation;
  const head = heads.of(namespacedName(canary)).release;
  if (!primary || !target || !head || world.status.run) return undefined;
  // A Service without an owner is Flagger's only where Flagger has written a status; a Knative Service has an annotation.
  const isOwnerless = isOwnerlessCopy(primary, canary) && world.status.lastPromotedSpec !== undefined;
  if (!isGenerated(primary, canary) && !isKnative(primary) && !isOwnerless) return undefined;
  const [ours, theirs] = [primary, target].map(({ metadata }) => metadata.annotations?.[digestAnnotation]);
  if (ours === head.digest || (ours !== undefined && theirs !== undefined)) return undefined;
  return { primary, target, head };
}

function versionKey({ primary, target, head }: Pair, { world }: Observation): string {
  const versions = [primary, target].map((one) => [one.metadata.uid, contentVersionOf(one)]);
  const ours = primary.metadata.annotations?.[digestAnnotation];
  const newest = isKnative(target) ? latestRevisionOf(target) : undefined;
  return JSON.stringify([versions, ours, newest, head.digest, world.status.lastTransitionTime]);
}

async function compare(
  options: AdoptionOptions,
  parts: Pick<ReadParts, 'heads' | 'options'>,
  { primary, target, head, observation }: Pair & { readonly observation: Observation },
): Promise<AdoptableView | undefined> {
  const { canary, world } = observation;
  const { secretKey, tracksConfig } = options;
  const named = await readConfigs(options.cluster, observation.view.namespace, possibleCopies(primary));
  const copies = named.filter((object) => isGenerated(object, canary));
  const live = wasMadeFrom({ primary, target, head, observation }, () =>
    adoptedTarget({ primary, target, copies, selectorLabels: parts.options.selectorLabels }),
  );
  if (!live) return undefined;
  const adopted = adoptedConfigs(copies);
  const copied = new Set(adopted.map(keyOfConfig));
  // Config that both copies use under its own name, since it is not tracked or was not: as head has it.
  const configs = [...adopted, ...head.configs.filter((config) => !copied.has(keyOfConfig(config)))];
  const noCommit = { commit: '', subject: '', author: '', time: '' };
  const built = buildRelease({
    canary,
    target: live,
    configs,
    commit: noCommit,
    secretKey,
    tracksConfig,
    origins: [],
  });
  if (!built.ok) return undefined;
  const isStored = world.foreignTarget || isService(primary);
  const wanted = isStored ? head : await asStored(options, head, observation.view.namespace);
  const runs = isKnative(primary) ? newestOf(target, head) : built.ok;
  const isHead = wanted !== undefined && runs !== undefined && isSame(runs, wanted, secretKey);
  const isOurs = primary.metadata.annotations?.[digestAnnotation] !== undefined;
  const { lastAppliedSpec } = world.status;
  // While Flagger had the Canary back, it may have tried another release.
  const wasFlaggers = lastAppliedSpec !== undefined && !isDigest(lastAppliedSpec);
  if (isOurs && !isHead && !wasFlaggers) return undefined;
  if (!isHead) parts.heads.rememberRelease(namespacedName(canary), built.ok);
  return {
    release: viewOf(isHead ? head : built.ok),
    isHead,
    headWasTried: wanted !== undefined && wasTried(wanted, observation, target, secretKey),
  };
}

/** The target as the primary was made from it; undefined where that is gone. `ofWorkload`: for targets with pods of ours. */
function wasMadeFrom(
  { primary, head, observation }: Pair & { readonly observation: Observation },
  ofWorkload: () => KubernetesObject,
): KubernetesObject | undefined {
  if (isService(primary)) return { ...head.target, spec: serviceContent(primary.spec) };
  if (!isKnative(primary)) return ofWorkload();
  const revision = observation.view.get(revisionKind, primaryRevisionOf(primary) ?? '');
  return revision && adoptedRevision(revision, head.target);
}

/** The release with the live template where the newest revision is the primary's too: it has the server's defaults, as the stored one has. */
function newestOf(target: KubernetesObject, head: Release): Release | undefined {
  const newest = latestRevisionOf(target);
  if (newest === undefined || newest !== primaryRevisionOf(target)) return undefined;
  return { ...head, target: wantedTarget(target) };
}

/** A release from Git as it is in the cluster: with defaults, and config that is not in Git; undefined when the API server would not take it. */
async function asStored(
  { cluster, dryRun }: AdoptionOptions,
  head: Release,
  namespace: string,
): Promise<Release | undefined> {
  const { metadata } = head.target;
  const name = `${metadata.name.slice(0, 40)}-holdfast-compare`;
  const probe = {
    ...head.target,
    metadata: { name, ...(metadata.namespace ? { namespace: metadata.namespace } : {}) },
  };
  const stored = await dryRun.create(probe).catch(() => undefined);
  if (!stored) return undefined;
  const live = await readConfigs(cluster, namespace, head.liveConfigs);
  const configs = [...head.configs, ...live.map(wantedConfig)];
  return { ...head, configs, target: { ...wantedTarget(stored), metadata } };
}

/** The same template and config; config that the primary's copy follows at once is part of no release. */
function isSame(left: Release, right: Release, secretKey: Uint8Array): boolean {
  const followed = new Set(right.configs.filter(isFollowed).map(keyOfConfig));
  const [one, other] = [left, right].map((release) => {
    const configs = release.configs.filter(
      (config) => isTracked(config) && !followed.has(keyOfConfig(config)),
    );
    const { template, service } = digestedPart(release.target);
    const comparable = template ? { template: comparableTemplate(template) } : { service };
    const { revisionIgnore = [] } = right;
    return digestOf({ ...comparable, ports: [], configs, revisionIgnore, secretKey });
  });
  return one === other;
}

function keyOfConfig({ kind, metadata }: KubernetesObject): string {
  return configKey(kind, metadata.name);
}

/** Whether the target runs head, and did when Flagger wrote the status last. */
function wasTried(
  wanted: Release,
  { world, view }: Observation,
  target: KubernetesObject,
  secretKey: Uint8Array,
): boolean {
  const live = { ...wanted, target: wantedTarget(target) };
  if (!isSame(live, wanted, secretKey)) return false;
  const writtenMs = Date.parse(world.status.lastTransitionTime ?? '');
  const revisions = [...view.list(replicaSetKind), ...view.list(controllerRevisionKind)];
  return !(templateTimeMs(target, revisions) > writtenMs);
}
