/** Sources that wait for others (`spec.dependsOn`). Pure. */

import { conditionOf, type KubernetesObject, namespacedName } from '../../../api/kubernetes.ts';
import { polledRef, type Source } from '../../../api/source/source.ts';
import type { SourceContext, SourceState } from '../context/context.ts';

const waitingReasons = ['DependencyCycle', 'DependencyNotFound', 'DependencyNotReady'] as const;

/** Why a Source waits. */
interface Waiting {
  readonly reason: (typeof waitingReasons)[number];
  readonly message: string;
}

/** Whether a reason of `Ready` says that a Source waits for others. */
export function isWaiting(reason: string | undefined): boolean {
  return waitingReasons.some((known) => known === reason);
}

/**
 * Undefined when every Source that this one depends on is Ready as it is now, with a commit applied; one of the same repository and ref with this
 * very commit. Sources that depend on each other in a circle all wait, and each says how the circle goes.
 */
export function whyItWaits(
  source: Source,
  sources: readonly KubernetesObject[],
  commit: string,
): Waiting | undefined {
  const byKey = new Map(sources.map((one) => [namespacedName(one), one as Source]));
  const circle = circleOf(source, byKey);
  if (circle) {
    const message = `spec.dependsOn is circular: ${circle.join(' -> ')}; remove one of these references`;
    return { reason: 'DependencyCycle', message };
  }
  for (const key of dependenciesOf(source)) {
    const other = byKey.get(key);
    if (!other) return { reason: 'DependencyNotFound', message: `spec.dependsOn: there is no Source ${key}` };
    const why = whyNotReady(source, other, commit);
    if (why !== undefined)
      return { reason: 'DependencyNotReady', message: `waits for Source ${key}, which ${why}` };
  }
  return undefined;
}

/** Whether the change of another Source may let this one go on. */
export function waitsFor(source: Source, { problem, pruned }: SourceState, other: string): boolean {
  const isDependency = isWaiting(problem?.reason) && dependenciesOf(source).includes(other);
  return isDependency || pruned?.waitsFor === other;
}

/** Keys (`namespace/name`) of the Sources that one depends on. */
function dependenciesOf({ metadata, spec }: Pick<Source, 'metadata' | 'spec'>): string[] {
  return (spec?.dependsOn ?? []).map(
    ({ name, namespace }) => `${namespace ?? metadata.namespace ?? ''}/${name}`,
  );
}

function whyNotReady(source: Source, other: Source, commit: string): string | undefined {
  const { status, metadata, spec } = other;
  const ready = conditionOf(status, 'Ready');
  if (ready?.status !== 'True') return `is not Ready${ready ? ` (${ready.reason})` : ''}`;
  if (status?.observedGeneration !== metadata.generation) return 'has not reconciled its last change yet';
  if (!status?.appliedCommit) return 'has applied no commit yet';
  const isSame = polledRef(spec) === polledRef(source.spec);
  if (!isSame || status.appliedCommit === commit) return undefined;
  return `is at ${status.appliedCommit.slice(0, 7)} and not yet at ${commit.slice(0, 7)}`;
}

/** The way round, beginning and ending with the Source itself. Any number of Sources may depend on each other: no recursion, and each is looked at once. */
function circleOf(source: Source, byKey: ReadonlyMap<string, Source>): string[] | undefined {
  const start = namespacedName(source);
  const seenFrom = new Map<string, string>();
  const wayTo = (key: string): string[] => {
    const way = [key];
    for (let at = key; at !== start; at = way.at(-1) ?? start) way.push(seenFrom.get(at) ?? start);
    return way.reverse();
  };
  const reached = [start];
  for (const at of reached) {
    for (const key of dependenciesOf(byKey.get(at) ?? source)) {
      if (key === start) return [...wayTo(at), start];
      if (seenFrom.has(key) || !byKey.has(key)) continue;
      seenFrom.set(key, at);
      reached.push(key);
    }
  }
  return undefined;
}

/**
 * Why a commit is not let in yet. What was let in once stays let in: an outage of another Source must not keep this one from being kept in
 * order.
 */
export function whyNotAdmitted({ parts, source, state }: SourceContext, commit: string): Waiting | undefined {
  const key = `${commit} ${source.metadata.generation}`;
  const isFree = dependenciesOf(source).length === 0;
  const isAdmitted = isFree || state.admitted === key || wasApplied(source, commit);
  const waiting = isAdmitted ? undefined : whyItWaits(source, parts.sources(), commit);
  if (!waiting) state.admitted = key;
  return waiting;
}

/** Whether a commit was applied by the spec as it is now. */
export function wasApplied({ status, metadata }: Source, commit: string): boolean {
  const applied = conditionOf(status, 'Applied');
  return status?.appliedCommit === commit && applied?.observedGeneration === metadata.generation;
}
