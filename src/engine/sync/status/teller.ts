import type { Source } from '../../../api/source/source.ts';
import { soonest } from '../../../api/time.ts';
import { failureOf } from '../../failure.ts';
import type { SourceContext, SourceState, SourceWatch } from '../context/context.ts';
import { writeSourceStatus } from './status.ts';

/** After this long a status that could not be written is tried again. */
const untoldMs = 30_000;
/** A status that cannot even be made is not tried without a pause. */
const leastPauseMs = 1_000;

/** How long until the status has to be looked at although nothing happened; undefined: not at all. */
function againMs({ untold, health, stalledAtMs }: SourceState, nowMs: number): number | undefined {
  const atMs = soonest(untold ? nowMs + untoldMs : undefined, health?.nextDueMs, stalledAtMs);
  return atMs === undefined ? undefined : Math.max(leastPauseMs, atMs - nowMs);
}

/**
 * Writes the status of one Source. What the API server does not take is written later: a Source that is suspended is not looked at again, and the
 * next poll may be far away. So are an object that has not come to work in time, and what a person has to end.
 */
export function createTeller(
  { parts, state }: Pick<SourceContext, 'parts' | 'state'>,
  watch: () => SourceWatch | undefined,
) {
  let isSyncing = false;
  let stopped = false;
  let cancel = () => {};

  /** Never rejects: a fault that one Source brings to light is not the end of all others. */
  async function tell(source: Source): Promise<void> {
    try {
      await writeSourceStatus({ parts, source, state }, watch());
    } catch (error) {
      const { message } = failureOf(error);
      parts.log.error({ err: error, source: state.key }, `could not say how a Source is: ${message}`);
    }
    tellLater();
  }

  function tellLater(): void {
    cancel();
    const delayMs = againMs(state, parts.clock.nowMs());
    if (stopped || delayMs === undefined) return;
    cancel = parts.clock.after(delayMs, () => {
      // One that cannot be parsed has a status, too.
      const source = parts.source(state.key) as Source | undefined;
      // A sync says it at its end.
      if (source && !isSyncing) void tell(source);
    });
  }

  return {
    tell,
    /** A sync under way, which writes the status by itself. */
    async during(sync: Promise<void>): Promise<void> {
      isSyncing = true;
      try {
        await sync;
      } finally {
        isSyncing = false;
        tellLater();
      }
    },
    isStopped: () => stopped,
    stop() {
      stopped = true;
      cancel();
    },
  };
}
