import { type Clock, sleep } from '../api/clock.ts';
import { apiVersionOf, type KindName } from '../api/kinds.ts';
import type { Cluster, Log } from '../engine/ports/ports.ts';

const needed: readonly KindName[] = ['Source', 'Canary', 'MetricTemplate', 'AlertProvider'];
const retryMs = 5_000;

/** Waits until the cluster serves our kinds, saying what to do meanwhile. Ends early when the signal aborts. */
export async function waitForKinds(
  cluster: Pick<Cluster, 'kindOf'>,
  { clock, log, onProblem }: { clock: Clock; log: Log; onProblem: (problem: string | undefined) => void },
  signal: AbortSignal,
): Promise<void> {
  let said = '';
  while (!signal.aborted) {
    const problem = await problemOf(cluster);
    onProblem(problem);
    if (problem === undefined) return;
    if (problem !== said) log.error({ reason: 'NotReady' }, problem);
    said = problem;
    await sleep(clock, retryMs, signal);
  }
}

async function problemOf(cluster: Pick<Cluster, 'kindOf'>): Promise<string | undefined> {
  try {
    const found = await Promise.all(needed.map((kind) => cluster.kindOf(apiVersionOf(kind), kind)));
    const missing = needed.filter((_, index) => found[index] === undefined);
    if (missing.length === 0) return undefined;
    return `the cluster lacks the CRDs of ${missing.join(', ')}; apply the output of: holdfast install --crds-only`;
  } catch (error) {
    return `the API server cannot be asked: ${error instanceof Error ? error.message : String(error)}`;
  }
}
