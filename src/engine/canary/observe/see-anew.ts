import { type Clock, sleep } from '../../../api/clock.ts';
import { EngineError } from '../../failure.ts';
import type { NamespaceView } from '../context/namespace-view.ts';

/** What was read whole so long ago is fresh enough. */
const freshMs = 10_000;
const patienceMs = 30_000;

/**
 * Reads everything in a namespace anew that Canaries are judged by; true: it was not fresh. An event that a watch lost is otherwise missed for
 * half an hour, which is longer than most deadlines: no release may be given up before (S19). Throws `WatchFailed` after 30 s.
 */
export async function seeAnew(clock: Clock, view: NamespaceView): Promise<boolean> {
  const done = new AbortController();
  const late = sleep(clock, patienceMs, done.signal).then(() => {
    const message = `the objects of namespace ${view.namespace} could not be read anew within ${patienceMs / 1000} s`;
    throw new EngineError('WatchFailed', message, true);
  });
  return Promise.race([view.refresh(freshMs), late]).finally(() => done.abort());
}
