/** Deleting what a plan says, each object over exactly the version that was read anew. */
import {
  describe,
  type KubernetesObject,
  partOfLabel,
  referenceOf,
  versionOf,
} from '../../../api/kubernetes.ts';
import type { Source } from '../../../api/source/source.ts';
import type { Cluster } from '../../../contracts/cluster.ts';
import { managedFieldsOf } from '../../../workload/compare/managed-fields.ts';
import { applySetId } from '../../apply-set.ts';
import { failureOf, isStale } from '../../failure.ts';
import { applyWaves, inParallel } from '../apply/apply-order.ts';
import type { SyncContext } from '../context/context.ts';
import type { PruneResult } from '../context/state.ts';
import { clusterOf } from '../scope/permissions.ts';
import { type NotPruned, optedOut, type PrunePlan } from '../scope/prune-plan.ts';
import { handBackStep } from './hand-back.ts';

/** What came of it. */
interface Done extends Pick<PruneResult, 'removed' | 'failures'> {
  /** They have the label and were not written by us. */
  readonly copies: readonly NotPruned[];
  readonly wrote: boolean;
  /** Something changed while it was looked at, or it is not known what came of a deletion. */
  readonly isDueAgain: boolean;
}

/** Deletes the objects of a plan, the last applied first; one that fails stops no other. */
export async function carryOut(context: SyncContext, { remove, handBack }: PrunePlan): Promise<Done> {
  const { signal } = context;
  const removed: KubernetesObject[] = [];
  const failures: Array<{ reason: string; message: string }> = [];
  const copies: NotPruned[] = [];
  const first = new Set(handBack);
  let wrote = false;
  let isDueAgain = false;
  for (const wave of applyWaves([...remove, ...handBack]).reverse()) {
    await inParallel(wave, async (object) => {
      if (signal.aborted) return;
      try {
        const gone = await removeOne(context, object, first.has(object));
        removed.push(...gone.removed);
        copies.push(...gone.copies);
        wrote ||= gone.wrote;
      } catch (error) {
        const { reason, message, transient } = failureOf(error);
        isDueAgain ||= transient;
        if (!isStale(error)) failures.push({ reason, message: `${describe(object)}: ${message}` });
      }
    });
  }
  signal.throwIfAborted();
  return { removed, failures, copies, wrote, isDueAgain };
}

type Gone = Pick<Done, 'removed' | 'copies' | 'wrote'>;

const untouched: Gone = { removed: [], copies: [], wrote: false };

async function removeOne(
  { parts, source }: SyncContext,
  object: KubernetesObject,
  handsBack: boolean,
): Promise<Gone> {
  const cluster = clusterOf(parts, source);
  const live = await readAnew(cluster, source, object);
  if (!live) return untouched;
  // Who makes an object of another one's manifest, as people and backups do, copies its labels with it.
  if (!managedFieldsOf(live)?.some(({ manager }) => manager?.startsWith('holdfast')))
    return { ...untouched, copies: [{ object, why: 'Holdfast did not write it, its label was copied' }] };
  if (handsBack) return { ...untouched, wrote: await handBackStep(cluster, live) };
  await cluster.delete(referenceOf(live), versionOf(live));
  return { ...untouched, removed: [live], wrote: true };
}

/** The object as it is now; undefined when it is gone, not ours any more, or was marked meanwhile to stay. */
async function readAnew(
  cluster: Pick<Cluster, 'get'>,
  source: Source,
  object: KubernetesObject,
): Promise<KubernetesObject | undefined> {
  const live = await cluster.get(referenceOf(object));
  if (!live || live.metadata.uid !== object.metadata.uid || live.metadata.deletionTimestamp) return undefined;
  if (live.metadata.labels?.[partOfLabel] !== applySetId(source)) return undefined;
  return optedOut(live) === undefined ? live : undefined;
}
