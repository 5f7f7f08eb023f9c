import { type Clock, sleep } from '../../../api/clock.ts';
import type { NamespaceView } from '../context/namespace-view.ts';

const patienceMs = 30_000;

/**
 * Reads everything in a namespace anew that Canaries are judged by, unless that was done in the last `freshMs`; true: it was read. An event
 * that a watch lost is otherwise missed for half an hour, which is longer than most deadlines: no release may be given up before (S19).
 * What cannot be read within 30 s is done without: a revert must not wait for one kind that the API server cannot list.
 */
export async function seeAnew(clock: Clock, view: NamespaceView, freshMs: number): Promise<boolean> {
  const done = new AbortController();
  const late = sleep(clock, patienceMs, done.signal).then(() => false);
  return Promise.race([view.refresh(freshMs), late]).finally(() => done.abort());
}
