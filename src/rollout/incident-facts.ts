import type { Canary } from '../api/canary.ts';
import type { IncidentOutcome } from '../api/incident.ts';
import type { CommitInfo } from '../api/observed.ts';
import type { RolloutReason } from '../api/reasons.ts';
import type { Draft } from './draft.ts';
import { describe } from './phases/admit.ts';
import { isReady, whyNotReady } from './readiness.ts';
import { headRelease, lastKnownGood, type Run } from './run.ts';

/** The release that news are about. */
export interface About {
  readonly digest: string;
  readonly commit: string;
  readonly author: string;
  readonly subject: string;
  /** Tells one rollout of a digest from the next. */
  readonly since: string;
}

/** The run's release, else head's, with the author from whoever knows the commit. */
export function aboutOf(draft: Draft, run: Run | undefined): About {
  const head = headRelease(draft.world);
  if (!run) {
    const { commit, author, subject } = head?.commit ?? unknown;
    const since = commit || String(draft.world.canary.metadata.generation ?? '');
    return { digest: head?.digest ?? '', commit, author, subject, since };
  }
  const { digest, commit, subject, startTime } = run;
  const known = [head, ...draft.world.records].find((candidate) => candidate?.digest === digest)?.commit;
  return { digest, commit, author: known?.author ?? '', subject, since: startTime };
}

const unknown: CommitInfo = { commit: '', subject: '', author: '', time: '' };

/** Reasons that were seen on the primary's pods, so that the canary's are what to compare with. */
const ON_PODS: ReadonlySet<RolloutReason> = new Set(['PrimaryNotReady', 'PrimaryUnhealthy', 'Held']);

/** Whether the canary with the same release showed the same; undefined where there is nothing to compare. */
export function canaryComparison(
  { world, plan }: Draft,
  reason: RolloutReason,
  run: Run | undefined,
): string | undefined {
  const { target } = world;
  if (!run) return undefined;
  if (reason === 'ChecksFailed' || reason === 'ChecksUnavailable') {
    const skipped = plan.skipAnalysis || run.fastLane;
    return skipped
      ? 'the release had no analysis on the canary'
      : 'the same release had passed its analysis there';
  }
  if (!ON_PODS.has(reason) || target?.digest !== run.digest || target.desiredReplicas === 0) return undefined;
  if (isReady(target, plan.canaryReadyPercent))
    return `healthy with the same release, ${target.readyReplicas} of ${target.desiredReplicas} pods ready`;
  return `not healthy with the same release either: ${whyNotReady(target)}`;
}

/** What of the bad commit is not undone: everything outside the workload's own release (design section 5, scope). */
export function staysApplied({ world }: Draft, outcome: IncidentOutcome, commit: string): string | undefined {
  if (outcome !== 'Failed' && outcome !== 'Reverted') return undefined;
  const good = lastKnownGood(world);
  if (!good || !commit) return undefined;
  return `all else in ${commit.slice(0, 7)}; only template, ports and config of the workload are those of ${describe(good)}`;
}

/** One command that fits the state; only names of Kubernetes and hexadecimal digits go into it, since somebody pastes it into a shell. */
export function commandFor({ metadata, spec }: Canary, outcome: IncidentOutcome, commit: string): string {
  const inNamespace = `kubectl -n ${metadata.namespace ?? 'default'}`;
  const isRelease = outcome === 'Held' || outcome === 'Failed' || outcome === 'Reverted';
  if (isRelease && /^[0-9a-f]{40,64}$/.test(commit))
    return `git revert --no-edit ${commit.slice(0, 12)} && git push`;
  if (!isRelease) return `${inNamespace} describe canary/${metadata.name}`;
  return `${inNamespace} describe ${spec.targetRef.kind.toLowerCase()}/${spec.targetRef.name}-primary`;
}
