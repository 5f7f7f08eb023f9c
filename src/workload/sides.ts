/** The objects that stand for the two sides of a Canary. */
import type { Canary } from '../api/canary.ts';
import type { KubernetesObject } from '../api/kubernetes.ts';
import { workloadKind } from './kinds.ts';
import { primarySide } from './knative-marks.ts';
import { canaryCopyName, primaryName } from './names.ts';

type Kind = { readonly apiVersion: string; readonly kind: string };

/** Both sides as they are. */
export interface Sides {
  readonly target: KubernetesObject | undefined;
  readonly primary: KubernetesObject | undefined;
  /** What a release is read from where no Source holds it: the object that `targetRef` names. */
  readonly wanted: KubernetesObject | undefined;
}

/** Names of the objects of both sides. Throws RefusedError. */
export function sideNames(canary: Canary): { readonly canary: string; readonly primary: string } {
  const { name } = canary.spec.targetRef;
  switch (workloadKind(canary).sides) {
    case 'workloads':
      return { canary: name, primary: primaryName(canary) };
    case 'copies':
      return { canary: canaryCopyName(canary), primary: primaryName(canary) };
    case 'revisions':
      return { canary: name, primary: name };
  }
}

/** Reads both sides. Throws RefusedError. */
export function readSides(
  canary: Canary,
  get: (kind: Kind, name: string) => KubernetesObject | undefined,
): Sides {
  const kind = workloadKind(canary);
  const names = sideNames(canary);
  const target = get(kind, names.canary);
  if (kind.sides === 'revisions') return { target, primary: primarySide(target), wanted: target };
  const wanted = kind.sides === 'copies' ? get(kind, canary.spec.targetRef.name) : target;
  return { target, primary: get(kind, names.primary), wanted };
}
