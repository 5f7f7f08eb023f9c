/**
 * The gates that Holdfast serves itself, with the addresses of Flagger's load tester (flagger-behaviour 5.7). Each is a state in an annotation of
 * the Canary, `holdfast.dev/` and its name, so that a restart, another leader, Git, kubectl and the command line all see the same gate.
 */
import type { KubernetesObject } from './kubernetes.ts';
import { annotationPrefix } from './verbs.ts';

/** `gate` answers /gate/check, `rollback-gate` answers /rollback/check. */
export const builtInGates = ['gate', 'rollback-gate'] as const;

/** One of the two gates of a Canary. */
export type BuiltInGate = (typeof builtInGates)[number];

/** What the annotation says of an open gate; anything else, and no annotation, is a closed one. */
export const openGate = 'open';

/** Whether a gate of the Canary is open. */
export function isGateOpen({ metadata }: Pick<KubernetesObject, 'metadata'>, gate: BuiltInGate): boolean {
  return metadata.annotations?.[annotationPrefix + gate] === openGate;
}
