import type { Source } from '../../api/source.ts';
import { dependenciesOf, type Waiting, whyItWaits } from './dependencies.ts';
import type { Snapshot, SourceParts, SourceState } from './source-parts.ts';

/**
 * Why a commit is not let in yet. What was let in once stays let in: an outage of another Source must not keep this one from being kept in
 * order.
 */
export function whyNotYet(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { commit: { commit } }: Snapshot,
): Waiting | undefined {
  const { generation } = source.metadata;
  const key = `${commit} ${generation}`;
  const { appliedCommit, observedGeneration } = source.status ?? {};
  const wasApplied = appliedCommit === commit && observedGeneration === generation;
  const isAdmitted = wasApplied || state.admitted === key || dependenciesOf(source).length === 0;
  const waiting = isAdmitted ? undefined : whyItWaits(source, parts.sources(), commit);
  if (!waiting) state.admitted = key;
  return waiting;
}
