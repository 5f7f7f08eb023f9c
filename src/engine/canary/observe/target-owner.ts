import type { Canary } from '../../../api/canary/canary.ts';
import {
  describe,
  type KubernetesObject,
  nameOf,
  namespacedName,
  partOfLabel,
} from '../../../api/kubernetes.ts';
import { isService } from '../../../release/release.ts';
import type { World } from '../../../rollout/world.ts';
import { digestAnnotation } from '../../../workload/shared/metadata.ts';
import { EngineError, type Failure, failureOf } from '../../failure.ts';
import { recordViews } from '../../records/records.ts';
import type { Head } from '../context/heads.ts';
import type { NamespaceView } from '../context/namespace-view.ts';
import type { Observation, ReadParts } from '../context/observation.ts';

/** The two workloads of a Canary as they are in the cluster. */
type LiveWorkloads = Pick<Observation, 'target' | 'primary'>;

/** Who applies the target: Holdfast from Git, or another tool. */
export type TargetOwner = 'holdfast' | 'another';

/** Who applies the target, and whether it could be read. */
interface TargetOwnership {
  readonly owner: TargetOwner;
  /** It is not known yet which config there is. */
  readonly isWaiting?: boolean;
  /** Why what is wanted now could not be read: no release begins, and what is under way goes on. */
  readonly problem?: Failure;
}

/**
 * Finds out who applies the target and, with that, what is wanted of the Canary. Config that is not in Git is added to what Git says. Where no
 * Source holds a Canary, the release is read from its live target and takes the place of Git's (design section 2.5), so that everything else is
 * alike. Never throws.
 */
export async function findTargetOwner(
  { heads, liveHeads }: Pick<ReadParts, 'heads' | 'liveHeads'>,
  canary: Canary,
  workloads: LiveWorkloads,
  view: NamespaceView,
): Promise<TargetOwnership> {
  const key = namespacedName(canary);
  const git = heads.inGit(key);
  const records = () => recordViews(view.records(), nameOf(canary));
  const owner = isOwnedByAnother(git, workloads, records) ? 'another' : 'holdfast';
  const { target } = workloads;
  const isThere = target !== undefined && target.metadata.deletionTimestamp === undefined;

  async function read(): Promise<Head | undefined> {
    if (owner === 'holdfast') return liveHeads.withLiveConfig(key, git, view);
    if (isThere) return liveHeads.read(canary, target, view);
    const { kind, name } = canary.spec.targetRef;
    const named = describe({ kind, name, namespace: view.namespace });
    return { view: { kind: 'missing', message: `the target ${named} is in no Source and does not exist` } };
  }

  try {
    const head = await read();
    const unread = head ? undefined : view.unread('configs');
    if (unread !== undefined) throw new EngineError('WatchFailed', unread, true);
    if (!head) return { owner, isWaiting: true };
    heads.setLive(key, head === git ? undefined : head);
    return { owner };
  } catch (error) {
    return { owner, problem: failureOf(error) };
  }
}

/**
 * Whether another tool applies the target, since no Source holds it. A Source that has not been read yet, or cannot be acted on, might: then only a
 * target that Holdfast never wrote is known to be another tool's, and only if the primary's release was read from it. A release from Git, which may be the first one
 * over a target that ran before, has the time of its commit.
 */
function isOwnedByAnother(
  { view }: Head,
  { target, primary }: LiveWorkloads,
  records: () => ReturnType<typeof recordViews>,
): boolean {
  if (view.kind === 'release') return false;
  const [ofTarget, ofPrimary] = [target, primary].map((one) => one?.metadata.annotations?.[digestAnnotation]);
  // A Service as target is never written by a rollout, but by its Source.
  const isOfSource = target && isService(target) && target.metadata.labels?.[partOfLabel] !== undefined;
  const isUntouched = target !== undefined && ofTarget === undefined && !isOfSource;
  if (view.kind === 'missing') return isUntouched;
  if (view.reason === 'NoSource') return target === undefined || isUntouched;
  return isUntouched && records().some(({ digest, commit }) => digest === ofPrimary && commit.time === '');
}

/** A target that another tool applies: it runs what is read from it. */
export function foreignTarget(
  { digest, ...made }: { canary: Canary; view: NamespaceView; digest: string | undefined },
  objects: LiveWorkloads,
  { target }: Pick<World, 'target'>,
): Partial<World> {
  const recreated = isRecreated(made, objects) ? { recreated: true } : {};
  return { target: target && { ...target, digest }, foreignTarget: true, ...recreated };
}

/** By times of the API server alone. Records that are not older than the Canary are its own: its first release is saved before its status. */
function isRecreated(
  { canary, view }: { canary: Canary; view: NamespaceView },
  { target, primary }: LiveWorkloads,
): boolean {
  // Only asked before the first status: the records are not searched in every pass.
  if (canary.status?.lastAppliedSpec !== undefined) return false;
  const owners = primary?.metadata.ownerReferences ?? [];
  // One that is kept for good outlives its Canary; of the others, one goes with the Canary before, or is the first write of this one.
  if (primary && !owners.some(({ kind, name }) => kind === canary.kind && name === canary.metadata.name))
    return false;
  const madeMs = ({ metadata }: KubernetesObject) => Date.parse(metadata.creationTimestamp ?? '');
  const records = recordViews(view.records(), nameOf(canary)).flatMap((record) =>
    view
      .records()
      .filter(({ metadata }) => metadata.name === record.name)
      .map((secret) => ({ ...record, madeMs: madeMs(secret) })),
  );
  const earlier = records.filter((record) => record.madeMs < madeMs(canary));
  const own = records.filter((record) => !earlier.includes(record));
  const newestMs = Math.max(...earlier.map((record) => record.madeMs));
  const isFirstLife = earlier.length === 0 || own.some(({ promotedTime }) => promotedTime !== undefined);
  return !isFirstLife && target !== undefined && madeMs(target) > newestMs;
}
