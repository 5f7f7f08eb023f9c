import type { KubernetesObject } from './kubernetes.ts';

/**
 * Requests of users by annotation (design section 2.3): the key is `holdfast.dev/` and the verb, the value `<commit or digest>[@anything]`.
 * Handled once and copied to `status.handled`; the result is in `status.answers`.
 */

/** Where all our annotations begin. */
export const annotationPrefix = 'holdfast.dev/';

/** Requests to a Canary, the most urgent first: that is the order in which they are handled. */
export const canaryVerbs = [
  'abort',
  'rollback-to',
  'retry',
  'approve',
  'promote',
  'skip-step',
  'ignore-window',
] as const;

/** One request to a Canary. */
export type CanaryVerb = (typeof canaryVerbs)[number];

/** A state, not a request: `"true"` stops steps and promotion. */
export const pauseAnnotation = `${annotationPrefix}pause`;

/** Whether a value of `holdfast.dev/pause` is neither "true" nor a way to say that it is not: whoever set it may believe that it pauses. */
export function isWrongPause(value: string | undefined): boolean {
  return value !== undefined && !['true', 'false', ''].includes(value);
}

/** On the Lease of the election: the version of the program that holds it. */
export const versionAnnotation = `${annotationPrefix}version`;

/** Asks a Source to look at Git now; handled once, like a verb. */
export const syncAnnotation = `${annotationPrefix}sync`;

/** Approves what waits for a person at a Source: `rewrite:COMMIT`, `prune:HASH`, or a plain commit where one thing waits. */
export const approveAnnotation = `${annotationPrefix}approve`;

/** On a Canary that left Git: it is deleted once its target carries the traffic. Written by Holdfast, never by people. */
export const handingBackAnnotation = `${annotationPrefix}handing-back`;

/** Every holdfast.dev key that a Canary may have. Those after the verbs request nothing. */
export const canaryKeys: readonly string[] = [
  ...canaryVerbs,
  ...['pause', 'gate', 'rollback-gate', 'post-promotion', 'commit', 'adopt'],
  ...['demo', 'owner', 'description', 'from-file'],
  ...[
    'prune',
    'handing-back',
    'force',
    'on-conflict',
    'ignore-fields',
    'healthy-when',
    'substitute',
    'decrypt',
  ],
];

/** Verbs of holdfast.dev annotations that Holdfast does not know, most likely misspelt. Sorted. */
export function unknownVerbs(annotations: Readonly<Record<string, string>> | undefined): string[] {
  return Object.keys(annotations ?? {})
    .filter((key) => key.startsWith(annotationPrefix))
    .map((key) => key.slice(annotationPrefix.length))
    .filter((verb) => !canaryKeys.includes(verb))
    .sort();
}

// The gates that Holdfast serves itself, with the addresses of Flagger's load tester (flagger-behaviour 5.7). Each is a state in an annotation of
// the Canary, `holdfast.dev/` and its name, so that a restart, another leader, Git, kubectl and the command line all see the same gate.

/** `gate` answers /gate/check, `rollback-gate` answers /rollback/check. */
export const builtInGates = ['gate', 'rollback-gate'] as const;

/** One of the two gates of a Canary. */
export type BuiltInGate = (typeof builtInGates)[number];

/** The annotation's value for an open gate; any other value, and no annotation, means closed. */
export const openGate = 'open';

/** Whether a gate of the Canary is open. */
export function isGateOpen({ metadata }: Pick<KubernetesObject, 'metadata'>, gate: BuiltInGate): boolean {
  return metadata.annotations?.[annotationPrefix + gate] === openGate;
}
