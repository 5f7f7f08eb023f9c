import type { Canary } from '../../api/canary.ts';
import type { CanaryStatus } from '../../api/canary-status.ts';
import { type Condition, type KubernetesObject, referenceOf } from '../../api/kubernetes.ts';
import { type ConditionNews, withCondition } from '../conditions.ts';
import { isStale } from '../failure.ts';
import type { Cluster } from '../ports/ports.ts';
import type { DrillReport } from './drill.ts';

/** The condition RollbackReady after a drill; undefined while there is nothing to go back to. */
export function drillCondition(report: DrillReport, nowMs: number): ConditionNews | undefined {
  const { release, passed, findings, objects } = report;
  if (!release) return undefined;
  const when = `drilled at ${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const name = release.subject
    ? `${release.commit.slice(0, 7)} "${release.subject}"`
    : release.commit.slice(0, 7);
  const message = passed
    ? `${when}: the cluster would take all ${objects} objects of ${name}; images were not pulled`
    : `${when}: ${name} would be refused: ${findings.map((finding) => `${finding.object}: ${finding.message}`).join('; ')}`;
  return {
    type: 'RollbackReady',
    status: passed ? 'True' : 'False',
    reason: passed ? 'DrillPassed' : 'DrillFailed',
    message,
  };
}

/** A Canary whose status changes faster than this many times is left to the next drill. */
const tries = 3;

/**
 * Writes the result to the Canary, and nothing else; over exactly the version that was read, once more when that changed meanwhile. Left
 * alone: a Canary with another last-known-good by now, and a damaged record, which is the rollout's to report. Throws a conflict when
 * the Canary changes all the time.
 */
export async function writeDrillCondition(
  cluster: Pick<Cluster, 'get' | 'patch'>,
  canary: Canary,
  report: DrillReport,
  nowMs: number,
): Promise<void> {
  const news = drillCondition(report, nowMs);
  let current: KubernetesObject | undefined = canary;
  for (let count = 1; news && current; count += 1) {
    const patch = patchOf(current, report, news, nowMs);
    if (!patch) return;
    try {
      await cluster.patch(referenceOf(current), patch, 'status');
      return;
    } catch (error) {
      if (!isStale(error) || count === tries) throw error;
      current = await cluster.get(referenceOf(current));
    }
  }
}

function patchOf(
  { metadata, status }: KubernetesObject,
  { release }: DrillReport,
  news: ConditionNews,
  nowMs: number,
): Record<string, unknown> | undefined {
  const { conditions: before = [], lastKnownGood } = (status ?? {}) as CanaryStatus;
  const damaged = before.some(({ type, reason }) => type === 'RollbackReady' && reason === 'RecordDamaged');
  if (damaged || lastKnownGood?.digest !== release?.digest) return undefined;
  const { uid, resourceVersion, generation } = metadata;
  const at = generation === undefined ? {} : { observedGeneration: generation };
  const conditions: Condition[] = withCondition(before, { ...news, ...at }, nowMs);
  return { metadata: { uid, resourceVersion }, status: { conditions } };
}
