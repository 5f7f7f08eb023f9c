/** What becomes of objects that a commit takes out of Git, by the rules of pruning. Pure. */

import { objectKey } from '../../api/kubernetes.ts';
import type { Source } from '../../api/source/source.ts';
import { isCanary } from '../../engine/sync/scope/canary-objects.ts';
import { planPrune } from '../../engine/sync/scope/prune-plan.ts';
import type { RenderedObject } from '../../render/rendered-object.ts';
import type { RemovalFate } from './report.ts';

/** What happens to one of them, and why. */
export interface Removal {
  readonly fate: RemovalFate;
  readonly reason?: string;
}

/** What the decision depends on. */
interface RemovalInput {
  /** As head has it; undefined: the Source itself leaves Git. */
  readonly source: Source | undefined;
  readonly before: readonly RenderedObject[];
  readonly after: readonly RenderedObject[];
  /** Head was not read whole. */
  readonly isBroken: boolean;
  /** Another Source of head that holds an object of this `objectKey`. */
  readonly holderOf: (key: string) => string | undefined;
}

/** By `objectKey`. The cluster is taken to hold what base says. */
export function removalsOf(input: RemovalInput): Map<string, Removal> {
  const { source, before, after, isBroken, holderOf } = input;
  const wanted = new Set(after.map(({ object }) => objectKey(object)));
  const leaving = before.map(({ object }) => object).filter((object) => !wanted.has(objectKey(object)));
  const stays = whyAllStay(source, isBroken);
  if (stays !== undefined || !source)
    return new Map(leaving.map((object) => [objectKey(object), { fate: 'stays', reason: stays ?? '' }]));
  const staying = after.map(({ object }) => object);
  const canaries = staying.filter(isCanary);
  const members = [...staying, ...leaving];
  const keep: ReadonlySet<string> = new Set();
  const [isApproved, isCopy] = [() => false, () => false];
  const plan = planPrune({ source, members, wanted, keep, canaries, isApproved, isCopy, holderOf });
  const guard = plan.guard ?? 'deleting them deletes other objects or data too';
  const fates: Array<readonly [RenderedObject['object'], Removal]> = [
    ...plan.remove.map((object) => [object, { fate: 'pruned' }] as const),
    ...plan.handBack.map((object) => [object, { fate: 'handedBack' }] as const),
    ...plan.toApprove.map((object) => [object, { fate: 'waitsForApproval', reason: guard }] as const),
    ...[...plan.kept, ...plan.waiting].map(
      ({ object, why }) => [object, { fate: 'stays', reason: why }] as const,
    ),
  ];
  return new Map(fates.map(([object, removal]) => [objectKey(object), removal]));
}

function whyAllStay(source: Source | undefined, isBroken: boolean): string | undefined {
  if (!source) return 'the Source is removed from Git; its objects stay';
  if (source.spec.apply === false) return 'spec.apply is false: another tool applies it';
  if (source.spec.prune !== true) return 'spec.prune of the Source is false';
  return isBroken ? 'nothing is pruned while a file at head cannot be read' : undefined;
}
