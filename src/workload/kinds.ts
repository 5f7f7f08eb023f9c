/** The table of target kinds: a further kind is one more file and one more line here. */
import type { Canary } from '../api/canary.ts';
import { describe } from '../api/kubernetes.ts';
import { daemonSet } from './daemon-set.ts';
import { deployment } from './deployment.ts';
import type { WorkloadKind } from './kind.ts';
import { canaryCopyName } from './names.ts';
import { RefusedError } from './refusal.ts';
import { service } from './service.ts';

const kinds: readonly WorkloadKind[] = [deployment, daemonSet, service];

/** Every kind that targets, and so primaries, can have. */
export const targetKinds: ReadonlyArray<{ apiVersion: string; kind: string }> = kinds.map(
  ({ apiVersion, kind }) => ({ apiVersion, kind }),
);

/** Kinds to watch for a target of this kind: itself, and what its view is made from. None for a kind that is not supported. */
export function watchedKinds(kind: string): ReadonlyArray<{ apiVersion: string; kind: string }> {
  const found = kinds.find((candidate) => candidate.kind === kind);
  return found ? [{ apiVersion: found.apiVersion, kind: found.kind }, ...found.watches] : [];
}

/** Name of the workload that stands for the canary's side: the target, or a copy of it. Throws RefusedError. */
export function canaryName(canary: Canary): string {
  return workloadKind(canary).copiesTarget ? canaryCopyName(canary) : canary.spec.targetRef.name;
}

/** The kind of a Canary's target. Throws RefusedError for one that is not supported. */
export function workloadKind(canary: Canary): WorkloadKind {
  const { kind, name } = canary.spec.targetRef;
  const found = kinds.find((candidate) => candidate.kind === kind);
  if (found) return found;
  throw new RefusedError({
    reason: 'TargetInvalid',
    object: describe(canary),
    field: 'spec.targetRef.kind',
    message: `${kind} ${name} cannot be rolled out by this version; supported: ${kinds.map((one) => one.kind).join(', ')}`,
  });
}
