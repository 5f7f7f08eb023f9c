import type { Condition } from '../../api/kubernetes.ts';
import type { ConditionNews } from '../conditions.ts';
import { listed } from './listed.ts';
import type { SourceState } from './source-parts.ts';

/**
 * The condition Drifted: True while somebody else's changes stand or come again and again, False with the last correction once they are put
 * back. What an earlier run of the program told stays until there is something newer.
 */
export function driftNews(
  { result, drift }: Pick<SourceState, 'result' | 'drift'>,
  before: Condition | undefined,
  nowMs: number,
): Omit<ConditionNews, 'type'> | undefined {
  const refused = (result?.failures ?? []).filter(({ reason }) => reason === 'FieldConflict');
  if (refused.length > 0)
    return {
      status: 'True',
      reason: 'FieldConflict',
      message: listed(refused.map(({ message }) => message)),
    };
  const quarrels = drift.quarrels(nowMs);
  if (quarrels.length > 0) {
    const message = `somebody changes it again and again, and it is put back with each poll only: ${listed(quarrels)}`;
    return { status: 'True', reason: 'Contested', message };
  }
  const last = drift.last();
  if (!last) return before && before.status === 'False' ? before : undefined;
  const time = new Date(last.timeMs).toISOString();
  return { status: 'False', reason: 'Corrected', message: `${last.message}; put back at ${time}` };
}
