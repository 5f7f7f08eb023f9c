/** What cannot be rolled out in place, as it is in the cluster (ADR 21). */
import type { Canary } from '../../api/canary.ts';
import { describe } from '../../api/kubernetes.ts';
import { workloadKind } from '../../workload/kinds.ts';
import { primaryName } from '../../workload/names.ts';
import { RefusedError } from '../../workload/refusal.ts';
import type { TargetKeeper } from '../beside/hear-target.ts';
import type { SideContext } from './sides.ts';

/** Throws RefusedError for a target that somebody else writes, and for one whose copy still serves. */
export function refuseInPlace({ canary, view }: SideContext, keeper: TargetKeeper): void {
  refuseAnother(canary, keeper);
  const { name } = canary.spec.targetRef;
  const copy = view.get(workloadKind(canary), primaryName(canary));
  const owner = copy?.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== canary.kind || owner.name !== canary.metadata.name) return;
  throw refused(
    canary,
    'TargetInvalid',
    `${primaryName(canary)}, which another provider made of ${name}, still serves, and nothing tells which provider that was: name it in spec.provider until the Canary is Ready, then native`,
  );
}

/** Throws RefusedError for a target that somebody else writes. */
export function refuseAnother(canary: Canary, keeper: TargetKeeper): void {
  if (keeper !== 'another') return;
  throw refused(
    canary,
    'OwnedByAnother',
    `native writes ${canary.spec.targetRef.name} itself, so a Source must hold it; another tool applies it: let a Source read it, or choose a provider that copies`,
  );
}

function refused(canary: Canary, reason: 'OwnedByAnother' | 'TargetInvalid', message: string): RefusedError {
  return new RefusedError({ reason, object: describe(canary), field: 'spec.provider', message });
}
