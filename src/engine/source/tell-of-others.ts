import type { Source } from '../../api/source.ts';
import { listed } from './listed.ts';
import type { ApplyResult, SourceParts, SourceState } from './source-parts.ts';

/** Who else wrote what Git says: an event each time, and what was put back is counted. */
export function tellOfOthers(
  parts: SourceParts,
  source: Source,
  state: SourceState,
  { drift, taken }: Pick<ApplyResult, 'drift' | 'taken'>,
): void {
  state.drift.note(drift, parts.clock.nowMs());
  if (drift.length > 0) {
    parts.onDrift?.(state.key, drift.length);
    const message = `put back as Git says: ${listed(drift.map((one) => one.message))}`;
    parts.events.emit(source, { type: 'Warning', reason: 'DriftCorrected', message });
  }
  if (taken.length === 0) return;
  const message = `fields that others had written are now as Git says: ${listed(taken)}`;
  parts.events.emit(source, { type: 'Normal', reason: 'FieldsTaken', message });
}
